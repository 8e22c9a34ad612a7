//! Secrets kept in memory.
