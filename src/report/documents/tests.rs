//! Documents of odd runs.
