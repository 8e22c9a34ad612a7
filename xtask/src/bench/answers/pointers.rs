//! `bench answers --pointers`: how often the pointer that a hook adds to a
//! prompt is right. The questions are sent as prompts through the real hook:
//! to the whole tree, to a copy without the documents that answer them, and
//! those that nothing answers; then small talk and questions about the world.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::negatives::{small_talk, unrelated_questions};

use super::{COPIES, FITTED, Question, copy_tree};

/// What a pointer begins with.
const START: &str = "[Memory] May answer this: <data ";

/// What was brought to the prompts of some trees.
#[derive(Default)]
struct PointerCounts {
    /// Prompts whose answer is there, was taken out, and never was.
    prompts: [usize; 3],
    right: usize,
    wrong: usize,
    /// Prompts that are no question about a document, and their pointers.
    negatives: usize,
    false_alarms: usize,
    tokens: usize,
}

impl PointerCounts {
    fn add(&mut self, other: &PointerCounts) {
        for (sum, more) in self.prompts.iter_mut().zip(other.prompts) {
            *sum += more;
        }
        self.right += other.right;
        self.wrong += other.wrong;
        self.negatives += other.negatives;
        self.false_alarms += other.false_alarms;
        self.tokens += other.tokens;
    }
}

pub(super) fn run(
    binary: &Path,
    home: &Path,
    trees: &BTreeMap<String, PathBuf>,
    questions: &[Question],
) -> Result<()> {
    let (mut fitted, mut reported) = (PointerCounts::default(), PointerCounts::default());
    let mut lines = Vec::new();
    for (name, source) in trees {
        let asked: Vec<&Question> = questions.iter().filter(|it| it.tree == *name).collect();
        let counts = measure_tree((binary, home), (name, source), &asked)?;
        let sum = if FITTED.contains(&name.as_str()) {
            &mut fitted
        } else {
            &mut reported
        };
        sum.add(&counts);
        lines.push((name.as_str(), counts));
    }
    println!(
        "\n{:16} {:>8} {:>8} {:>8} {:>9} {:>6} {:>11} {:>9} {:>7}",
        "trees",
        "answered",
        "removed",
        "foreign",
        "pointers",
        "right",
        "small talk",
        "pointers",
        "tokens"
    );
    print_line("fitted", &fitted);
    print_line("reported", &reported);
    for (name, counts) in &lines {
        print_line(name, counts);
    }
    Ok(())
}

fn print_line(title: &str, counts: &PointerCounts) {
    let pointers = counts.right + counts.wrong;
    println!(
        "{title:16} {:>8} {:>8} {:>8} {pointers:>9} {:>6} {:>11} {:>9} {:>7}",
        counts.prompts[0],
        counts.prompts[1],
        counts.prompts[2],
        counts.right,
        counts.negatives,
        counts.false_alarms,
        counts.tokens.checked_div(pointers).unwrap_or(0),
    );
}

fn measure_tree(
    (binary, home): (&Path, &Path),
    (name, source): (&str, &Path),
    questions: &[&Question],
) -> Result<PointerCounts> {
    let settings = ("pointers", "[recall]\npush = \"all\"\n");
    let tree = copy_tree((binary, home), settings, (name, source), questions)?;
    for folder in &tree.folders {
        // A push of the last run would count as shown.
        let _ = fs::remove_file(folder.join(".mind/.pushes"));
    }
    let mut counts = PointerCounts::default();
    let mut sent = 0;
    let mut send = |copy: usize, prompt: &str| {
        sent += 1;
        send_prompt(binary, home, &tree.folders[copy], prompt, sent)
    };
    for (at, question) in questions.iter().enumerate() {
        let is_there = question.gold.iter().all(|it| tree.paths.contains(it));
        let rounds: &[(usize, usize)] = match (question.gold.is_empty(), is_there) {
            (true, _) => &[(2, 0)],
            (false, true) => &[(0, 0), (1, at % COPIES + 1)],
            (false, false) => &[],
        };
        for &(kind, copy) in rounds {
            counts.prompts[kind] += 1;
            let Some(line) = send(copy, &question.text)? else {
                continue;
            };
            let path = pointed_path(&line)?;
            let is_right = kind == 0 && question.gold.iter().any(|it| it == path);
            counts.tokens += forge_app::tokens::estimate_tokens(&line);
            if is_right {
                counts.right += 1;
            } else {
                counts.wrong += 1;
                println!("  wrong in {name}: {path} for {}", question.text);
            }
        }
    }
    for prompt in small_talk().into_iter().chain(unrelated_questions()) {
        counts.negatives += 1;
        if let Some(line) = send(0, &prompt)? {
            counts.false_alarms += 1;
            println!("  wrong in {name}: {line} for {prompt}");
        }
    }
    Ok(counts)
}

fn pointed_path(line: &str) -> Result<&str> {
    let rest = line.strip_prefix(START).context("a pointer")?;
    let (_, data) = rest.split_once('>').context("a mark")?;
    let (path, _) = data.split_once(':').context("a path with a line")?;
    path.strip_prefix("knowledge/")
        .context("a path in `knowledge/`")
}

/// Sends a prompt in a session of its own, and returns the pointer.
fn send_prompt(
    binary: &Path,
    home: &Path,
    folder: &Path,
    prompt: &str,
    session: usize,
) -> Result<Option<String>> {
    let mut child = Command::new(binary)
        .args(["hook", "--client=claude"])
        .current_dir(folder)
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let event = json!({
        "hook_event_name": "UserPromptSubmit", "session_id": format!("s{session}"),
        "cwd": folder, "prompt": prompt,
    });
    let mut input = child.stdin.take().context("the input is a pipe")?;
    input.write_all(event.to_string().as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the hook failed at {prompt}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
    let line = context.and_then(|it| it.lines().find(|line| line.starts_with(START)));
    Ok(line.map(str::to_owned))
}
