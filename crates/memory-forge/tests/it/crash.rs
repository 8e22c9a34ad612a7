//! The crash model at the level of commands: each command that writes, cut off
//! at each of its operations on files. `soak::CrashModel` says what must hold.

use std::collections::BTreeSet;

use ::soak::{CrashModel, KillEach, READERS, SCENARIOS, runnable_scenarios};

use crate::harness::ws;

const BINARY: &str = env!("CARGO_BIN_EXE_memory-forge");

/// The table of commands decides what has to be here.
#[test]
fn every_command_is_known_to_write_or_to_read() {
    let commands = ::soak::commands(BINARY.as_ref()).expect("every command has help");
    assert!(commands.len() > 50, "{commands:?}");
    let writers: BTreeSet<&str> = SCENARIOS.iter().map(|it| it.command()).collect();
    let readers: BTreeSet<&str> = READERS.iter().map(|it| it.0).collect();
    for command in &commands {
        let command = command.as_str();
        assert!(
            writers.contains(command) != readers.contains(command),
            "`{command}` needs a scenario in `soak::SCENARIOS` if it writes, or a line in \
             `soak::READERS` if it does not"
        );
    }
    for known in writers.union(&readers) {
        assert!(
            commands.iter().any(|it| it == known),
            "there is no command `{known}`"
        );
    }
}

/// Every tool of the server that may write has a scenario, too.
#[test]
fn every_tool_that_writes_has_a_scenario() {
    let mut client = crate::mcp_client::Client::legacy(&ws(""), &["--tools", "all"]);
    let answer = client.ask("tools/list", serde_json::json!({}));
    let tools = answer["result"]["tools"].as_array().expect("a list");
    assert!(tools.len() >= 12, "{answer}");
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let reads = tool["annotations"]["readOnlyHint"] == true;
        let known = SCENARIOS
            .iter()
            .any(|it| it.name == format!("mcp · {name}"));
        assert_ne!(
            reads, known,
            "`{name}` writes if and only if it has a scenario"
        );
    }
}

#[test]
fn commands_that_only_read_change_no_file() {
    let ws = ws(&::soak::both());
    ws.run(&["index"]).ok();
    let before = ws.tree_of_sources();
    for (command, arguments) in READERS {
        let output = ws.run(arguments);
        assert!(matches!(output.status, Some(0 | 1)), "{command}: {output}");
        assert_eq!(ws.tree_of_sources(), before, "`{command}` wrote: {output}");
    }
}

/// Returns which operations are interrupted: each one, or under
/// an emulator, where a program takes a second to start, one of so many.
fn every() -> usize {
    let every = std::env::var("CRASH_EVERY").unwrap_or_default();
    every.parse().unwrap_or(1)
}

#[test]
fn a_command_that_breaks_anywhere_leaves_the_state_before_or_after() {
    if !cfg!(debug_assertions) {
        return testkit::skip("only a build with debug assertions breaks on purpose");
    }
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let model = CrashModel {
        binary: BINARY.into(),
        // For work on one of them.
        only: std::env::var("CRASH_ONLY").unwrap_or_default(),
        every: every(),
        threads,
    };
    let report = model.run();
    println!("{report}");
    assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n\n"));
    let chosen = runnable_scenarios().filter(|it| it.name.contains(&model.only));
    assert_eq!(report.commands(), chosen.count());
}

#[test]
fn a_command_that_is_killed_at_any_moment_leaves_the_state_before_or_after() {
    let count = if every() == 1 { 5 } else { 1 };
    let soak = KillEach {
        binary: BINARY.into(),
        count,
        seed: 20_261_115,
        only: String::new(),
        threads: 2,
        debug: cfg!(debug_assertions),
    };
    let report = soak.run().unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(report.kills(), count * runnable_scenarios().count());
}
