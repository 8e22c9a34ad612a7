//! Finds the one path that fits where a path does not exist. It compares names
//! from the end; where two paths fit equally well, none does.

/// Names that many folders have: alone they say nothing.
const COMMON_NAMES: [&str; 37] = [
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
    "assets",
    "bin",
    "cmd",
    "common",
    "config",
    "doc",
    "docs",
    "examples",
    "internal",
    "lib",
    "models",
    "pkg",
    "public",
    "scripts",
    "src",
    "static",
    "templates",
    "test",
    "tests",
    "types",
    "util",
    "utils",
];

/// Returns `true` for a name that many folders have.
pub(super) fn is_common(name: &str) -> bool {
    COMMON_NAMES.contains(&name)
}

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
    let (score, path) = *scored.last()?;
    // Outside of the project, a name alone says nothing, nor do the hidden
    // folders that each home has.
    if is_absolute(missing) && !is_absolute(path) && (score < 2 || path.starts_with('.')) {
        return None;
    }
    let path = match (&scored[..], score) {
        // Only the name agrees: the folders above have to be other words for
        // the same place.
        ([_], 1) => (!is_common(name) && is_same_place(missing, path)).then_some(path)?,
        // Two of a name: the folders above have to decide.
        (_, 1) => {
            let mut near = scored.iter().filter(|it| is_one_folder_off(missing, it.1));
            let (_, path) = near.next()?;
            (!is_common(name) && near.next().is_none()).then_some(*path)?
        }
        ([.., (next, _), _], _) if *next == score => return None,
        _ => path,
    };
    // A path in which the missing one begins again is its own folder.
    (!path.starts_with(&format!("{missing}/"))).then_some(path)
}

fn folders_of(path: &str) -> Vec<&str> {
    let path = path.trim_end_matches('/');
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').filter(|it| !it.is_empty()).collect()
}

/// Returns `true` if the folders of one path are those of the other with some
/// left out, or the same ones in another spelling.
fn is_same_place(missing: &str, path: &str) -> bool {
    let (a, b) = (folders_of(missing), folders_of(path));
    let is_within = |few: &[&str], many: &[&str]| {
        let mut many = many.iter();
        few.iter().all(|name| many.any(|it| it == name))
    };
    let is_spelled = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| fold(a) == fold(b));
    is_spelled || is_within(&a, &b) || is_within(&b, &a)
}

/// Returns `true` if one path has one folder more than the other at its end,
/// and they share at least two.
fn is_one_folder_off(missing: &str, path: &str) -> bool {
    let (a, b) = (folders_of(missing), folders_of(path));
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    few.len() >= 2 && many.len() == few.len() + 1 && many.starts_with(&few)
}

/// Returns a name without what people spell differently: case, separators and
/// the plural. What separates digits stays: `1.1` is not `11`.
fn fold(name: &str) -> String {
    let mut folded = String::new();
    let mut before: Option<char> = None;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let is_digit = |it: Option<char>| it.is_some_and(|it| it.is_ascii_digit());
        let is_between = is_digit(before) && is_digit(chars.peek().copied());
        if is_between || !matches!(c, '-' | '_' | '.' | ' ') {
            folded.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    match folded.strip_suffix('s') {
        Some(one) if one.len() >= 3 => one.to_owned(),
        _ => folded,
    }
}

/// Returns the only folder beside a missing one that is the same in another
/// spelling, or has in addition what another folder there has too: `droid` is
/// `droid-service` where there is a `user-service`.
pub(super) fn fit_folder<'s>(name: &str, siblings: &'s [String]) -> Option<&'s str> {
    fn only<'s>(mut found: impl Iterator<Item = &'s String>) -> Option<&'s str> {
        let first = found.next()?;
        found.next().is_none().then_some(first.as_str())
    }
    const MIN_NAME_CHARS: usize = 3;
    if name.chars().count() < MIN_NAME_CHARS || siblings.iter().any(|it| it == name) {
        return None;
    }
    let is_spelled = |it: &&String| fold(it) == fold(name);
    if siblings.iter().any(|it| is_spelled(&it)) {
        return only(siblings.iter().filter(is_spelled));
    }
    let is_shared = |added: &str, is_end: bool, whole: &str| {
        let mut others = siblings.iter().filter(|it| *it != whole);
        // A number is no ending that says what a folder is.
        added.chars().filter(|c| c.is_alphabetic()).count() >= 2
            && others.any(|it| {
                it.len() > added.len()
                    && if is_end {
                        it.ends_with(added)
                    } else {
                        it.starts_with(added)
                    }
            })
    };
    only(siblings.iter().filter(|it| {
        let (end, start) = (it.strip_prefix(name), it.strip_suffix(name));
        end.is_some_and(|added| is_shared(added, true, it))
            || start.is_some_and(|added| is_shared(added, false, it))
    }))
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

