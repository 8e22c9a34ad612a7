//! Finds the one path that fits where a path does not exist. It compares names
//! from the end; where two paths fit equally well, none does.

/// Names that many folders have: alone they say nothing.
const COMMON_NAMES: [&str; 15] = [
    "README.md",
    "LICENSE",
    "Makefile",
    "Cargo.toml",
    "package.json",
    "go.mod",
    "mod.rs",
    "lib.rs",
    "main.rs",
    "__init__.py",
    "index.js",
    "index.ts",
    "index.md",
    "CLAUDE.md",
    "AGENTS.md",
];

/// Returns the only path that fits. `candidates` end with the same name and
/// exist.
pub(super) fn fit_path<'c>(missing: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let name = missing.rsplit('/').next().unwrap_or(missing);
    let mut scored: Vec<(usize, &str)> = candidates
        .iter()
        .filter(|path| **path != missing)
        .map(|path| (count_common_end(missing, path), *path))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_unstable();
    scored.dedup();
    let (score, path) = scored.pop()?;
    // Outside of the project, a name alone says nothing, nor do the hidden
    // folders that each home has.
    if is_absolute(missing) && !is_absolute(path) && (score < 2 || path.starts_with('.')) {
        return None;
    }
    let is_ambiguous = match scored.last() {
        None => score == 1 && COMMON_NAMES.contains(&name),
        // Two of a name: the folders above have to decide.
        Some((next, _)) => score < 2 || *next == score,
    };
    // A path in which the missing one begins again is its own folder.
    (!is_ambiguous && !path.starts_with(&format!("{missing}/"))).then_some(path)
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.get(1..3) == Some(":/")
}

/// Counts the names at the end that are equal.
fn count_common_end(a: &str, b: &str) -> usize {
    let (a, b) = (
        a.trim_end_matches('/').rsplit('/'),
        b.trim_end_matches('/').rsplit('/'),
    );
    a.zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_fits_or_none() {
        let check = |missing: &str, candidates: &[&str], expect: Option<&str>| {
            assert_eq!(fit_path(missing, candidates), expect, "{missing}");
        };
        check(
            "pkg/registry.go",
            &["pkg/spi/factory/registry.go"],
            Some("pkg/spi/factory/registry.go"),
        );
        check(
            "cli/cli/pkg/a.go",
            &["cli/pkg/a.go", "old/a.go"],
            Some("cli/pkg/a.go"),
        );
        check("a.go", &["x/a.go", "y/a.go"], None);
        check("z/a.go", &["x/a.go", "y/a.go"], None);
        check("x/z/a.go", &["x/a.go", "y/a.go"], None);
        check("docs/README.md", &["README.md"], None);
        check(
            "docs/cli/README.md",
            &["cli/README.md"],
            Some("cli/README.md"),
        );
        check("/tmp/out.json", &["tests/out.json"], None);
        check("C:/tmp/out.json", &["tests/out.json"], None);
        check(
            "/home/someone/.editor/settings.json",
            &[".editor/settings.json"],
            None,
        );
        check("/old/src/a.go", &["src/a.go"], Some("src/a.go"));
        check("/old/a.go", &["/old/src/a.go"], Some("/old/src/a.go"));
        check("a.go", &["a.go"], None);
        check("a.go", &[], None);
    }
}
