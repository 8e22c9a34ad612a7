//! Random workspaces, in the process itself: whatever is in them, what agents
//! are given stays below its caps, and the newest is in it.

use std::fmt;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use forge_app::agents::{MemoryHome, pointers};
use forge_app::brief::{
    BriefInput, MAX_BRIEF_BYTES, MAX_BRIEF_TOKENS, SESSION_BUDGET, SessionStartReason,
    brief_helper, brief_prompt, brief_start, pointers as indexes,
};
use forge_app::mind::MindStore;
use forge_app::routing::closets;
use forge_app::tokens;
use forge_app::workspace::Workspace;
use jiff::Timestamp;

use crate::chance::Chance;

/// What to run.
pub struct Caps {
    pub workspaces: usize,
    pub seed: u64,
}

/// The largest of each kind that was seen.
pub struct CapsReport {
    pub workspaces: usize,
    pub seed: u64,
    pub seconds: f64,
    largest: Vec<Largest>,
}

struct Largest {
    what: &'static str,
    size: usize,
    /// Not more than this.
    cap: usize,
    seed: u64,
}

impl Caps {
    /// Fails at the first workspace that breaks a cap or loses its newest
    /// entry, and names its seed.
    pub fn run(&self) -> Result<CapsReport> {
        let started = Instant::now();
        let mut largest: Vec<Largest> = Vec::new();
        for number in 0..self.workspaces as u64 {
            let seed = self.seed + number;
            let sizes = one(seed).with_context(|| format!("the workspace of seed {seed}"))?;
            for (what, size, cap) in sizes {
                ensure!(size <= cap, "seed {seed}: {what} is {size}, above {cap}");
                match largest.iter_mut().find(|it| it.what == what) {
                    Some(known) if known.size >= size => {}
                    Some(known) => (known.size, known.seed) = (size, seed),
                    None => largest.push(Largest {
                        what,
                        size,
                        cap,
                        seed,
                    }),
                }
            }
        }
        Ok(CapsReport {
            workspaces: self.workspaces,
            seed: self.seed,
            seconds: started.elapsed().as_secs_f64(),
            largest,
        })
    }
}

