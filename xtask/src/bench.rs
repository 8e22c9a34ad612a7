//! Benchmarks: each prints what it measured, on what, and with which inputs.
//! They never judge by a single run.

pub(crate) mod speed;
