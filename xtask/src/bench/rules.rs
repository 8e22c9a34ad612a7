//! Runs the repair of `doctor --fix` over real instruction files, each alone in
//! a workspace, and counts how many of their rules stay where agents load them.
//!
//! What a rule is is decided here once more and more simply, line by line, with
//! no look at headings: a line of prose or of a list that holds a word that
//! orders or forbids, or that begins with an imperative. It is no label by
//! hand, so read some files too (`--out`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use forge_app::doctor::{self, RepairStep};
use forge_app::workspace::Workspace;
use jiff::Timestamp;

/// A file of the set: its path there, and its text.
struct InstructionFile {
    name: String,
    text: String,
    is_skill: bool,
}

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let mut out: Option<PathBuf> = None;
    let mut show = false;
    let mut all = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--out" => out = Some(rest.next().context("`--out` needs a folder")?.into()),
            "--show" => show = true,
            "--all" => all = true,
            other => bail!("unknown option `{other}`"),
        }
    }
    let Some(folder) = super::data_folder() else {
        println!("skipped: no ../shared/bench and no MEMORY_FORGE_BENCH_DATA");
        return Ok(());
    };
    let mut files = read_files(&folder.join("agent-files-dev.tar.gz"))?;
    if !all {
        files = thin_out(files);
    }
    for is_skill in [false, true] {
        let what = if is_skill {
            "SKILL.md"
        } else {
            "CLAUDE.md, AGENTS.md"
        };
        let mut total = Totals::default();
        for file in files.iter().filter(|file| file.is_skill == is_skill) {
            total.repair(file, out.as_deref(), show)?;
        }
        total.print(what);
    }
    Ok(())
}

#[derive(Default)]
struct Totals {
    files: usize,
    large: usize,
    rules: usize,
    kept: usize,
    /// Shares of the tokens that left each changed file, in percent.
    removed: Vec<usize>,
    after: Vec<usize>,
    reached: usize,
    lost_lines: usize,
    refused: Vec<(String, String)>,
}

impl Totals {
    fn repair(&mut self, file: &InstructionFile, out: Option<&Path>, show: bool) -> Result<()> {
        self.files += 1;
        let folder = tempfile::tempdir()?;
        let path = if file.is_skill {
            ".claude/skills/it/SKILL.md"
        } else {
            "CLAUDE.md"
        };
        let place = folder.path().join(path);
        fs::create_dir_all(place.parent().context("a folder")?)?;
        fs::write(&place, &file.text)?;
        let workspace = Workspace::open(folder.path())?;
        let now: Timestamp = "2026-03-01T09:00:00Z".parse()?;
        let repair = doctor::plan_repair(&workspace, &[], now);
        if let Some(left) = repair.left_alone.iter().find(|it| it.path.as_str() == path) {
            self.large += 1;
            self.refused.push((file.name.clone(), left.why.clone()));
            if show {
                println!("left alone {}: {}", file.name, left.why);
            }
            return Ok(());
        }
        let tokens = repair.steps.iter().find_map(|step| match step {
            RepairStep::Stub { before, after, .. } | RepairStep::Skill { before, after, .. } => {
                Some((*before, *after))
            }
            RepairStep::Readme { .. } => None,
        });
        let Some((before, after)) = tokens else {
            return Ok(());
        };
        self.large += 1;
        let text_of = |it: &str| {
            let found = repair
                .proposal
                .files
                .iter()
                .find(|file| file.path.as_str() == it);
            found.map_or("", |file| file.after.as_str())
        };
        let stays = text_of(path);
        let moved: String = repair
            .proposal
            .files
            .iter()
            .filter(|it| it.path.as_str() != path)
            .map(|it| it.after.as_str())
            .collect();
        self.removed
            .push((before.saturating_sub(after)) * 100 / before.max(1));
        self.after.push(after);
        let limit = if file.is_skill { 300 } else { 500 };
        self.reached += usize::from(after <= limit);
        let stays_in: std::collections::HashSet<&str> = stays.lines().map(str::trim).collect();
        let moved_in: std::collections::HashSet<&str> = moved.lines().map(str::trim).collect();
        for line in rule_lines(&file.text) {
            self.rules += 1;
            if stays_in.contains(line) {
                self.kept += 1;
            } else if show {
                println!("moved from {}: {line}", file.name);
            }
        }
        let lines = file
            .text
            .trim_start_matches('\u{feff}')
            .lines()
            .map(str::trim);
        self.lost_lines += lines
            .filter(|line| !stays_in.contains(line) && !moved_in.contains(line))
            .count();
        if let Some(out) = out {
            let name = file.name.replace('/', "__");
            fs::create_dir_all(out)?;
            fs::write(out.join(format!("{name}.before.md")), &file.text)?;
            fs::write(out.join(format!("{name}.after.md")), stays)?;
            fs::write(out.join(format!("{name}.moved.md")), &moved)?;
        }
        Ok(())
    }

