//! Finds documents whose front matter states what they apply to:
//! `applies-to:` with globs of paths, or the first words of commands. Where the
//! settings allow it, also sentences of rules that name a path or a command in
//! backticks. Documents that a client loads itself have no keys.

use std::io::Read;

use crate::document::Document;
use crate::workspace::{PushMode, RelPath, Workspace};
use forge_memory::evidence::parse_command;
use forge_memory::push::{PushKey, command_form};
use forge_store::regular::{self, LinkPolicy};

/// Documents whose beginning is read at a start.
const MAX_SCANNED_DOCUMENTS: usize = 1_000;
/// Bytes of a document that are read.
const MAX_HEAD_BYTES: u64 = 4 << 10;
/// Bytes of a document that are read for rules in its sentences.
const MAX_BODY_BYTES: u64 = 32 << 10;
/// Rules of a document's sentences that are kept.
const MAX_SENTENCES: usize = 5;
/// Rules that are kept.
const MAX_RULES: usize = 100;
/// Patterns of a document that are kept.
pub(crate) const MAX_PATTERNS: usize = 20;
/// The entry of front matter with the patterns.
pub(crate) const APPLIES_TO_KEY: &str = "applies-to";
/// Characters of a rule that are kept; less of it is shown.
const MAX_RULE_CHARS: usize = 200;

/// Returns the rules of the knowledge folder, by path: those of front matter
/// first.
pub(super) fn find_rules(workspace: &Workspace) -> Vec<PushKey> {
    let mut files = workspace.markdown_files_in("knowledge");
    files.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    let with_sentences = workspace.config().recall.push == PushMode::All;
    let loaded = if with_sentences {
        loaded_documents(workspace)
    } else {
        String::new()
    };
    let exists = |path: &str| {
        let path = RelPath::new(path).ok();
        path.is_some_and(|path| workspace.absolute_path(&path).exists())
    };
    let (mut rules, mut named) = (Vec::new(), Vec::new());
    for path in files.iter().take(MAX_SCANNED_DOCUMENTS) {
        let most = if with_sentences {
            MAX_BODY_BYTES
        } else {
            MAX_HEAD_BYTES
        };
        let Some(head) = read_head(workspace, path, most) else {
            continue;
        };
        rules.extend(read_rule(path, &head));
        // A page of a session has what was said, by the user or not.
        let is_session = path.as_str().starts_with("knowledge/sessions/");
        if with_sentences && !is_session && !loaded.contains(&format!("@{path}")) {
            named.extend(rules_in_sentences(path, &head, &exists));
        }
    }
    rules.extend(named);
    rules.truncate(MAX_RULES);
    rules
}

/// Reads the files whose imports a client loads, as one text.
pub(crate) fn loaded_documents(workspace: &Workspace) -> String {
    let files = ["CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md"];
    let texts = files
        .iter()
        .filter_map(|path| workspace.read_text(&RelPath::new(path).ok()?).ok());
    texts.collect::<Vec<_>>().join("\n")
}

/// The beginning of a document.
struct DocumentHead {
    text: String,
    /// Seconds of the last change.
    modified: i64,
}

fn read_head(workspace: &Workspace, path: &RelPath, most: u64) -> Option<DocumentHead> {
    let file = regular::open_regular(&workspace.absolute_path(path), LinkPolicy::Refuse).ok()?;
    let modified = file.metadata().and_then(|it| it.modified()).ok();
    let since = modified.and_then(|it| it.duration_since(std::time::UNIX_EPOCH).ok());
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(DocumentHead {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        modified: since.map_or(0, |it| it.as_secs() as i64),
    })
}

/// Returns the beginnings of documents that may state what they apply to, in the
/// order in which they become rules.
pub(crate) fn documents_with_patterns(workspace: &Workspace) -> Vec<(RelPath, Document)> {
    let mut files = workspace.markdown_files_in("knowledge");
    files.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    let heads = files.into_iter().take(MAX_SCANNED_DOCUMENTS);
    heads
        .filter_map(|path| {
            let head = read_head(workspace, &path, MAX_HEAD_BYTES)?;
            let document = parse_head(&head)?;
            Some((path, document))
        })
        .collect()
}

