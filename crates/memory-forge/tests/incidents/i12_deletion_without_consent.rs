//! Deletion without consent.
