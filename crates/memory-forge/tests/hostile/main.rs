//! A clone, an archive or a home in which something else lies in the place of
//! a file: a link that leads out, a pipe, a device, a folder, nonsense. Every
//! command, every hook event and every tool of the server is run against it,
//! with the real program.
//!
//! What must hold, whatever lies there: nothing outside of the workspace
//! changes, nothing outside is shown or copied, the answer comes within ten
//! seconds and 500 MB, and the exit code is a documented one.
//!
//! One table ([`table::ROWS`]) has the places, [`plant::Hostility`] has what is
//! put there, [`cases::all`] has the calls: those of `soak`, which a test holds
//! to the program's own list. A trace of each call says which places it looks
//! at, and a place that no row of the table covers fails a test. `./test.sh`
//! tries each place with each hostility and each call with each hostility;
//! `MEMORY_FORGE_HOSTILE=all` tries all combinations.

#![cfg(target_os = "linux")]

mod cases;
mod plant;
mod stage;
mod table;
mod trace;
mod trials;

use std::collections::BTreeSet;

use plant::Hostility;

/// The program; another build can be named, such as a release.
fn binary() -> std::path::PathBuf {
    let other = std::env::var_os("MEMORY_FORGE_HOSTILE_BINARY");
    other.map_or_else(|| env!("CARGO_BIN_EXE_memory-forge").into(), Into::into)
}

/// Calls come from the lists of `soak`, which its own tests hold to the table
/// of commands; the rest is held to the program here.
#[test]
fn every_command_event_and_tool_is_called() {
    let cases = cases::all();
    let words: BTreeSet<String> = cases.iter().map(|case| case.run.join(" ")).collect();
    let commands = ::soak::commands(&binary()).expect("every command has help");
    assert!(commands.len() > 50, "{commands:?}");
    for command in &commands {
        let called = words
            .iter()
            .any(|line| line == command || line.starts_with(&format!("{command} ")));
        assert!(called, "`{command}` is called by no case");
    }
    let inputs: String = cases.iter().map(|case| case.input.as_str()).collect();
    for event in cases::events() {
        let named = format!("\"hook_event_name\":\"{event}\"");
        assert!(inputs.contains(&named), "no case has the event {event}");
    }
    for tool in cases::tools() {
        let named = format!("\"name\":\"{tool}\"");
        assert!(inputs.contains(&named), "no case calls the tool {tool}");
    }
}

/// "A test fails when a path that the program opens is not in the table."
#[test]
fn every_place_that_the_program_looks_at_is_in_the_table() {
    if !trace::works() {
        return testkit::skip("strace cannot be used here");
    }
    let mut unknown = BTreeSet::new();
    let mut covered = BTreeSet::new();
    for looked in trace::all() {
        for place in &looked.places {
            match table::found(place) {
                Some(row) => drop(covered.insert(row.pattern)),
                None => drop(unknown.insert(format!("{place}  ({})", looked.case))),
            }
        }
    }
    assert!(covered.len() > 40, "a trace that sees nothing: {covered:?}");
    let unknown: Vec<String> = unknown.into_iter().collect();
    assert!(
        unknown.is_empty(),
        "these need a row in `table::ROWS`:\n  {}",
        unknown.join("\n  ")
    );
}

/// "Nothing outside the workspace changes, nothing outside is shown, the answer
/// comes within 10 s and 500 MB, the exit code is documented."
#[test]
fn nothing_that_lies_in_the_place_of_a_file_leads_out_or_hangs() {
    let all = std::env::var("MEMORY_FORGE_HOSTILE").is_ok_and(|it| it == "all");
    let chosen = if all {
        trials::product(&Hostility::ALL)
    } else {
        trials::covering(&Hostility::ALL)
    };
    trials::run(chosen);
}

/// A file that may not be read is an error or a warning, and no more.
#[test]
fn files_that_may_not_be_read_are_passed_over() {
    if stage::is_root() {
        return testkit::skip("modes mean nothing to root: a file of mode 000 is read");
    }
    trials::run(trials::covering(&[Hostility::Unreadable]));
}
