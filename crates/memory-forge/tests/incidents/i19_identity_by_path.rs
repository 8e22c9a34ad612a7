//! Identity by path or current directory.
