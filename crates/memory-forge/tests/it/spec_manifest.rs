//! Runs `spec/manifest.md` with the program itself. The format is explained at
//! the top of that file.

use testkit::{TestWorkspace, spec};

use crate::harness::ws;

#[test]
fn spec_manifest() {
    let text = include_str!("../../../../spec/manifest.md");
    let cases = spec::cases(text);
    assert!(cases.len() >= 7, "the specification was not read");
    let mut failures = String::new();
    for case in cases {
        let ws = ws("");
        let mut said = String::new();
        for (info, text) in &case.blocks {
            let words: Vec<&str> = info.split_whitespace().collect();
            let found = match words[..] {
                ["file", path] => {
                    ws.write(path, text);
                    continue;
                }
                ["file", path, "crlf"] => {
                    ws.write(path, text.replace('\n', "\r\n"));
                    continue;
                }
                ["run"] => {
                    text.lines().for_each(|line| said.push_str(&run(&ws, line)));
                    continue;
                }
                ["after", path] => ws.read(path),
                ["says"] => said.clone(),
                _ => panic!("{}: unknown block `{info}`", case.name),
            };
            if found != *text {
                failures += &format!(
                    "{} / {info}\n--- expected\n{text}--- found\n{found}\n",
                    case.name
                );
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// One command of a case, and its answer without hints.
fn run(ws: &TestWorkspace, line: &str) -> String {
    let mut arguments = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        match index % 2 {
            0 => arguments.extend(part.split_whitespace().map(str::to_owned)),
            _ => arguments.push(part.to_owned()),
        }
    }
    let output = ws.run(&arguments);
    let error = output.stderr.lines().find(|it| it.starts_with("error:"));
    match error {
        Some(error) => format!("{error}\n"),
        None => output.stdout,
    }
}
