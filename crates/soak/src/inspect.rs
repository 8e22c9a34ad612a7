//! Whether a memory is whole: every reader of the product reads it, ids are
//! distinct, and nothing half done lies about. It only looks.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use forge_app::mind::{EventLog, MindStore};
use forge_app::workspace::Workspace;
use jiff::Timestamp;
use serde_json::Value;
use testkit::TestWorkspace;

use crate::seeded::{ARCHIVE, DECISIONS, SESSIONS};

/// Everything that must hold once a writer has come after a crash.
pub(crate) fn check(ws: &TestWorkspace, now: Timestamp) -> Result<()> {
    check_readers(ws, now)?;
    check_ids(ws)?;
    check_small_files(ws)?;
    let left = unfinished(ws.root())?;
    ensure!(left.is_empty(), "left behind: {}", left.join(", "));
    Ok(())
}

/// What the program prints as JSON, at this moment.
pub(crate) fn json(ws: &TestWorkspace, now: Timestamp, arguments: &[&str]) -> Result<Value> {
    let output = ws.feed("", &[("MEMORY_FORGE_NOW", &now.to_string())], arguments);
    serde_json::from_str(&output.stdout)
        .with_context(|| format!("`{}` gave no JSON:\n{output}", arguments.join(" ")))
}

/// Temporary files and changes that did not come to their end, by name.
pub(crate) fn unfinished(root: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    let mut folders = vec![root.join(".mind"), root.join(".memory-forge")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".tmp", ".new", ".pending", ".dropped", ".interrupted"]
                .iter()
                .any(|end| name.ends_with(end))
            {
                let path = entry.path();
                let inside = path.strip_prefix(root).unwrap_or(&path);
                left.push(inside.display().to_string());
            } else if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    left.sort();
    Ok(left)
}

/// The numbers of headings such as `DEC-007: …` or `Session 7 — …`.
pub(crate) fn numbers(ws: &TestWorkspace, path: &str, before: &str) -> Result<Vec<u64>> {
    if path == ARCHIVE && !ws.exists(path) {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(ws.path(path)).with_context(|| path.to_owned())?;
    let document = forge_app::document::parse_document(text);
    let number = |title: &str| -> Option<u64> {
        let rest = title.strip_prefix(before)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        rest[..digits.unwrap_or(rest.len())].parse().ok()
    };
    let titles = document.sections.iter().map(|it| it.title.as_str());
    Ok(titles.filter_map(number).collect())
}

/// The binary's readers and the library's see the same.
fn check_readers(ws: &TestWorkspace, now: Timestamp) -> Result<()> {
    // The journal's entries carry marks under the key of the programs' home.
    forge_app::trust::add_key_folders([ws.state_home().join("memory-forge")]);
    let workspace = Workspace::open(ws.root())?;
    let mind = MindStore::open(&workspace);
    let state = mind.read_state()?.context("the state is gone")?;
    let progress = mind.read_progress()?.context("the tasks are gone")?;
    let shown = json(ws, now, &["mind", "show", "--json"])?;
    ensure!(
        shown["state"]["text"] == state.text,
        "`mind show` and the library read different states"
    );
    for (name, expect) in [
        ("tasks", progress.tasks.len()),
        ("decisions", mind.read_decisions()?.len()),
        ("sessions", mind.read_sessions()?.len()),
    ] {
        let seen = shown[name].as_array().map(Vec::len);
        ensure!(
            seen == Some(expect),
            "`mind show` has {seen:?} {name}, the library {expect}"
        );
    }
    let health = json(ws, now, &["mind", "health", "--json"])?;
    for issue in health["issues"].as_array().context("no list of issues")? {
        ensure!(issue["severity"] != "error", "`mind health`: {issue}");
    }
    let unfinished = workspace.unfinished_entries()?;
    ensure!(unfinished.is_empty(), "unfinished: {unfinished:?}");
    let (leftovers, _) = workspace.find_leftovers();
    ensure!(leftovers.is_empty(), "leftovers: {leftovers:?}");
    workspace.history()?;
    Ok(())
}

/// No id was given twice, wherever its entry stands today.
fn check_ids(ws: &TestWorkspace) -> Result<()> {
    for (path, before) in [(DECISIONS, "DEC-"), (SESSIONS, "Session ")] {
        let mut seen = HashSet::new();
        let mut all = numbers(ws, path, before)?;
        all.extend(numbers(ws, ARCHIVE, before)?);
        for number in all {
            ensure!(seen.insert(number), "`{before}{number}` was given twice");
        }
    }
    Ok(())
}

/// The files that hooks keep are whole, and no hook noted a failure.
fn check_small_files(ws: &TestWorkspace) -> Result<()> {
    let workspace = Workspace::open(ws.root())?;
    let mind = MindStore::open(&workspace);
    if ws.exists(".mind/.hook-failures") {
        bail!("a hook failed: {}", ws.read(".mind/.hook-failures"));
    }
    if ws.exists(".mind/.last-activity") {
        mind.read_last_activity()
            .context("`.last-activity` is torn")?;
    }
    if ws.exists(".mind/.open-session") {
        let text = ws.read(".mind/.open-session");
        let open: Value = serde_json::from_str(&text).context("`.open-session` is torn")?;
        ensure!(open["id"].is_string(), "`.open-session` has no id");
    }
    for log in EventLog::ALL {
        for line in mind.read_events(log) {
            let whole = line.starts_with(['[', 'S']) && line.ends_with(')');
            ensure!(whole, "`{}` has a torn line: {line:?}", log.name());
        }
    }
    let Ok(entries) = fs::read_dir(ws.path(".mind/checkpoints")) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let whole = if text.starts_with("# Session End Checkpoint\n") {
            text.ends_with("freshness.\n")
        } else {
            text.starts_with("# Pre-Compaction Checkpoint\n")
                && text.contains("\n## Recovery Instructions\n")
                && text.ends_with("starting over.\n")
        };
        ensure!(whole, "`{}` is torn", path.display());
    }
    Ok(())
}
