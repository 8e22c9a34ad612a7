//! The program under test, bound to a temporary workspace.

use serde_json::Value;
use testkit::{Output, TestWorkspace};

/// A workspace with these files (see `testkit::fixture::parse`) whose `run`
/// starts `memory-forge`.
#[track_caller]
pub(crate) fn ws(fixture: &str) -> TestWorkspace {
    TestWorkspace::files(fixture).binary(env!("CARGO_BIN_EXE_memory-forge"))
}

/// Standard output of a program that succeeded, as JSON.
#[track_caller]
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_str(output.ok()).unwrap_or_else(|error| panic!("{error}: {output}"))
}

/// The answer to a question as JSON.
#[track_caller]
pub(crate) fn answer(ws: &TestWorkspace, question: &str, flags: &[&str]) -> Value {
    let mut arguments = vec!["search", "--json"];
    arguments.extend(flags);
    arguments.extend(["--", question]);
    json(&ws.run(&arguments))
}

/// The paths of the passages that answer a question, best first.
#[track_caller]
pub(crate) fn found(ws: &TestWorkspace, question: &str, flags: &[&str]) -> Vec<String> {
    paths(&answer(ws, question, flags))
}

/// The paths of an answer, best first.
pub(crate) fn paths(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().expect("results are a list");
    let path = |result: &Value| result["path"].as_str().map(str::to_owned);
    results.iter().filter_map(path).collect()
}
