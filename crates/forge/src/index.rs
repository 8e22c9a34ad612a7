//! The derived index: one SQLite file with catalogue, postings and vectors.
//! It knows chunks, not roles, and can be deleted at any time.