fn parse_head(head: &DocumentHead) -> Option<Document> {
    let text = head.text.as_str();
    // Most documents have none, and parsing takes longer than searching.
    if !text.starts_with("---") || !text.contains("applies-to:") {
        return None;
    }
    let text = &text[..text.floor_char_boundary(MAX_HEAD_BYTES as usize)];
    Some(crate::document::parse_document(text))
}

fn read_rule(path: &RelPath, head: &DocumentHead) -> Option<PushKey> {
    let document = parse_head(head)?;
    let front_matter = document.front_matter.as_ref()?;
    let patterns: Vec<String> = front_matter
        .list(APPLIES_TO_KEY)
        .into_iter()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .take(MAX_PATTERNS)
        .map(str::to_owned)
        .collect();
    let (line, rule) = first_statement(&document.text)?;
    (!patterns.is_empty()).then(|| PushKey::Rule {
        path: path.to_string(),
        line,
        text: rule,
        applies_to: patterns,
        modified: head.modified,
    })
}

/// Returns the lines that state a rule about a path or a command in backticks.
fn rules_in_sentences(
    path: &RelPath,
    head: &DocumentHead,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<PushKey> {
    let mut rules = Vec::new();
    let (mut is_code, mut is_list) = (false, false);
    let lines: Vec<&str> = head.text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let start = line.trim_start();
        // A generated list of documents repeats what they say.
        if start.starts_with("<!-- memory-forge:") {
            is_list = start.contains(":begin");
        }
        if start.starts_with("```") || start.starts_with("~~~") {
            is_code = !is_code;
        }
        // A line that is longer than what is shown would lose its end.
        if is_code || is_list || !line.contains('`') || line.chars().count() > MAX_RULE_CHARS {
            continue;
        }
        // A part of a paragraph, a heading or a row is no sentence of its own.
        let before = at.checked_sub(1).and_then(|at| lines.get(at));
        let is_whole = (is_list_item(line) || before.is_none_or(|it| it.trim().is_empty()))
            && lines
                .get(at + 1)
                .is_none_or(|it| it.trim().is_empty() || is_list_item(it));
        if !is_whole || start.starts_with(['#', '|']) {
            continue;
        }
        let names = named_things(line, exists);
        if names.is_empty() {
            continue;
        }
        let Some(text) = statement_at(&head.text, at + 1) else {
            continue;
        };
        rules.push(PushKey::Rule {
            path: path.to_string(),
            line: at + 1,
            text,
            applies_to: names,
            modified: head.modified,
        });
        if rules.len() == MAX_SENTENCES {
            break;
        }
    }
    rules
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['-', '*', '+']) || number.len() < line.len() && number.starts_with(['.', ')'])
}

/// Returns the paths and commands that a sentence states a rule about. A
/// command counts only where it is forbidden or preceded by something: in
/// "always run `x y`", running it is what the rule wants.
fn named_things(line: &str, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    const RULE_WORDS: [&str; 9] = [
        "must", "never", "always", "do not", "don't", "only", "may not", "cannot", "required",
    ];
    const BEFORE_COMMANDS: [&str; 7] = [
        "never",
        "do not",
        "don't",
        "must not",
        "may not",
        "before",
        "instead of",
    ];
    let lower = line.to_lowercase().replace('’', "'");
    if !RULE_WORDS.iter().any(|word| has_words(&lower, word)) {
        return Vec::new();
    }
    let pieces: Vec<&str> = line.split('`').collect();
    let mut names = Vec::new();
    for at in (1..pieces.len().saturating_sub(1))
        .step_by(2)
        .take(MAX_PATTERNS)
    {
        let name = pieces[at].trim();
        if let Some(path) = specific_path(name).filter(|path| exists(path)) {
            names.push(path.to_owned());
            names.push(format!("{path}/**"));
            continue;
        }
        // The words between this name and the one before it.
        let before = pieces[at - 1].to_lowercase().replace('’', "'");
        let near = &before[before.ceil_char_boundary(before.len().saturating_sub(40))..];
        if BEFORE_COMMANDS.iter().any(|word| has_words(near, word)) {
            names.extend(specific_command(name));
        }
    }
    names
}

