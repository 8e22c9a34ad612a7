//! `memory-forge view` as people meet it: in a real browser where there is one
//! (`scripts/browser.sh`), and by its questions everywhere; and its source, as
//! a linter reads it.

#![cfg(unix)]

mod browser;
mod copy;
mod questions;
mod served;
mod source;
