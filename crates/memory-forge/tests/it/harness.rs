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

/// The answer to a question as JSON, also where it is that nothing is relevant.
#[track_caller]
pub(crate) fn answer(ws: &TestWorkspace, question: &str, flags: &[&str]) -> Value {
    let mut arguments = vec!["search", "--json"];
    arguments.extend(flags);
    arguments.extend(["--", question]);
    let output = ws.run(&arguments);
    let answer: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    let has_results = answer["results"]
        .as_array()
        .is_some_and(|it| !it.is_empty());
    assert_eq!(output.status, Some(i32::from(!has_results)), "{output}");
    answer
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

/// Unpacks an archive of the public benchmark data, or says why not and gives
/// false.
pub(crate) fn unpack_bench(archive: &str, to: &std::path::Path) -> bool {
    let data = std::env::var_os("MEMORY_FORGE_BENCH_DATA").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench"),
        std::path::PathBuf::from,
    );
    let file = data.join(archive);
    if !file.is_file() {
        testkit::skip(format!("{archive} is not here"));
        return false;
    }
    let unpacked = std::process::Command::new("tar")
        .arg("-xzf")
        .arg(&file)
        .arg("-C")
        .arg(to)
        .status();
    let done = unpacked.is_ok_and(|status| status.success());
    if !done {
        testkit::skip("there is no tar here");
    }
    done
}
