//! The public sets of questions: each becomes groups of Markdown files that
//! are asked together, with the files that answer each question.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use forge_app::document::when;
use serde_json::Value;
use sha2::{Digest, Sha256};

// By path, since the benchmark of the shared index compiles this file as well.
#[path = "sets/languages.rs"]
mod languages;

/// Files that are asked together, and the questions to them.
#[derive(Default)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) files: Vec<File>,
    pub(super) questions: Vec<Question>,
}

pub(super) struct File {
    /// The file's name without its ending.
    pub(super) id: String,
    pub(super) text: String,
}

pub(super) struct Question {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) kind: String,
    /// The day on which it was asked, where the set says.
    pub(super) date: Option<String>,
    pub(super) gold: HashSet<String>,
}

pub(super) const SETS: [&str; 9] = [
    "cranfield",
    "scifact",
    "cosqa",
    "locomo-turns",
    "locomo",
    "beam",
    "qmsum",
    "longmemeval",
    "languages",
];

/// Questions that nothing answers are left out, as the sets' protocols want.
pub(super) fn load(data: &Path, set: &str) -> Result<Vec<Group>> {
    let (documents, questions, group, gold) = match set {
        "cranfield" => ("cranfield/docs", "cranfield/queries", "", "gold"),
        "scifact" => ("scifact/docs", "scifact/queries", "", "gold"),
        "cosqa" => ("cosqa/docs", "cosqa/queries_dev", "", "gold"),
        "locomo-turns" => (
            "locomo/dev-turns",
            "locomo/dev-queries",
            "conv",
            "gold_turns",
        ),
        "locomo" => (
            "locomo/dev-sessions",
            "locomo/dev-queries",
            "conv",
            "gold_sessions",
        ),
        "beam" => ("beam/dev-docs", "beam/dev-queries", "chat", "gold"),
        "qmsum" => ("qmsum/docs_val", "qmsum/queries_val", "scope", "gold"),
        "longmemeval" => return longmemeval(data),
        "languages" => return languages::load(data),
        _ => bail!("unknown set `{set}`; known are {}", SETS.join(", ")),
    };
    let mut groups: Vec<Group> = Vec::new();
    let at = |groups: &mut Vec<Group>, name: String| -> usize {
        groups
            .iter()
            .position(|g| g.name == name)
            .unwrap_or_else(|| {
                groups.push(Group {
                    name,
                    ..Group::default()
                });
                groups.len() - 1
            })
    };
    for value in lines(&data.join(documents))? {
        let here = at(&mut groups, string(&value[group]));
        groups[here].files.push(File {
            id: file_name(&string(&value["id"])),
            text: markdown(&value),
        });
    }
    for value in lines(&data.join(questions))? {
        let gold: HashSet<String> = value[gold]
            .as_array()
            .into_iter()
            .flatten()
            .map(|id| file_name(&string(id)))
            .collect();
        if gold.is_empty() || value["type"] == "abstention" {
            continue;
        }
        let kind = match (value["type"].as_str(), value["category"].as_i64()) {
            (Some(kind), _) => kind.to_owned(),
            (None, Some(number)) => format!("category {number}"),
            (None, None) => String::new(),
        };
        let here = at(&mut groups, string(&value[group]));
        groups[here].questions.push(Question {
            id: string(&value["id"]),
            text: string(&value["question"]),
            kind,
            date: None,
            gold,
        });
    }
    Ok(groups)
}

/// A document with its date in the front matter and its speaker before it.
fn markdown(value: &Value) -> String {
    let date = match (value["date"].as_str(), value["time"].as_str()) {
        (Some(date), _) => date.split(" on ").last().unwrap_or_default().to_owned(),
        (None, Some(time)) => time.replace('-', " "),
        (None, None) => String::new(),
    };
    let front = when::find_date_ranges(&date, None)
        .first()
        .map_or(String::new(), |day| {
            format!("---\ndate: {}\n---\n\n", day.from)
        });
    let speaker = value["speaker"]
        .as_str()
        .map_or(String::new(), |name| format!("{name}: "));
    format!("{front}{speaker}{}\n", string(&value["text"]))
}

/// Each question of LongMemEval has its own sessions.
fn longmemeval(data: &Path) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for value in lines(&data.join("longmemeval/dev"))? {
        let id = string(&value["question_id"]);
        if id.ends_with("_abs") {
            continue;
        }
        let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
        let sessions = list("haystack_session_ids")
            .into_iter()
            .zip(list("haystack_dates"))
            .zip(list("haystack_sessions"));
        let mut files = Vec::new();
        for ((id, date), session) in sessions {
            let mut text = format!("---\ndate: {}\n---\n", day(&string(&date)));
            for turn in session.as_array().into_iter().flatten() {
                let speaker = match turn["role"].as_str() {
                    Some("user") => "User",
                    _ => "Assistant",
                };
                text += &format!("\n**{speaker}:** {}\n", string(&turn["content"]));
            }
            files.push(File {
                id: string(&id),
                text,
            });
        }
        let here: HashSet<&String> = files.iter().map(|file| &file.id).collect();
        let gold = list("answer_session_ids")
            .iter()
            .map(string)
            .filter(|id| here.contains(id))
            .collect();
        groups.push(Group {
            name: id.clone(),
            questions: vec![Question {
                id,
                text: string(&value["question"]),
                kind: string(&value["question_type"]),
                date: Some(day(&string(&value["question_date"]))),
                gold,
            }],
            files,
        });
    }
    Ok(groups)
}

/// `2023/05/20 (Sat) 06:13` as `2023-05-20`.
fn day(date: &str) -> String {
    date.chars().take(10).collect::<String>().replace('/', "-")
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn file_name(id: &str) -> String {
    id.replace(['/', ':'], "-")
}

/// The records of a file, whose sum is told on standard error.
fn lines(stem: &Path) -> Result<Vec<Value>> {
    let path = PathBuf::from(format!("{}.jsonl.gz", stem.display()));
    let output = Command::new("gzip")
        .arg("-dc")
        .arg(&path)
        .output()
        .context("cannot run `gzip`")?;
    if !output.status.success() {
        bail!("cannot read `{}`", path.display());
    }
    let sum: [u8; 32] = Sha256::digest(&output.stdout).into();
    let short: String = sum[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    eprintln!("input {} sha256 {short}…", path.display());
    String::from_utf8(output.stdout)?
        .lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}
