//! A migration that destroys data.
