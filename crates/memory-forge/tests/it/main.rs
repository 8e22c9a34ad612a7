//! Tests of the whole program, and of the source tree itself. A test here
//! shows that the parts are wired together; the parts' own behaviour is tested
//! where they live, which is faster and says more when it fails.

mod audit;
mod bad_input;
mod config;
mod doctor;
mod forget;
mod frame;
mod graph;
mod harness;
mod hooks;
mod index;
mod init;
mod links;
mod mind;
mod save;
mod search;
mod setup;
mod soak;
mod spec_state_files;
mod stats;
mod tidy;
