//! Wishes to jobs; pure.