/// Returns the path if a sentence can only mean this one: it has a folder.
fn specific_path(name: &str) -> Option<&str> {
    let path = name.trim_start_matches("./").trim_end_matches('/');
    let is_plain = !path.contains([' ', '*', '<', '{', '$', ':', '\\']) && !path.starts_with('/');
    (path.contains('/') && is_plain).then_some(path)
}

/// Returns the command if it names what its program does.
fn specific_command(name: &str) -> Option<String> {
    let [command] = &parse_command(name)[..] else {
        return None;
    };
    let (_, subcommand) = command_form(command)?;
    let is_literal = command.words.iter().all(|word| !word.is_expanded);
    (!subcommand.is_empty() && is_literal && !name.contains('<')).then(|| {
        let words = command.words.iter().map(|word| word.text.as_str());
        words.collect::<Vec<_>>().join(" ")
    })
}

/// Returns `true` if a text has these words as words.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let end = at + words.len();
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[end..].chars().next())
    })
}

/// Returns the first line of the body that is no heading, with its number.
fn first_statement(text: &str) -> Option<(usize, String)> {
    let mut lines = text.lines().enumerate().skip(1);
    lines.by_ref().find(|(_, line)| line.trim_end() == "---")?;
    let (at, _) = lines.find(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))?;
    Some((at + 1, statement_at(text, at + 1)?))
}

/// Returns a line of a document as it is shown.
pub(crate) fn statement_at(text: &str, line: usize) -> Option<String> {
    let line = text.lines().nth(line.checked_sub(1)?)?.trim();
    let line = line.trim_start_matches(['-', '*', '>', ' ']);
    Some(line.chars().take(MAX_RULE_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_about_specific_things_have_keys() {
        let exists = |path: &str| matches!(path, "db/migrations" | "src/api/schema.graphql");
        let check = |line: &str, expect: &[&str]| {
            assert_eq!(named_things(line, &exists), expect, "{line}");
        };
        check(
            "- Files in `db/migrations/` are never edited once they are merged.",
            &["db/migrations", "db/migrations/**"],
        );
        check(
            "Never run `npm publish` by hand; CI does it.",
            &["npm publish"],
        );
        check(
            "`make release` must run before `git push --tags`.",
            &["git push --tags"],
        );
        // Running it is what the rule wants.
        check("Always run `cargo fmt`.", &[]);
        // No rule, nothing specific, or nothing that exists.
        check("The schema is in `src/api/schema.graphql`.", &[]);
        check("Never use `git` for this.", &[]);
        check("`README.md` must be short.", &[]);
        check("`src/gone/file.rs` must not change.", &[]);
        check("Never write `npm run <name>`.", &[]);
        check("Never `cat` a `$FILE` only once", &[]);
        check("must `", &[]);
    }

    #[test]
    fn a_rule_is_a_line_of_its_own() {
        let path = RelPath::new("knowledge/a.md").expect("a path");
        let check = |text: &str, expect: &[usize]| {
            let head = DocumentHead {
                text: text.to_owned(),
                modified: 0,
            };
            let rules = rules_in_sentences(&path, &head, &|_| true);
            let lines = rules.iter().map(|rule| match rule {
                PushKey::Rule { line, .. } => *line,
                _ => 0,
            });
            assert_eq!(lines.collect::<Vec<_>>(), expect, "{text}");
        };
        check("`src/a.go` must stay.\n\nNever `npm publish`.\n", &[1, 3]);
        check("- `src/a.go` must stay.\n- Never `npm publish`.\n", &[1, 2]);
        check(
            "1. `src/a.go` must stay.\n2) Never `npm publish`.\n",
            &[1, 2],
        );
        // Half a sentence, a heading, a row, and code.
        check("`src/a.go` must\nstay as it is.\n", &[]);
        check("It is known that\n`src/a.go` must stay.\n", &[]);
        check("# `src/a.go` must stay\n", &[]);
        check("| `src/a.go` | must stay |\n", &[]);
        check("```\n\n`src/a.go` must stay\n\n```\n", &[]);
        // The list of documents that we keep, and what is behind it.
        check(
            "<!-- memory-forge:index:begin -->\n- [A](a.md): `src/a.go` must stay\n\
             <!-- memory-forge:index:end -->\n\nNever `npm publish`.\n",
            &[5],
        );
    }
}