    fn print(mut self, what: &str) {
        self.removed.sort_unstable();
        self.after.sort_unstable();
        let changed = self.removed.len();
        let share = 100.0 * self.kept as f64 / self.rules.max(1) as f64;
        println!(
            "{what}: {} files, {} above their limit",
            self.files, self.large
        );
        println!(
            "  changed {changed}, {} of them to their limit; left alone {}",
            self.reached,
            self.refused.len()
        );
        println!(
            "  rule lines kept {} of {} ({share:.1} %)",
            self.kept, self.rules
        );
        println!("  lines in neither part {}", self.lost_lines);
        if changed > 0 {
            println!(
                "  tokens removed, median {} %, quarter {} %, three quarters {} %; median after {}",
                self.removed[changed / 2],
                self.removed[changed / 4],
                self.removed[changed * 3 / 4],
                self.after[changed / 2]
            );
        }
        let mut reasons: BTreeMap<String, usize> = Default::default();
        for (_, why) in &self.refused {
            let plain: String = why
                .chars()
                .filter(|c| !c.is_ascii_digit() && *c != ',')
                .collect();
            *reasons.entry(plain).or_default() += 1;
        }
        for (why, count) in reasons {
            println!("  left alone {count}: {why}");
        }
    }
}

const ORDERS: &[&str] = &[
    "always",
    "never",
    "must",
    "do not",
    "don't",
    "should",
    "shouldn't",
    "required",
    "only",
    "avoid",
    "ensure",
    "make sure",
    "prefer",
    "mandatory",
    "forbidden",
    "not allowed",
    "need to",
    "have to",
    "cannot",
    "can't",
    "instead of",
];

const IMPERATIVES: &[&str] = &[
    "use", "run", "keep", "follow", "check", "add", "write", "update", "create", "read", "verify",
    "test", "include", "place", "put", "name", "commit", "document", "treat", "return", "handle",
    "validate", "respect", "match", "store", "set", "call", "ask", "leave", "remove",
];

/// The lines of a text that order or forbid, trimmed.
fn rule_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    let mut is_front = text.starts_with("---");
    text.trim_start_matches('\u{feff}')
        .lines()
        .enumerate()
        .filter_map(move |(index, line)| {
            let line = line.trim();
            if is_front {
                is_front = index == 0 || line != "---";
                return None;
            }
            match fence {
                Some(open) => {
                    if line.starts_with(open) {
                        fence = None;
                    }
                    return None;
                }
                None => {
                    fence = ["```", "~~~"].into_iter().find(|it| line.starts_with(it));
                }
            }
            let is_text = fence.is_none() && !line.starts_with(['#', '<', '|']);
            (is_text && is_rule_line(line)).then_some(line)
        })
}

fn is_rule_line(line: &str) -> bool {
    let lower = line.to_lowercase().replace('’', "'").replace("-only", "");
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    let spaced = format!(" {} ", words.join(" "));
    let has_order = ORDERS.iter().any(|it| spaced.contains(&format!(" {it} ")));
    let marker = line.trim_start_matches(|c: char| c.is_ascii_digit() || "-*+.) ".contains(c));
    let is_item =
        line.starts_with(['-', '*', '+']) || line.starts_with(|c: char| c.is_ascii_digit());
    let first = words
        .iter()
        .find(|word| !word.bytes().all(|b| b.is_ascii_digit()));
    let begins =
        is_item && !marker.starts_with('`') && first.is_some_and(|word| IMPERATIVES.contains(word));
    has_order || begins
}

fn read_files(archive: &Path) -> Result<Vec<InstructionFile>> {
    let file = fs::File::open(archive).with_context(|| archive.display().to_string())?;
    let mut files = Vec::new();
    for entry in tar::Archive::new(GzDecoder::new(file)).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.display().to_string();
        let last = name.rsplit('/').next().unwrap_or_default();
        let is_skill = last == "SKILL.md";
        if !is_skill && !matches!(last, "CLAUDE.md" | "AGENTS.md" | "GEMINI.md") {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(InstructionFile {
                name,
                text,
                is_skill,
            });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Files of one repository that are counted at most: a collection of templates
/// would decide alone otherwise.
const MAX_PER_REPOSITORY: usize = 10;

/// Leaves out files of repositories that have many, evenly over their names.
fn thin_out(files: Vec<InstructionFile>) -> Vec<InstructionFile> {
    let key = |file: &InstructionFile| {
        let repository = file.name.split('/').nth(1).unwrap_or_default().to_owned();
        (file.is_skill, repository)
    };
    let mut groups: BTreeMap<(bool, String), Vec<InstructionFile>> = BTreeMap::new();
    for file in files {
        groups.entry(key(&file)).or_default().push(file);
    }
    let thin = |group: Vec<InstructionFile>| {
        let step = group.len().div_ceil(MAX_PER_REPOSITORY);
        group.into_iter().step_by(step)
    };
    groups.into_values().flat_map(thin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_lines_are_found_without_code_and_front_matter() {
        let text = "---\nname: never\n---\n# Must\n\n- Use tabs\n- `use` is a word\n\nIt is \
                    fast.\nDo not push.\n\n```sh\nnever\n```\n| must | x |\n";
        let found: Vec<&str> = rule_lines(text).collect();
        assert_eq!(found, ["- Use tabs", "Do not push."]);
    }
}
