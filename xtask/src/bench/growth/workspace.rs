//! A workspace in which every command has something to do, with a pattern in
//! it, and a command run there with its time, memory and limits.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use super::commands::{self, Input, Measured};
use super::patterns::{FILE, Layout, Pattern, Place};
use crate::bench::speed::process::{Arena, Sample, wait};

/// A command that takes longer has failed; its exponent shows it.
const MAX_CPU_SECONDS: u32 = 20;
const MAX_MEMORY_KIB: u32 = 6 << 20;

/// The bytes of a pattern that stand on a command line.
const MAX_ARGUMENT: usize = 96_000;

const COMMON: &[(&str, &str)] = &[
    (
        "knowledge/tides.md",
        "# Tides\n\nHigh water at noon. See [[old]].\n",
    ),
    ("knowledge/old.md", "# Old\n\nThe old harbour.\n"),
    ("knowledge/plan.local.md", "# Mine\n\nA plan of my own.\n"),
    ("CLAUDE.md", "# House rules\n\nBe kind.\n"),
    (
        "memory-bank/projectbrief.md",
        "# Project brief\n\nA harbour.\n",
    ),
    (
        ".agents/memory/eng/builder/MEMORY.md",
        "# Memory\n\n- [Cache](cache.md) — how the cache works\n",
    ),
    (
        ".agents/memory/eng/builder/cache.md",
        "---\nname: cache\ndescription: how the cache works\ntype: project\n---\n\nIt is warm.\n",
    ),
    (
        ".agents/memory/eng/shared/learnings.md",
        "# Learnings\n\n## 2026-01-01\n\n- Freeze the clock\n",
    ),
    (
        "transcripts/a.jsonl",
        "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"timestamp\":\"2026-01-02T10:00:00Z\",\"cwd\":\"/w\",\"message\":{\"role\":\"user\",\"content\":\"Begin\"}}\n",
    ),
    ("base.md", "- a\n"),
    ("ours.md", "- a\n- b\n"),
    ("theirs.md", "- a\n- c\n"),
    (".gitignore", "*.local.md\n/home/\n"),
];

const MIND: &[(&str, &str)] = &[
    (
        ".mind/STATE.md",
        "# Project State\n\n## Current Phase\nPhase 2: Build\n\n## Current Status\nLogin half done\n\n## Next Action\nFinish login\n",
    ),
    (
        ".mind/PROGRESS.md",
        "# Progress Tracker\n\n### In Progress\n- [ ] Build login page\n",
    ),
    (
        ".mind/DECISIONS.md",
        "# Decision Log\n\n## DEC-001: Use SQLite\n- **Decision:** One file is enough\n\n",
    ),
    (
        ".mind/SESSION-LOG.md",
        "# Session Log\n\n## Session 1 — 2026-02-28 10:00:00\n- **Summary:** Began the form\n\n",
    ),
];

const MANIFEST: &[(&str, &str)] = &[
    (
        "_MANIFEST.md",
        "# Context Routing\n<!-- memex-managed:2.1.3 -->\n<!-- summary-format-version:2 -->\n\n## Tier 1 - Always Load\n| File | Summary | Volatility |\n|---|---|---|\n| [[status]] | Where we are | VOLATILE |\n\n## Tier 3 - Archive\n| File | Reason | Date |\n|---|---|---|\n\n## Hub Map\n| Domain | Hub | Summary |\n|---|---|---|\n| Garden | [[garden/_CLOSETS]] | Beds and seeds |\n",
    ),
    (
        "memory/status.md",
        "# Status\n\n**Phase:** Spring\n\n## Active Focus\nSow the beds\n",
    ),
    (
        "memory/session-log.md",
        "# Session Log\n\n---\n\n## 2026-02-27 - Second\n\n- Measured the beds.\n\n---\n\n",
    ),
    (
        "memory/decisions.md",
        "# Decisions\n\n**2026-02-01** - Grow beans\n",
    ),
    ("garden/beans.md", "# Beans\nThey climb. See [[peas]].\n"),
    ("garden/peas.md", "# Peas\nThey climb too, as beans do.\n"),
    ("garden/_CLOSETS.md", "# Garden\n\n"),
];

pub(super) struct Workspace {
    folder: PathBuf,
    arena: Arena,
    text: String,
}

