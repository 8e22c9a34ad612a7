//! Checks the front matter by which documents are brought to an action:
//! whether `applies-to:` can be read, and whether its patterns can fit anything
//! here. It never decides whether a pattern fits an action.

use super::survey::WorkspaceSurvey;
use crate::document::{Document, YamlValue};
use crate::evidence::{APPLIES_TO_KEY, MAX_PATTERNS, documents_with_patterns};
use crate::finding::{CheckFinding, CheckId, CheckSeverity};
use crate::workspace::git::{self, IgnoreStatus};
use crate::workspace::{RelPath, Workspace};
use forge_memory::push::is_path_pattern;

const FORM_ADVICE: &str =
    "Write a list of texts, each in quotes: `applies-to: [\"db/**\", \"npm publish\"]`";

/// A document that states what it applies to.
pub(super) struct StatedPatterns {
    path: RelPath,
    document: Document,
    /// The lines of the entry in the document's text.
    entry: std::ops::Range<usize>,
}

/// Returns the documents that state what they apply to, among those that hooks
/// read.
pub(super) fn find_stated_patterns(workspace: &Workspace) -> Vec<StatedPatterns> {
    let documents = documents_with_patterns(workspace).into_iter();
    documents
        .filter_map(|(path, document)| {
            let spans = document.front_matter.as_ref()?.entry_spans(&document.text);
            let (_, entry) = spans.into_iter().find(|(key, _)| key == APPLIES_TO_KEY)?;
            Some(StatedPatterns {
                path,
                document,
                entry,
            })
        })
        .collect()
}

impl StatedPatterns {
    fn value(&self) -> Option<&YamlValue> {
        self.document.front_matter.as_ref()?.get(APPLIES_TO_KEY)
    }

    fn patterns(&self) -> Vec<&str> {
        let front_matter = self.document.front_matter.as_ref();
        front_matter.map_or_else(Vec::new, |it| it.list(APPLIES_TO_KEY))
    }

    /// Returns the line of a pattern, or of the entry.
    fn line_of(&self, pattern: &str) -> usize {
        let text = &self.document.text[self.entry.clone()];
        let at = text.find(pattern).unwrap_or_default();
        self.document.line_number_at(self.entry.start + at)
    }

    fn finding(
        &self,
        check: CheckId,
        severity: CheckSeverity,
        line: usize,
        message: String,
    ) -> CheckFinding {
        CheckFinding::new(check, severity, message).with_place(self.path.as_str(), Some(line))
    }
}

/// Checks that each `applies-to:` is a text or a list of texts.
pub(super) fn check_applies_to_form(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let stated = survey.stated_patterns().iter();
    stated
        .filter_map(|it| {
            let (line, message) = describe_unread(it).or_else(|| describe_wrong_type(it))?;
            let check = CheckId::PUSH_APPLIES_TO;
            let finding = it.finding(check, CheckSeverity::Warning, line, message);
            Some(finding.with_advice(FORM_ADVICE))
        })
        .collect()
}

/// Describes an entry of broken YAML whose value is lost, with its line.
fn describe_unread(stated: &StatedPatterns) -> Option<(usize, String)> {
    if stated.value().is_some() {
        return None;
    }
    let own = "`applies-to:` cannot be read, so hooks never bring this document";
    let problem = stated.document.problems.first();
    Some(match problem {
        Some(problem) => (problem.line, format!("{own}: {}", problem.message)),
        None => (stated.line_of(""), own.to_owned()),
    })
}

/// Describes a value that is neither a text nor a list of texts, with its line.
fn describe_wrong_type(stated: &StatedPatterns) -> Option<(usize, String)> {
    let name = |value: &YamlValue| match value {
        YamlValue::Null => "has no value",
        YamlValue::Bool(_) => "is `true` or `false`",
        YamlValue::Int(_) | YamlValue::Float(_) => "is a number",
        YamlValue::Text(_) => "is a text",
        YamlValue::List(_) => "is a list in a list",
        YamlValue::Map(_) => "is a mapping",
    };
    let line = stated.line_of("");
    match stated.value()? {
        YamlValue::Text(_) => None,
        YamlValue::List(values) => {
            let (at, other) = values
                .iter()
                .enumerate()
                .find(|(_, it)| !matches!(it, YamlValue::Text(_)))?;
            let what = name(other);
            Some((
                line,
                format!("Entry {} of `applies-to:` {what} and is left out", at + 1),
            ))
        }
        other => {
            let what = name(other);
            Some((
                line,
                format!("`applies-to:` {what}, so hooks never bring this document"),
            ))
        }
    }
}

/// Checks for patterns that can fit nothing: a folder that does not exist, or
/// braces. What git ignores may appear later, and the words of a command are no
/// glob.
pub(super) fn check_applies_to_matches(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    let mut found = Vec::new();
    for stated in survey.stated_patterns() {
        let patterns = stated.patterns().into_iter().take(MAX_PATTERNS);
        for pattern in patterns.map(str::trim).filter(|it| is_path_pattern(it)) {
            let Some((why, advice)) = describe_no_match(survey.workspace, pattern) else {
                continue;
            };
            let message = format!("`{pattern}` in `applies-to:` fits nothing: {why}");
            let line = stated.line_of(pattern);
            let check = CheckId::PUSH_NO_MATCH;
            let finding = stated.finding(check, CheckSeverity::Info, line, message);
            found.push(finding.with_subject(pattern).with_advice(advice));
        }
    }
    found
}

