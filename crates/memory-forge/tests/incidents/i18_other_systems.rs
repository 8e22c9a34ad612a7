//! Paths, encodings and line endings of other systems.
