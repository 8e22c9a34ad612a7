//! Fixtures for tests. Development only: nothing here ships.

pub mod spec;