type Sizes = Vec<(&'static str, usize, usize)>;

fn one(seed: u64) -> Result<Sizes> {
    let folder = memory_folder()?;
    let mut chance = Chance::new(seed);
    let newest = write(&mut chance, folder.path())?;
    let workspace = Workspace::open(folder.path())?;
    let now: Timestamp = "2026-03-01T09:00:00Z".parse()?;
    let mut sizes = Sizes::new();

    let knowledge = MemoryHome::for_knowledge();
    pointers::update_pointer_indexes(&workspace, &knowledge, false, now)?;
    if let Ok(text) = std::fs::read_to_string(folder.path().join("knowledge/MEMORY.md")) {
        // Loaders cut by whole lines and bytes.
        sizes.push(("MEMORY.md, bytes", text.len(), pointers::MAX_INDEX_BYTES));
        sizes.push((
            "MEMORY.md, lines",
            text.lines().count(),
            pointers::MAX_INDEX_LINES,
        ));
        if let Some(topic) = &newest.topic {
            ensure!(
                text.contains(topic.as_str()),
                "`{topic}` is not in MEMORY.md"
            );
        }
    }
    for hub in closets::build::closet_hubs(&workspace)? {
        let build = closets::build::ClosetBuildOptions {
            force: false,
            dry_run: false,
        };
        closets::build::build_closets(&workspace, &hub, build, now)?;
        let path = workspace.absolute_path(&hub.closets_path());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let file = closets::file::ClosetFile::parse(text.as_str());
        let entries: Vec<usize> = file
            .entries()
            .map(closets::file::ClosetBlock::char_length)
            .collect();
        sizes.push((
            "closets, entries",
            entries.len(),
            closets::MAX_PRIMARY_ENTRIES,
        ));
        let longest = entries.iter().copied().max().unwrap_or(0);
        sizes.push((
            "closets, characters of an entry",
            longest,
            closets::MAX_ENTRY_CHARS,
        ));
    }
    briefings(&workspace, &newest, now, &mut sizes)?;
    Ok(sizes)
}

fn briefings(
    workspace: &Workspace,
    newest: &Newest,
    now: Timestamp,
    sizes: &mut Sizes,
) -> Result<()> {
    let mind = MindStore::open(workspace);
    let known = indexes::find_session_index(workspace);
    let events: Vec<String> = (0..10)
        .map(|n| format!("helper {n} {}", "did much ".repeat(40)))
        .collect();
    for reason in [
        SessionStartReason::Startup,
        SessionStartReason::Compact,
        SessionStartReason::Resume,
    ] {
        let input = BriefInput {
            reason,
            budget: SESSION_BUDGET,
            nonce: "0123456789abcdef",
            now,
            events: &events,
            overview: &[],
            pointers: known.as_ref(),
        };
        let text = brief_start(&mind, &input).text;
        sizes.push(("briefing, bytes", text.len(), MAX_BRIEF_BYTES - 1));
        sizes.push((
            "briefing, tokens (estimate)",
            tokens::estimate_tokens(&text),
            MAX_BRIEF_TOKENS,
        ));
        for word in [&newest.action, &newest.session, &newest.decision]
            .into_iter()
            .flatten()
        {
            ensure!(
                text.contains(word.as_str()),
                "`{word}` is not in the briefing:\n{text}\nof this state:\n{}",
                std::fs::read_to_string(workspace.root().join(".mind/STATE.md"))
                    .unwrap_or_default()
            );
        }
        if let Some(primer) = brief_helper(&mind, &input) {
            sizes.push(("primer, bytes", primer.text.len(), MAX_BRIEF_BYTES - 1));
        }
    }
    if let Some(nudge) = brief_prompt(&mind, now) {
        sizes.push(("nudge, characters", nudge.text.chars().count(), 200));
    }
    Ok(())
}

/// Where files cost nothing to sync, if there is such a place.
fn memory_folder() -> Result<tempfile::TempDir> {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() {
        tempfile::tempdir_in(shared)
    } else {
        tempfile::tempdir()
    };
    made.or_else(|_| tempfile::tempdir())
        .context("a temporary folder")
}

/// Words of the newest entries; they must come through.
#[derive(Default)]
struct Newest {
    action: Option<String>,
    session: Option<String>,
    decision: Option<String>,
    topic: Option<String>,
}

fn write(chance: &mut Chance, root: &Path) -> Result<Newest> {
    let put = |path: &str, text: String| -> Result<()> {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().context("it has a folder")?)?;
        let text = if path.len().is_multiple_of(7) {
            text.replace('\n', "\r\n")
        } else {
            text
        };
        std::fs::write(file, text)?;
        Ok(())
    };
    let mut newest = Newest::default();
    if chance.below(10) > 0 {
        let mut state = format!("# Project State\n\n## Current Phase\n{}\n", line(chance));
        let _ = write!(state, "\n## Current Status\n{}\n", block(chance));
        let _ = write!(state, "\n## Active Work\n{}", list(chance, "- "));
        let _ = write!(state, "\n## Blocked Items\n{}", list(chance, "- "));
        let action = format!("action-{}", chance.below(1_000_000));
        let _ = write!(state, "\n## Next Action\n{action} {}\n", line(chance));
        let _ = write!(state, "\n## Own notes\n{}\n", block(chance));
        newest.action = Some(action);
        put(".mind/STATE.md", state)?;
        put(
            ".mind/PROGRESS.md",
            format!(
                "# Progress Tracker\n\n### In Progress\n{}",
                list(chance, "- [ ] ")
            ),
        )?;
        let mut log = "# Session Log\n".to_owned();
        for number in 0..chance.below(30) {
            let word = format!("session-{number}-{}", chance.below(1_000_000));
            let _ = write!(
                log,
                "\n## Session {} — 2026-02-{:02} 10:00:00\n- **Summary:** {word} {}\n- **Next session:** {}\n\n{}\n",
                number + 1,
                number % 28 + 1,
                line(chance),
                line(chance),
                fenced(chance)
            );
            newest.session = Some(word);
        }
        put(".mind/SESSION-LOG.md", log)?;
        let mut decisions = "# Decision Log\n".to_owned();
        for number in 0..chance.below(40) {
            let word = format!("decision-{number}-{}", chance.below(1_000_000));
            let _ = write!(
                decisions,
                "\n## DEC-{:03}: {word} {}\n- **Date:** 2026-02-{:02}\n- **Decision:** {}\n- **Status:** Final\n\n{}\n",
                number + 1,
                line(chance),
                number % 28 + 1,
                line(chance),
                fenced(chance)
            );
            newest.decision = Some(word);
        }
        put(".mind/DECISIONS.md", decisions)?;
    }
    put(
        "_MANIFEST.md",
        "# Context Routing\n<!-- memex-managed:2.1.3 -->\n\n## Hub Map\n| Domain | Hub | Summary |\n|---|---|---|\n| Docs | [[docs/_CLOSETS]] | All |\n".to_owned(),
    )?;
    // Few files mostly, and now and then more than fit.
    let most = [4, 12, 45][chance.below(12) / 5];
    for number in 0..chance.below(most) {
        let text = format!(
            "---\ntags: [{}]\ndate: 2026-01-{:02}\n---\n# {}\n\n{}\n\n## {}\n{}\n{}",
            line(chance).replace(['[', ']', '\n'], " "),
            number % 28 + 1,
            line(chance),
            block(chance),
            line(chance),
            fenced(chance),
            list(chance, "- ")
        );
        put(&format!("docs/note-{number}.md"), text)?;
    }
    // More pointers than fit, now and then; the newest is the last.
    let topics = [0, 1, 5, 40, 250][chance.below(21) / 5];
    for number in 0..topics {
        let word = format!("topic-{number}-{}", chance.below(1_000_000));
        let day = format!("2026-{:02}-{:02}", number / 28 % 2 + 1, number % 28 + 1);
        let day = if number + 1 == topics {
            "2026-03-01".to_owned()
        } else {
            day
        };
        let text = format!(
            "---\nname: {word}\ndescription: {}\ndate: {day}\n---\n# {word}\n\n{}\n",
            line(chance).replace(':', " "),
            line(chance)
        );
        put(&format!("knowledge/{word}.md"), text)?;
        newest.topic = Some(word);
    }
    if chance.below(4) == 0 {
        let mut own = "# What I keep by hand\n\n".to_owned();
        for number in 0..chance.below(120) {
            let _ = writeln!(
                own,
                "- [Mine {number}](gone-{number}.md) — {}",
                line(chance)
            );
        }
        put("knowledge/MEMORY.md", own)?;
    }
    Ok(newest)
}

