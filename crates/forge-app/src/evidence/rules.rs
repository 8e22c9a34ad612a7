//! Finds documents whose front matter states what they apply to:
//! `applies-to:` with globs of paths, or the first words of commands. Where the
//! settings allow it, also sentences of rules that name a path or a command in
//! backticks. Documents that a client loads itself have no keys.

use std::cell::OnceCell;
use std::io::Read;

use crate::document::Document;
use crate::workspace::{PushMode, RelPath, Workspace};
use forge_memory::evidence::parse_command;
use forge_memory::push::{MAX_RULE_CHARS, PushKey, command_form};
use forge_store::regular::{self, LinkPolicy};
use forge_store::workspace::git;

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
    let tracked = OnceCell::new();
    let places = NamedPlaces {
        exists: &|path| {
            let path = RelPath::new(path).ok();
            path.is_some_and(|path| workspace.absolute_path(&path).exists())
        },
        is_only_file: &|name| {
            workspace.root().join(name).is_file()
                && is_only_tracked(
                    tracked.get_or_init(|| {
                        git::list_tracked_ending(workspace.root(), "").unwrap_or_default()
                    }),
                    name,
                )
        },
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
            named.extend(rules_in_sentences(path, &head, &places));
        }
    }
    rules.extend(named);
    rules.truncate(MAX_RULES);
    rules
}

/// The files that a sentence may name.
struct NamedPlaces<'a> {
    /// Whether something is at this path.
    exists: &'a dyn Fn(&str) -> bool,
    /// Whether a file in the root has this name, and no other file has it.
    is_only_file: &'a dyn Fn(&str) -> bool,
}

