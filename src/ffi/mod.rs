//! Foreign libraries and the operating system's sharp edges: the only `unsafe`.
