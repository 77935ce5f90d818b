//! Rows to text.
