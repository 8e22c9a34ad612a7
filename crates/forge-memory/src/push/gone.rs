//! Paths that a command of an earlier session moved or removed, so that they
//! are not looked for again. A move is known by its command alone; a removal
//! counts only for what was a file of the work, read or changed before.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::ActionSurroundings;
use super::keys::{KeyTable, PushKey};
use crate::evidence::{EvidenceFact, EvidenceLog, SimpleCommand, join_path};

/// Keys that are kept, the newest first.
const MAX_GONE: usize = 100;

/// What a command did to a path.
struct GonePath {
    path: String,
    /// The second operand of `mv`; empty for what was removed.
    target: String,
}

pub(super) fn gone_keys(log: &EvidenceLog, parsed: &[Vec<SimpleCommand>]) -> Vec<PushKey> {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let mut gone: BTreeMap<String, (usize, PushKey)> = BTreeMap::new();
    for (at, (entry, commands)) in log.entries.iter().zip(parsed).enumerate() {
        match &entry.fact {
            EvidenceFact::Read { path } | EvidenceFact::Changed { path } => {
                used.insert(path);
                // It is there again.
                gone.retain(|it, _| !is_in(path, it));
            }
            EvidenceFact::Command(fact) if fact.worked => {
                for it in gone_by(&fact.dir, commands) {
                    let was_work = || used.iter().any(|used| is_in(used, &it.path));
                    if it.target.is_empty() && !was_work() {
                        continue;
                    }
                    let key = PushKey::Gone {
                        path: it.path.clone(),
                        target: it.target,
                        last: entry.at,
                        line: at + 2,
                    };
                    gone.insert(it.path, (at, key));
                }
            }
            _ => {}
        }
    }
    let mut keys: Vec<(usize, PushKey)> = gone.into_values().collect();
    keys.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    keys.into_iter()
        .take(MAX_GONE)
        .map(|(_, key)| key)
        .collect()
}

/// Returns `true` if a path of the workspace is this one or within it. Commands
/// often have the absolute one.
fn is_in(path: &str, whole: &str) -> bool {
    let beginnings = path.match_indices('/').map(|(at, _)| &path[..at]);
    let mut beginnings = beginnings.chain([path]);
    beginnings.any(|it| {
        let before = whole.strip_suffix(it);
        !it.is_empty() && before.is_some_and(|it| it.is_empty() || it.ends_with('/'))
    })
}

/// Returns what the commands of a line moved and removed.
fn gone_by(dir: &str, commands: &[SimpleCommand]) -> Vec<GonePath> {
    let mut dir = if dir.is_empty() { "." } else { dir }.to_owned();
    let mut gone = Vec::new();
    for command in commands {
        let mut words: Vec<&str> = Vec::new();
        for word in command.operands() {
            if word.is_expanded {
                return gone;
            }
            words.push(&word.text);
        }
        let program = match (command.program(), words.first()) {
            ("git", Some(&"mv")) => {
                words.remove(0);
                "mv"
            }
            ("git", Some(&"rm")) => {
                words.remove(0);
                "rm"
            }
            (program, _) => program,
        };
        match (program, &words[..]) {
            ("cd", [target]) => dir = join_path(&dir, target),
            // What hides its errors may have removed nothing.
            ("rm" | "mv", _) if command.hides_errors => {}
            ("rm", paths) => gone.extend(paths.iter().map(|path| GonePath {
                path: join_path(&dir, path),
                target: String::new(),
            })),
            ("mv", [paths @ .., target]) => {
                for path in paths {
                    let name = path.trim_end_matches('/').rsplit('/').next();
                    let is_into = paths.len() > 1 || names_folder(target, path);
                    let target = match name.filter(|_| is_into) {
                        Some(name) => join_path(&dir, &format!("{target}/{name}")),
                        None => join_path(&dir, target),
                    };
                    gone.push(GonePath {
                        path: join_path(&dir, path),
                        target,
                    });
                }
            }
            _ => {}
        }
    }
    gone.retain(|it| !matches!(it.path.as_str(), "" | "." | "/") && it.path != it.target);
    gone
}

/// Returns `true` if the target of a move is a folder by its form: a file keeps
/// its ending when it gets another name.
fn names_folder(target: &str, path: &str) -> bool {
    fn ending(path: &str) -> Option<&str> {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.rsplit_once('.')
            .map(|it| it.1)
            .filter(|it| !it.is_empty())
    }
    target.ends_with('/')
        || matches!(target, "." | "..")
        || ending(path).is_some() && ending(target).is_none()
}

/// What became of a missing path.
pub(super) struct FoundGone {
    /// Where it is now; empty if it was removed.
    pub(super) target: String,
    /// Seconds of the command.
    pub(super) last: i64,
    /// Line of the command in the log.
    pub(super) line: usize,
}