/// Returns `true` if the only tracked file of this name is in the root.
fn is_only_tracked(tracked: &[String], name: &str) -> bool {
    let mut same = tracked
        .iter()
        .filter(|path| path.rsplit('/').next() == Some(name));
    same.next().is_some_and(|path| path == name) && same.next().is_none()
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
    places: &NamedPlaces<'_>,
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
        if is_code || is_list || !line.contains('`') {
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
        let Some((text, names)) = rule_of_line(line, places) else {
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

/// Returns the rule that a line states, with what it is about. Of a line that is
/// too long to be shown, the one sentence that is directly about something is
/// the rule, unless another one may restrict it.
fn rule_of_line(line: &str, places: &NamedPlaces<'_>) -> Option<(String, Vec<String>)> {
    let line = clean_statement(line);
    if line.chars().count() <= MAX_RULE_CHARS {
        let names = named_things(line, places, NamingForm::Any);
        return (!names.is_empty()).then(|| (line.to_owned(), names));
    }
    let sentences = split_sentences(line);
    let mut rules = sentences
        .iter()
        .map(|it| (*it, named_things(it, places, NamingForm::Direct)))
        .filter(|(_, names)| !names.is_empty());
    let (rule, names) = rules.next().filter(|_| rules.next().is_none())?;
    let restricts = |it: &&str| {
        const RESTRICTIONS: [&str; 10] = [
            "except",
            "exception",
            "exceptions",
            "unless",
            "however",
            "but",
            "otherwise",
            "only if",
            "instead",
            "may",
        ];
        let lower = it.to_lowercase();
        RESTRICTIONS.iter().any(|word| has_words(&lower, word))
    };
    let mut others = sentences.iter().filter(|it| **it != rule);
    let is_whole = rule.ends_with(['.', '!']) && rule.chars().count() <= MAX_RULE_CHARS;
    (is_whole && !others.any(restricts)).then(|| (rule.to_owned(), names))
}

/// Splits a line behind full stops that a capital letter, a quote or a name in
/// backticks follows. Nothing in backticks ends a sentence.
fn split_sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let (mut start, mut is_code) = (0, false);
    for (at, c) in line.char_indices() {
        is_code ^= c == '`';
        let rest = &line[at + c.len_utf8()..];
        let begins = rest
            .strip_prefix(' ')
            .and_then(|it| it.chars().next())
            .is_some_and(|next| next.is_uppercase() || matches!(next, '`' | '"' | '*'));
        if !is_code && matches!(c, '.' | '!' | '?') && begins {
            sentences.push(line[start..=at].trim());
            start = at + 1;
        }
    }
    sentences.push(line[start..].trim());
    sentences
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['-', '*', '+']) || number.len() < line.len() && number.starts_with(['.', ')'])
}

/// Returns the paths and commands that a sentence states a rule about. A
/// command counts only where it is forbidden or preceded by something: in
/// "always run `x y`", running it is what the rule wants.
fn named_things(line: &str, places: &NamedPlaces<'_>, form: NamingForm) -> Vec<String> {
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
        let is_direct = is_directly_about(&pieces[..at], pieces[at + 1]);
        if form == NamingForm::Direct && !is_direct {
            continue;
        }
        if let Some(path) = specific_path(name).filter(|path| (places.exists)(path)) {
            names.push(path.to_owned());
            names.push(format!("{path}/**"));
            continue;
        }
        if is_direct && is_file_name(name) && (places.is_only_file)(name) {
            // The slash keeps it to the root.
            names.push(format!("/{name}"));
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

/// How a sentence has to name what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamingForm {
    /// Anywhere in a sentence with a word of a rule.
    Any,
    /// As [`is_directly_about`].
    Direct,
}

/// Returns `true` if the name behind `before` is what a rule is about, and not
/// mentioned in passing: it begins the sentence and a word such as *must*
/// follows, or it is what must never be edited or run.
fn is_directly_about(before: &[&str], after: &str) -> bool {
    const MODALS: [&str; 9] = [
        "must",
        "may not",
        "cannot",
        "is never",
        "are never",
        "is only",
        "are only",
        "should never",
        "is generated",
    ];
    const FORBIDDEN: [&str; 18] = [
        "edit",
        "change",
        "modify",
        "touch",
        "delete",
        "remove",
        "rename",
        "move",
        "commit",
        "overwrite",
        "format",
        "run",
        "use",
        "call",
        "execute",
        "invoke",
        "start",
        "launch",
    ];
    const NEGATIONS: [&str; 5] = ["never", "do not", "don't", "must not", "may not"];
    const MAX_FIRST_WORDS: usize = 4;
    let text = before.join("`").to_lowercase().replace(['*', '_'], "");
    let text = text.replace('’', "'");
    let after = after.trim_start().to_lowercase();
    let is_first = before.len() == 1
        && text.split_whitespace().count() <= MAX_FIRST_WORDS
        && !text.contains(['.', ',', ';', ':', '(', '"']);
    let has_modal = MODALS
        .iter()
        .any(|word| after.starts_with(word) && has_words(&after, word));
    let text = text.trim_end();
    let text = text.strip_suffix(" the").unwrap_or(text);
    let verb = FORBIDDEN.iter().find_map(|verb| {
        let rest = text.strip_suffix(verb)?;
        rest.ends_with(' ').then(|| rest.trim_end())
    });
    let is_forbidden = NEGATIONS.iter().any(|it| {
        verb.unwrap_or(text)
            .strip_suffix(it)
            .is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    });
    is_first && has_modal || is_forbidden
}

/// Returns the path if a sentence can only mean this one: it has a folder.
fn specific_path(name: &str) -> Option<&str> {
    let path = name.trim_start_matches("./").trim_end_matches('/');
    let is_plain = !path.contains([' ', '*', '<', '{', '$', ':', '\\']) && !path.starts_with('/');
    (path.contains('/') && is_plain).then_some(path)
}

/// Returns `true` for a name without a folder that is not the word of a command.
fn is_file_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let has_form = name.contains('.') || name.starts_with(|c: char| c.is_ascii_uppercase());
    has_form && name.chars().all(is_plain)
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
    let statement = statement_at(text, at + 1)?.chars();
    Some((at + 1, statement.take(MAX_RULE_CHARS).collect()))
}

/// Returns a line of a document as it is shown.
pub(crate) fn statement_at(text: &str, line: usize) -> Option<&str> {
    let line = text.lines().nth(line.checked_sub(1)?)?;
    Some(clean_statement(line))
}

fn clean_statement(line: &str) -> &str {
    line.trim().trim_start_matches(['-', '*', '>', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_about_specific_things_have_keys() {
        let places = NamedPlaces {
            exists: &|path| matches!(path, "db/migrations" | "src/api/schema.graphql"),
            is_only_file: &|name| matches!(name, "Cargo.toml" | "Makefile" | "publish"),
        };
        let check = |line: &str, expect: &[&str]| {
            assert_eq!(
                named_things(line, &places, NamingForm::Any),
                expect,
                "{line}"
            );
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
        // The only file of its name is in the root.
        check(
            "`Cargo.toml` must list crates in their order.",
            &["/Cargo.toml"],
        );
        check("Never edit `Makefile`.", &["/Makefile"]);
        check("You must not change the `Makefile`.", &["/Makefile"]);
        check("Never edit `a.toml`.", &[]);
        // Mentioned in passing.
        check("Tasks must be defined in `Cargo.toml`.", &[]);
        check("Create only the minimal `Cargo.toml` file.", &[]);
        check("Never forget `Makefile`.", &[]);
        check("Required: `Cargo.toml` must be there.", &[]);
        check("Never run `publish`.", &[]);
    }

    #[test]
    fn a_long_line_has_the_rule_of_its_one_sentence() {
        let places = NamedPlaces {
            exists: &|path| path == "db/migrations",
            is_only_file: &|name| name == "Cargo.toml",
        };
        let long = "Every change of the schema is planned with the people who run the \
                    reports, since they read the tables at night and nobody else knows \
                    which columns they need. ";
        let rule = "Files in `db/migrations` must never be edited.";
        let check = |line: String, expect: Option<&str>| {
            let found = rule_of_line(&line, &places).map(|(text, _)| text);
            assert_eq!(found.as_deref(), expect, "{line}");
        };
        check(format!("- {long}{rule} Ask for `v1.2`."), Some(rule));
        // A short line is the rule as it is.
        check(format!("- {rule} Ask."), Some(&format!("{rule} Ask.")));
        // Another sentence may restrict it, or states a second rule.
        check(format!("{long}{rule} Except on Fridays."), None);
        check(format!("{long}{rule} But ask."), None);
        check(
            format!("{long}{rule} Never change `Cargo.toml` with it."),
            None,
        );
        // Mentioned in passing.
        check(
            format!("{long}Run `db/migrations` after each change, which must work. Ask."),
            None,
        );
        // The sentence does not end, or is too long itself.
        check(format!("{long}{}", rule.trim_end_matches('.')), None);
        check(
            format!("{}, and {rule}", long.trim_end_matches(['.', ' '])),
            None,
        );
        // A name with a full stop ends nothing.
        assert_eq!(
            split_sentences("See `a. B`, e.g. here. `C` is. Done"),
            ["See `a. B`, e.g. here.", "`C` is.", "Done"]
        );
    }

    #[test]
    fn a_file_in_the_root_is_meant_where_no_other_has_its_name() {
        let check = |tracked: &[&str], expect| {
            let tracked: Vec<String> = tracked.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(is_only_tracked(&tracked, "Cargo.toml"), expect);
        };
        check(&["Cargo.toml", "src/a.rs"], true);
        check(&["Cargo.toml", "xtask/Cargo.toml"], false);
        check(&["xtask/Cargo.toml"], false);
        check(&[], false);
    }

    #[test]
    fn a_rule_is_a_line_of_its_own() {
        let path = RelPath::new("knowledge/a.md").expect("a path");
        let places = NamedPlaces {
            exists: &|_| true,
            is_only_file: &|_| false,
        };
        let check = |text: &str, expect: &[usize]| {
            let head = DocumentHead {
                text: text.to_owned(),
                modified: 0,
            };
            let rules = rules_in_sentences(&path, &head, &places);
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
