//! Tests of the whole program, and of the source tree itself. A test here
//! shows that the parts are wired together; the parts' own behaviour is tested
//! where they live, which is faster and says more when it fails.

mod frame;
mod harness;
mod mind;
mod spec_state_files;
mod tidy;