/// Returns why a pattern fits nothing, with advice.
fn describe_no_match(workspace: &Workspace, pattern: &str) -> Option<(String, &'static str)> {
    let has_braces = pattern
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .is_some_and(|(inside, _)| inside.contains(','));
    if has_braces {
        let advice = "Write one pattern for each; the wildcards are `*`, `?` and `**`";
        return Some(("braces are no wildcards here".to_owned(), advice));
    }
    let folder = literal_folder(pattern);
    let path = RelPath::new(&folder).ok()?;
    let root = workspace.root();
    let is_there = || workspace.absolute_path(&path).symlink_metadata().is_ok();
    // A checkout may leave out folders that git knows.
    let is_missing = !folder.is_empty()
        && !is_there()
        && !matches!(
            git::ignore_status(root, &format!("{folder}/")),
            IgnoreStatus::By(_)
        )
        && git::count_tracked_below(root, &folder).unwrap_or(0) == 0;
    let advice = "Correct the path, or remove the pattern";
    is_missing.then(|| (format!("there is no folder `{folder}`"), advice))
}

/// Returns the folders of a pattern before its first wildcard.
fn literal_folder(pattern: &str) -> String {
    let path = pattern.trim_start_matches("./").trim_start_matches('/');
    let names: Vec<&str> = path.split('/').collect();
    // The last name is a file, or empty behind a slash.
    let folders = &names[..names.len() - 1];
    let literal = folders.iter().take_while(|it| !it.contains(['*', '?']));
    literal.copied().collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::super::{check_workspace, select_checks};
    use super::*;

    /// Returns the findings about one document, as `id line: message`.
    fn findings(front_matter: &str) -> Vec<String> {
        let ws = TestWorkspace::files(
            "
            //- src/api/a.rs
            //- .gitignore
            dist/
            ",
        );
        ws.write(
            "knowledge/a.md",
            format!("---\n{front_matter}\n---\n# A\n\nA rule.\n"),
        );
        ws.git_init();
        let workspace = Workspace::open(ws.root()).expect("a folder");
        let now = "2026-03-01T09:00:00Z".parse().expect("a time");
        let survey = WorkspaceSurvey::from_workspace(&workspace, now);
        let only = ["push.applies-to", "push.no-match"].map(str::to_owned);
        let report = check_workspace(&survey, &select_checks(&only).expect("ids"));
        let line = |it: &CheckFinding| it.line().unwrap_or_default();
        let found = report.findings();
        found
            .map(|it| format!("{} {}: {}", it.check, line(it), it.message))
            .collect()
    }

    #[test]
    fn patterns_that_hooks_cannot_read_are_reported_with_their_line() {
        let check = |front_matter: &str, expect: &str| {
            let found = findings(front_matter);
            assert!(
                found.len() == 1 && found[0].starts_with(expect),
                "{front_matter}: {found:?}"
            );
        };
        check(
            "applies-to: [*.rs]",
            "push.applies-to 2: `applies-to:` cannot be read, so hooks never bring this document: \
             Front matter is not valid YAML",
        );
        check("title: A\napplies-to:\n  - \"src/**\n", "push.applies-to ");
        check(
            "applies-to: 7",
            "push.applies-to 2: `applies-to:` is a number, so hooks never bring this document",
        );
        check(
            "title: A\napplies-to:\n  path: src/**",
            "push.applies-to 3: `applies-to:` is a mapping",
        );
        check(
            "applies-to:",
            "push.applies-to 2: `applies-to:` has no value",
        );
        check(
            "applies-to: [\"src/**\", 7]",
            "push.applies-to 2: Entry 2 of `applies-to:` is a number and is left out",
        );
    }

    #[test]
    fn a_pattern_that_can_fit_nothing_is_reported() {
        let check = |pattern: &str, expect: Option<&str>| {
            let found = findings(&format!("applies-to:\n  - \"{pattern}\""));
            let expect: Vec<String> = expect
                .map(|why| {
                    format!("push.no-match 3: `{pattern}` in `applies-to:` fits nothing: {why}")
                })
                .into_iter()
                .collect();
            assert_eq!(found, expect, "{pattern}");
        };
        check("db/gone/**", Some("there is no folder `db/gone`"));
        check("src/gone/a.rs", Some("there is no folder `src/gone`"));
        check("./src/gone/", Some("there is no folder `src/gone`"));
        check("src/**/*.{ts,tsx}", Some("braces are no wildcards here"));
        // The folder is there, and a file in it may come.
        check("src/api/**", None);
        check("src/*.proto", None);
        check("src/api/new.rs", None);
        // Names fit in any folder, and a checkout need not have the file.
        check("*.sql", None);
        check(".env", None);
        check("**/gone/**", None);
        // Git ignores it, so it appears when something is built.
        check("dist/assets/**", None);
        // Words of commands.
        check("npm publish", None);
        check("git push origin/main", None);
        check("make", None);
        // A path outside of the project is no mistake that can be seen here.
        check("../other/**", None);
    }
}
