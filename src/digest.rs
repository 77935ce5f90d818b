//! Samples to rows; pure.
