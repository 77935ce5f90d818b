//! The command line, the environment and files of wishes, as plain values; nothing is computed here.