const WORDS: [&str; 20] = [
    "ledger",
    "tide",
    "of the",
    "größe",
    "潮汐は正午に満ちる",
    "🌊🌊",
    "[[note-1]]",
    "`code`",
    "**bold**",
    "| cell |",
    "<!-- x -->",
    "\u{202e}hidden",
    "$&",
    "## no heading",
    "---",
    "- [ ] no task",
    "https://example.org/a?b=c#d",
    "\\n",
    "a\tb",
    "é",
];

/// One line, mostly short and now and then far too long.
fn line(chance: &mut Chance) -> String {
    let words = [1, 4, 12, 30, 900][chance.below(25) / 6];
    let mut text = String::new();
    for _ in 0..words {
        if !text.is_empty() && chance.below(40) > 0 {
            text.push(' ');
        }
        text.push_str(WORDS[chance.below(WORDS.len())]);
    }
    if chance.below(200) == 0 {
        text.push_str(&"x".repeat(30_000));
    }
    text
}

fn block(chance: &mut Chance) -> String {
    let lines = [1, 3, 20, 200][chance.below(31) / 10];
    (0..lines).map(|_| line(chance) + "\n").collect()
}

fn list(chance: &mut Chance, mark: &str) -> String {
    let items = [0, 2, 8, 150][chance.below(31) / 10];
    (0..items)
        .map(|_| format!("{mark}{}\n", line(chance)))
        .collect()
}

fn fenced(chance: &mut Chance) -> String {
    match chance.below(6) {
        0 => format!("```text\n## DEC-999: code\n{}\n```\n", line(chance)),
        1 => format!("> {}\n", line(chance)),
        _ => String::new(),
    }
}

impl fmt::Display for CapsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:34} {:>8} {:>8} {:>12}",
            "largest", "seen", "cap", "seed"
        )?;
        for one in &self.largest {
            writeln!(
                f,
                "{:34} {:>8} {:>8} {:>12}",
                one.what, one.size, one.cap, one.seed
            )?;
        }
        write!(
            f,
            "{} random workspaces from seed {}, all below their caps, the newest always in, {:.1} seconds",
            self.workspaces, self.seed, self.seconds
        )
    }
}
