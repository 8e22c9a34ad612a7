//! The program under test, bound to a temporary workspace.

use testkit::TestWorkspace;

/// A workspace with these files (see `testkit::fixture::parse`) whose `run`
/// starts `memory-forge`.
#[track_caller]
pub(crate) fn ws(fixture: &str) -> TestWorkspace {
    TestWorkspace::files(fixture).binary(env!("CARGO_BIN_EXE_memory-forge"))
}
