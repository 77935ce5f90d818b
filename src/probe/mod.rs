//! What this machine is: reads the outside.
