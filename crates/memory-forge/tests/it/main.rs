//! Tests of the whole program, and of the source tree itself. A test here
//! shows that the parts are wired together; the parts' own behaviour is tested
//! where they live, which is faster and says more when it fails.

mod bad_input;
mod frame;
mod harness;
mod index;
mod search;
mod stats;
mod tidy;
