//! Short forms of the long checks: `cargo xtask soak` runs them at full length.
//! They assert what is there afterwards, never how long something took.

use ::soak::{Kills, Writers};

const BINARY: &str = env!("CARGO_BIN_EXE_memory-forge");

/// The pauses only choose where the knife falls; nothing depends on where.
#[test]
fn a_command_that_is_killed_anywhere_leaves_a_whole_memory() {
    let soak = Kills {
        binary: BINARY.into(),
        count: 40,
        seed: 20_260_301,
    };
    let report = soak.run().unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(report.kills, 40);
}

#[test]
fn what_many_writers_write_at_once_is_all_there() {
    let soak = Writers {
        binary: BINARY.into(),
        processes: 8,
        writes: 10,
    };
    let report = soak.run().unwrap_or_else(|error| panic!("{error:#}"));
    let together = report.decisions + report.tasks + report.sessions + report.states;
    assert_eq!(together, 80);
}
