//! The same question gives the same passages in the same order, whichever
//! engine answers.

use crate::organisation::{Organisation, answer, found, paths, push};

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/sample/knowledge"
);

const QUESTIONS: [&str; 12] = [
    "how do refunds work",
    "retry policy",
    "what happens when a payment fails",
    "\"idempotency key\"",
    "database migration",
    "who decided to use postgres and why",
    "error handling in the worker",
    "deploy* checklist",
    "release",
    "zzzunknownzzz",
    "the user's session expires",
    "logging and metrics",
];

fn copied(from: &std::path::Path, to: &str, ws: &testkit::TestWorkspace) {
    for entry in std::fs::read_dir(from).expect("the sample is there") {
        let path = entry.expect("it can be read").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            copied(&path, &format!("{to}/{name}"), ws)
        } else {
            ws.write(
                &format!("{to}/{name}"),
                std::fs::read(&path).expect("a file"),
            )
        }
    }
}

fn both_engines_rank_alike(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", "");
    copied(std::path::Path::new(SAMPLE), "knowledge", &ws);
    push(&ws);
    let mut hits = 0;
    for question in QUESTIONS {
        for flags in [
            &["-n", "10"][..],
            &["-n", "10", "--unique"],
            &["-n", "10", "--mode", "text"],
            &["-n", "10", "--mode", "vector"],
        ] {
            let mut arguments = vec!["search", "--json"];
            arguments.extend(flags);
            arguments.extend(["--", question]);
            let here = paths(&answer(&ws.run(&arguments)));
            let there: Vec<String> = found(&ws, question, flags)
                .iter()
                .map(|path| path.strip_prefix("w:").expect("its workspace").to_owned())
                .collect();
            assert_eq!(there, here, "{question} {flags:?}");
            hits += here.len();
        }
    }
    assert!(hits > 100, "the questions find something: {hits}");
}

on_both!(both_engines_rank_alike);