/// Returns the only file beside a missing one that is the same in another
/// spelling, or with another ending of the same kind of file.
pub(super) fn fit_file<'s>(name: &str, siblings: &'s [String]) -> Option<&'s str> {
    let folded = fold_file(name);
    let mut same = siblings.iter().filter(|it| fold_file(it) == folded);
    let first = same.next()?;
    (same.next().is_none() && first != name).then_some(first.as_str())
}

fn fold_file(name: &str) -> (String, String) {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let ending = ending.to_ascii_lowercase();
    let kind = match ending.as_str() {
        "yml" => "yaml",
        "ts" | "jsx" | "tsx" | "mjs" | "cjs" => "js",
        "htm" => "html",
        "mdx" | "markdown" => "md",
        "jpeg" => "jpg",
        other => other,
    };
    (fold(stem), kind.to_owned())
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
        // One of two is one folder above or below.
        check(
            "pkg/spi/factory/provider.go",
            &["pkg/spi/provider.go", "pkg/providers/a/provider.go"],
            Some("pkg/spi/provider.go"),
        );
        check("src/api/util.py", &["src/util.py", "tests/util.py"], None);
        check("a/b/x/c.go", &["a/b/c.go", "a/b/x/y/c.go"], None);
        // The only one of its name is somewhere else.
        check("pkg/cloud/session.go", &["web/login/session.go"], None);
        check("pkg/log.go", &["web/log.go"], None);
        check(
            "pkg/session_store/log.go",
            &["pkg/session-stores/log.go"],
            Some("pkg/session-stores/log.go"),
        );
        check("lib/tests", &["web/lib/app/tests"], None);
        check("a.go", &["a.go"], None);
        check("a.go", &[], None);
    }

    #[test]
    fn a_folder_has_another_spelling_or_the_ending_of_its_siblings() {
        let check = |name: &str, siblings: &[&str], expect: Option<&str>| {
            let siblings: Vec<String> = siblings.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(fit_folder(name, &siblings), expect, "{name} {siblings:?}");
        };
        check("test", &["tests", "testdata"], Some("tests"));
        check("my-app", &["my_app", "web"], Some("my_app"));
        check(
            "order",
            &["order-service", "user-service"],
            Some("order-service"),
        );
        check("store", &["forge-store", "forge-text"], Some("forge-store"));
        // Nothing else there has such an ending.
        check("test", &["testdata", "src"], None);
        check("form", &["formatter", "parser"], None);
        check(
            "order",
            &["order-api", "order-web", "user-api", "user-web"],
            None,
        );
        check("ab", &["ab-x", "c-x"], None);
        check("web", &["web", "web-x", "c-x"], None);
        check("run", &["run-1", "try-1"], None);
    }

    #[test]
    fn a_file_has_another_spelling() {
        let check = |name: &str, siblings: &[&str], expect: Option<&str>| {
            let siblings: Vec<String> = siblings.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(fit_file(name, &siblings), expect, "{name} {siblings:?}");
        };
        check(
            "api_keys.md",
            &["API-KEYS.md", "README.md"],
            Some("API-KEYS.md"),
        );
        check("compose.yml", &["compose.yaml"], Some("compose.yaml"));
        check("app.js", &["app.ts", "app.css"], Some("app.ts"));
        check("util.py", &["utils.py"], Some("utils.py"));
        check("app.js", &["app.ts", "App.tsx"], None);
        check("a.h", &["a.c"], None);
        check("log.go", &["logger.go"], None);
        check("release-1.1.md", &["release-11.md", "release-1.0.md"], None);
        check(
            "release-1.1.md",
            &["release_1.1.md"],
            Some("release_1.1.md"),
        );
        check("a.go", &["a.go"], None);
    }
}
