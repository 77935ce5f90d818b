//! Composition: one readable function for each subcommand, and the exit codes.
