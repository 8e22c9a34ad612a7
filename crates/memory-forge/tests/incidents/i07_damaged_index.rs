//! A damaged index that kills the process.
