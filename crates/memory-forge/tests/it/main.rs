//! Whole-program tests: one binary, one file per command.
