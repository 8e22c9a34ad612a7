//! SessionEnd that never runs.
