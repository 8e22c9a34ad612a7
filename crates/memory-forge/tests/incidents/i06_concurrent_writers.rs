//! Concurrent writers that corrupt the store.