/// Finds what became of a missing path, or of a folder that it was in.
pub(super) fn find_gone(
    table: &KeyTable,
    missing: &str,
    around: &dyn ActionSurroundings,
) -> Option<FoundGone> {
    table.keys.iter().find_map(|key| {
        let PushKey::Gone {
            path,
            target,
            last,
            line,
        } = key
        else {
            return None;
        };
        let (before, rest) = split_at_gone(path, missing, around.root_name())?;
        let target = target.strip_prefix(before).unwrap_or(target);
        let target = if target.is_empty() {
            String::new()
        } else {
            format!("{target}{rest}")
        };
        Some(FoundGone {
            target,
            last: *last,
            line: *line,
        })
    })
}

/// Splits a path that is gone, as its command has it, into what is in front of
/// the workspace's paths, and what the missing one has behind it.
fn split_at_gone<'a>(
    gone: &'a str,
    missing: &'a str,
    root_name: &str,
) -> Option<(&'a str, &'a str)> {
    let rest_of = |gone: &str| {
        let rest = missing.strip_prefix(gone)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    if let Some(rest) = rest_of(gone) {
        return Some(("", rest));
    }
    if root_name.is_empty() {
        return None;
    }
    let mark = format!("/{root_name}/");
    let at = gone.find(&mark)? + mark.len();
    Some((&gone[..at], rest_of(&gone[at..])?))
}

#[cfg(test)]
mod tests {
    use super::super::keys::tests::log;
    use super::*;
    use crate::evidence::parse_command;

    fn gone(dir: &str, line: &str) -> Vec<String> {
        let gone = gone_by(dir, &parse_command(line)).into_iter();
        gone.map(|it| format!("{} > {}", it.path, it.target))
            .collect()
    }

    #[test]
    fn moves_and_removals_are_read_from_commands() {
        assert_eq!(gone("", "rm a.go b/c.go"), ["a.go > ", "b/c.go > "]);
        assert_eq!(
            gone("cli", "cd docs && git mv a.md B.md"),
            ["cli/docs/a.md > cli/docs/B.md"]
        );
        assert_eq!(
            gone("", "mv a.go b.go pkg"),
            ["a.go > pkg/a.go", "b.go > pkg/b.go"]
        );
        assert_eq!(gone("", "mv a.go pkg/new"), ["a.go > pkg/new/a.go"]);
        assert_eq!(gone("", "mv pkg/a pkg/b"), ["pkg/a > pkg/b"]);
        assert_eq!(gone("", "mv /w/x/a.go old/"), ["/w/x/a.go > old/a.go"]);
        for none in [
            "rm *.go",
            "rm $FILE",
            "rm a.go 2>/dev/null",
            "rm a.go || true",
            "git checkout a.go",
            "rm -rf .",
            "echo rm a.go",
        ] {
            assert!(gone("", none).is_empty(), "{none}");
        }
    }

    fn keys(lines: &str) -> Vec<String> {
        let table = KeyTable::build(&log(lines), Vec::new());
        let keys = table.keys.iter().filter_map(|key| match key {
            PushKey::Gone { path, target, .. } => Some(format!("{path} > {target}")),
            _ => None,
        });
        keys.collect()
    }

    #[test]
    fn what_was_removed_was_a_file_of_the_work() {
        let read = "s1 | Read | src/a.go | 1 text\n";
        let removes = "s1 | Bash | rm /w/src/a.go out.json | \n";
        assert_eq!(keys(&format!("{read}{removes}")), ["/w/src/a.go > "]);
        assert!(keys(removes).is_empty());
        // It is there again.
        assert!(keys(&format!("{read}{removes}{read}")).is_empty());
        let fails = "s1 | Bash | rm src/a.go | Exit code 1 / rm: src/a.go: Permission denied\n";
        assert!(keys(&format!("{read}{fails}")).is_empty());
        // A folder with such a file.
        let folder = "s1 | Bash | rm -r src | \n";
        assert_eq!(keys(&format!("{read}{folder}")), ["src > "]);
    }

    #[test]
    fn a_path_is_the_one_of_this_workspace() {
        let split = |gone, missing| split_at_gone(gone, missing, "cli");
        assert_eq!(split("a.go", "a.go"), Some(("", "")));
        assert_eq!(split("pkg/a", "pkg/a/b.go"), Some(("", "/b.go")));
        assert_eq!(split("pkg/a", "pkg/ab"), None);
        assert_eq!(split("/w/cli/a.go", "a.go"), Some(("/w/cli/", "")));
        assert_eq!(split("/w/web/a.go", "a.go"), None);
        assert_eq!(split("/w/cli/x/a.go", "a.go"), None);
    }
}
