//! Several files written as one string. It only splits text and never touches
//! the disk.

/// One file of a fixture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixtureFile {
    pub path: String,
    pub text: String,
}

/// Splits a fixture at its `//- path` lines:
///
/// ```
/// let files = testkit::fixture::parse("
///     //- knowledge/a.md
///     - A
///       indented
///     //- CLAUDE.md
///     short
/// ");
/// assert_eq!(files[0].text, "- A\n  indented\n");
/// assert_eq!(files[1].path, "CLAUDE.md");
/// ```
///
/// The indentation of the first marker is taken off every line, so a fixture
/// can stand indented inside a test. Text is otherwise kept as it is, and each
/// file ends with a line feed. For other line ends, broken encodings and the
/// like, write bytes with [`crate::TestWorkspace::write`].
///
/// # Panics
/// When text stands before the first marker, or a path is empty, absolute or
/// given twice.
#[track_caller]
pub fn parse(fixture: &str) -> Vec<FixtureFile> {
    let indent = fixture
        .lines()
        .find(|line| line.trim_start().starts_with("//-"))
        .map_or("", |line| &line[..line.len() - line.trim_start().len()]);
    let mut files: Vec<FixtureFile> = Vec::new();
    // The closing quote's own indentation is not a line of the last file.
    let body = match fixture.rfind('\n') {
        Some(end) if fixture[end..].trim().is_empty() => &fixture[..end + 1],
        _ => fixture,
    };
    for line in body.split_inclusive('\n') {
        let line = line
            .strip_prefix(indent)
            .unwrap_or(line.trim_start_matches([' ', '\t']));
        if let Some(path) = line.strip_prefix("//-") {
            let path = path.trim();
            assert!(
                !path.is_empty() && !path.starts_with('/'),
                "fixture path `{path}`"
            );
            assert!(
                files.iter().all(|file| file.path != path),
                "`{path}` is there twice"
            );
            files.push(FixtureFile {
                path: path.to_owned(),
                text: String::new(),
            });
        } else if let Some(file) = files.last_mut() {
            file.text.push_str(line);
        } else {
            assert!(
                line.trim().is_empty(),
                "text before the first `//- path`: {line:?}"
            );
        }
    }
    for file in &mut files {
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            file.text.push('\n');
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fixture: &str, expect: &[(&str, &str)]) {
        let files = parse(fixture);
        let files: Vec<_> = files
            .iter()
            .map(|f| (f.path.as_str(), f.text.as_str()))
            .collect();
        assert_eq!(files, expect);
    }

    #[test]
    fn splits_at_markers() {
        check(
            "//- a.md\none\n//- b/c.md\ntwo\n\nthree\n",
            &[("a.md", "one\n"), ("b/c.md", "two\n\nthree\n")],
        );
    }

    #[test]
    fn takes_the_indentation_off() {
        check(
            "\n    //- a.md\n    - x\n      - y\n\n    z\n    ",
            &[("a.md", "- x\n  - y\n\nz\n")],
        );
    }

    #[test]
    fn empty_fixtures_and_empty_files_are_fine() {
        check("", &[]);
        check("//- a.md", &[("a.md", "")]);
        check("//- a.md\n//- b.md\nx", &[("a.md", ""), ("b.md", "x\n")]);
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn refuses_a_path_given_twice() {
        parse("//- a.md\n//- a.md\n");
    }
}