impl Workspace {
    pub(super) fn empty(bench: &Path, layout: Layout) -> Result<Workspace> {
        let folder = bench.join("workspace");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("Cannot remove {}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder)?;
        let workspace = Workspace {
            arena: Arena::new(bench)?,
            folder,
            text: String::new(),
        };
        let own = match layout {
            Layout::Mind => MIND,
            Layout::Manifest => MANIFEST,
        };
        for (path, text) in COMMON.iter().chain(own) {
            workspace.append(path, text)?;
        }
        // Vectors take the same time for each passage, and most of it all.
        workspace.append("memory-forge.toml", "[search]\nmode = \"text\"\n")?;
        workspace.git()?;
        Ok(workspace)
    }

    pub(super) fn filled(bench: &Path, pattern: &Pattern, bytes: usize) -> Result<Workspace> {
        let mut workspace = Workspace::empty(bench, pattern.layout)?;
        if bytes == 0 {
            return Ok(workspace);
        }
        let text = pattern.text(bytes);
        match pattern.place {
            Place::Everywhere => {
                let own = match pattern.layout {
                    Layout::Mind => MIND,
                    Layout::Manifest => MANIFEST,
                };
                let texts = COMMON.iter().chain(own);
                for (path, _) in texts.filter(|(path, _)| path.ends_with(".md")) {
                    workspace.append(path, &format!("\n{text}\n"))?;
                }
                // A second paragraph, so that the pattern is not alone.
                workspace.append(
                    "knowledge/second.md",
                    &format!("# Second\n\n{text}\n\nword\n"),
                )?;
                workspace.text = text;
            }
            Place::File(path) => {
                workspace.append(path, &format!("{text}\n"))?;
                workspace.text = text;
            }
            Place::Files => {
                for file in format!("\n{text}").split(&format!("\n{FILE}")).skip(1) {
                    let (path, text) = file.split_once('\n').unwrap_or((file, ""));
                    workspace.append(path, &format!("{text}\n"))?;
                }
                workspace.text = text;
            }
        }
        Ok(workspace)
    }

    pub(super) fn root(&self) -> &Path {
        &self.folder
    }

    fn append(&self, path: &str, text: &str) -> Result<()> {
        use std::io::Write as _;
        let path = self.folder.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = File::options().create(true).append(true).open(&path)?;
        file.write_all(text.as_bytes())
            .with_context(|| format!("Cannot write {}", path.display()))
    }

    /// A repository without a commit, since many commands ask git.
    fn git(&self) -> Result<()> {
        let arguments = ["init", "--quiet"].map(str::to_owned);
        let git = self.arena.find("git").context("`git` is needed")?;
        self.arena.time(&git, &arguments, &self.folder)?;
        Ok(())
    }

    pub(super) fn output(&self, binary: &Path, words: &[&str]) -> Result<String> {
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let output = self.arena.command(binary, &words, &self.folder).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a command below limits, with its output in files.
    pub(super) fn measure(
        &self,
        binary: &Path,
        measured: &Measured,
    ) -> Result<(Sample, Option<i32>)> {
        let limits =
            format!("ulimit -t {MAX_CPU_SECONDS}; ulimit -v {MAX_MEMORY_KIB}; exec \"$0\" \"$@\"");
        let mut words = vec!["-c".to_owned(), limits, binary.display().to_string()];
        let argument = self.argument();
        words.extend(
            measured
                .line
                .split('|')
                .map(|it| it.replace("{text}", &argument)),
        );
        let shell = Path::new("/bin/sh");
        let mut command = self.arena.command(shell, &words, &self.folder);
        let beside = |name: &str| self.folder.with_file_name(name);
        let input = match measured.input {
            Input::Nothing => None,
            Input::Text => Some(format!("# Long\n\n{}\n", self.text)),
            Input::Event(event) => Some(commands::event(event, &self.text)),
            Input::Call(tool) => Some(commands::call(tool, &self.text)),
        };
        if let Some(input) = input {
            let path = beside("stdin");
            std::fs::write(&path, input)?;
            command.stdin(Stdio::from(File::open(&path)?));
        }
        command
            .stdout(File::create(beside("stdout"))?)
            .stderr(File::create(beside("stderr"))?);
        wait(command).with_context(|| format!("Cannot run {}", binary.display()))
    }

    /// What the last command said on standard error.
    pub(super) fn last_error(&self) -> String {
        let text = std::fs::read_to_string(self.folder.with_file_name("stderr"));
        let text = text.unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    }

    /// The pattern as one argument: not longer than the system takes, and in
    /// proportion to the size of the whole.
    fn argument(&self) -> String {
        let text: String = self.text.chars().filter(|c| *c != '\0').collect();
        let end = text.floor_char_boundary((text.len() / 5).min(MAX_ARGUMENT));
        match &text[..end] {
            "" => "word".to_owned(),
            text => text.trim_start_matches('-').to_owned(),
        }
    }
}
