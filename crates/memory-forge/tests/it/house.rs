//! The layers of ARCHITECTURE.md, as far as the compiler does not hold them:
//! which crate may use which, in which order modules are read, and counts that
//! may only fall.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tidy::{Source, assert_none, root, rust_files, shipped_lines};

pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// Crates of this repository that it may depend on.
    uses: &'static [&'static str],
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Gets time, environment and terminal as arguments.
    Library,
    /// Talks to people, agents or servers.
    Door,
    /// Tests and tools.
    Tool,
}

const EVERYTHING_BELOW: &[&str] = &[
    "forge-app",
    "forge-clients",
    "forge-embed",
    "forge-memory",
    "forge-store",
    "forge-text",
    "forge-tokens",
];

pub(crate) const LAYERS: [Layer; 14] = [
    layer("forge-embed", &[], Kind::Library),
    layer("forge-text", &[], Kind::Library),
    layer("forge-tokens", &["forge-text"], Kind::Library),
    layer("forge-store", &["forge-text", "forge-embed"], Kind::Library),
    layer(
        "forge-memory",
        &["forge-text", "forge-embed", "forge-store"],
        Kind::Library,
    ),
    layer(
        "forge-clients",
        &["forge-text", "forge-tokens", "forge-store", "forge-memory"],
        Kind::Library,
    ),
    layer(
        "forge-app",
        &[
            "forge-text",
            "forge-embed",
            "forge-tokens",
            "forge-store",
            "forge-memory",
            "forge-clients",
        ],
        Kind::Library,
    ),
    layer(
        "memory-forge-engines",
        &["forge-text", "forge-embed", "forge-store", "forge-memory"],
        Kind::Door,
    ),
    layer("forge-serve", &[], Kind::Door),
    layer(
        "memory-forge",
        &["forge-app", "forge-clients", "forge-serve"],
        Kind::Door,
    ),
    layer("testkit", &[], Kind::Tool),
    layer("packing", &[], Kind::Tool),
    layer("soak", &["forge-app", "testkit"], Kind::Tool),
    layer("fuzzing", EVERYTHING_BELOW, Kind::Tool),
];

const fn layer(name: &'static str, uses: &'static [&'static str], kind: Kind) -> Layer {
    Layer { name, uses, kind }
}

#[test]
fn a_crate_uses_the_crates_below_it_and_none_above() {
    let listed: BTreeSet<&str> = LAYERS.iter().map(|it| it.name).collect();
    let folders = std::fs::read_dir(root().join("crates")).expect("crates can be listed");
    let mut broken = Vec::new();
    for folder in folders {
        let name = folder.expect("an entry").file_name();
        let name = name.to_string_lossy().into_owned();
        let Some(layer) = LAYERS.iter().find(|it| it.name == name) else {
            broken.push(format!("crates/{name} is not in `LAYERS`"));
            continue;
        };
        for used in normal_dependencies(&name) {
            if listed.contains(used.as_str()) && !layer.uses.contains(&used.as_str()) {
                broken.push(format!("crates/{name}/Cargo.toml: `{used}`"));
            }
        }
    }
    assert_none(&broken, "dependencies point down; see ARCHITECTURE.md");
}

/// Names under `[dependencies]` and its kin, without those of tests.
fn normal_dependencies(name: &str) -> Vec<String> {
    let path = root().join("crates").join(name).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            is_inside = line.ends_with("dependencies]") && !line.contains("dev-");
        } else if is_inside && let Some((name, _)) = line.split_once(['.', ' ', '=']) {
            found.push(name.to_owned());
        }
    }
    found
}

/// `lib.rs` lists modules in reading order, and each uses those above it.
#[test]
fn modules_use_only_those_above_them() {
    let mut broken = Vec::new();
    for layer in LAYERS.iter().filter(|it| it.kind == Kind::Library) {
        let folder = format!("crates/{}/src", layer.name);
        let sources = rust_files(&folder);
        let lib = sources.iter().find(|it| it.path.ends_with("src/lib.rs"));
        let lib = lib.expect("a library has a lib.rs");
        let order: Vec<&str> = shipped_lines(&lib.text)
            .filter_map(|(_, line)| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'))
            .collect();
        for source in &sources {
            let inside = source.path.strip_prefix(&folder).unwrap_or_default();
            let module = inside.trim_start_matches('/').split(['/', '.']).next();
            let Some(at) = order.iter().position(|it| Some(*it) == module) else {
                continue;
            };
            if is_test(source) {
                continue;
            }
            for (number, line) in shipped_lines(&source.text) {
                let code = line.split("//").next().unwrap_or(line);
                for (start, _) in code.match_indices("crate::") {
                    let rest = &code[start + "crate::".len()..];
                    let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
                    let used = &rest[..end.unwrap_or(rest.len())];
                    if order.iter().position(|it| *it == used) > Some(at) {
                        let path = &source.path;
                        broken.push(format!("{path}:{number}: `{used}` comes later"));
                    }
                }
            }
        }
    }
    assert_none(&broken, "the order of lib.rs is the order of reading");
}

/// Found cases are replayed by the path of their source: a module that moves
/// without its file would lose them silently.
#[test]
fn regression_files_lie_beside_their_sources() {
    let mut broken = Vec::new();
    for layer in &LAYERS {
        let folder = root().join("crates").join(layer.name);
        let mut open = vec![folder.join("proptest-regressions")];
        while let Some(here) = open.pop() {
            for entry in std::fs::read_dir(&here).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let below = path.strip_prefix(folder.join("proptest-regressions"));
                let below = below.expect("it was found below").with_extension("rs");
                if !folder.join("src").join(&below).is_file() {
                    broken.push(path.display().to_string());
                }
            }
        }
    }
    assert_none(&broken, "no source of this path replays these cases");
}

/// Two layouts are two spellings of one model, and one file has the spellings.
/// The store knows the names as well: they decide what may be written.
#[test]
fn paths_of_the_state_are_spelled_in_one_file() {
    const NAMES: [&str; 10] = [
        "\".mind/STATE.md\"",
        "\".mind/PROGRESS.md\"",
        "\".mind/DECISIONS.md\"",
        "\".mind/SESSION-LOG.md\"",
        "\".mind/ARCHIVE.md\"",
        "\".mind/IDEAS.md\"",
        "\"memory/status.md\"",
        "\"memory/decisions.md\"",
        "\"memory/session-log.md\"",
        "\"memory/glossary.md\"",
    ];
    let mut found = Vec::new();
    for name in ["forge-memory", "forge-clients", "forge-app", "memory-forge"] {
        for source in rust_files(&format!("crates/{name}/src")) {
            if is_test(&source) || source.path.ends_with("/state_files.rs") {
                continue;
            }
            for (number, line) in shipped_lines(&source.text) {
                let code = line.split("//").next().unwrap_or(line);
                if NAMES.iter().any(|name| code.contains(name)) {
                    found.push(format!("{}:{number}: {}", source.path, line.trim()));
                }
            }
        }
    }
    assert_none(
        &found,
        "`state_files` has the spellings, `StateLayout` the choice",
    );
}

#[test]
fn no_door_imports_another() {
    let mut found = Vec::new();
    for source in rust_files("crates/memory-forge/src") {
        let Some(door) = ["mcp", "view", "hooks"].into_iter().find(|door| {
            let inside = source.path.trim_start_matches("crates/memory-forge/src/");
            inside.starts_with(&format!("{door}/")) || inside == format!("{door}.rs")
        }) else {
            continue;
        };
        for (number, line) in shipped_lines(&source.text) {
            for other in ["commands", "mcp", "view", "hooks"] {
                if other != door && line.contains(&format!("crate::{other}")) {
                    found.push(format!("{}:{number}: `{other}`", source.path));
                }
            }
        }
    }
    assert_none(&found, "a door calls a use case, never another door");
}

/// What others call is explained, and nothing in a library ends the process
/// because a value is missing.
#[test]
fn libraries_warn_about_missing_docs_and_unwrap() {
    let mut broken = Vec::new();
    let libraries = LAYERS.iter().filter(|it| it.kind == Kind::Library);
    for name in libraries.map(|it| it.name).chain(["forge-serve"]) {
        let path = format!("crates/{name}/src/lib.rs");
        let text = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
        for lint in [
            "#![warn(missing_docs)]",
            "#![cfg_attr(not(test), warn(clippy::unwrap_used))]",
        ] {
            if !text.lines().any(|line| line == lint) {
                broken.push(format!("{path}: `{lint}`"));
            }
        }
    }
    assert_none(&broken, "CI turns these warnings into errors");
}

/// Errors of the libraries that have no code of their own, and why.
const ERRORS_WITHOUT_A_CODE: [(&str, &str); 3] = [
    (
        "ModelError",
        "its crate is a leaf; callers show it in a remark",
    ),
    ("RemoteError", "the code is that of `IndexError::Remote`"),
    ("WorkerError", "it carries code and hints as data"),
];

/// The terminal, JSON, an agent and the page show the same code and hints, and
/// have them from the error alone.
#[test]
fn errors_of_the_libraries_carry_a_code_and_hints() {
    let (mut found, mut broken) = (0, Vec::new());
    for layer in LAYERS.iter().filter(|it| it.kind == Kind::Library) {
        let sources = rust_files(&format!("crates/{}/src", layer.name));
        for source in sources.iter().filter(|it| !is_test(it)) {
            let lines: Vec<&str> = shipped_lines(&source.text).map(|it| it.1).collect();
            for (at, line) in lines.iter().enumerate() {
                if !(line.starts_with("#[derive(") && line.contains("Error")) {
                    continue;
                }
                let item = lines[at..].iter().find_map(|it| {
                    let rest = it.strip_prefix("pub ")?;
                    rest.strip_prefix("enum ").or(rest.strip_prefix("struct "))
                });
                let is_private = lines[at..]
                    .iter()
                    .find(|it| it.contains("enum ") || it.contains("struct "))
                    .is_some_and(|it| !it.starts_with("pub "));
                let (Some(item), false) = (item, is_private) else {
                    continue;
                };
                let name = item.split([' ', '<', ';', '(']).next().unwrap_or(item);
                found += 1;
                let of = format!("Diagnostic for {name} ");
                let is_known = ERRORS_WITHOUT_A_CODE.iter().any(|it| it.0 == name);
                if !is_known && !sources.iter().any(|it| it.text.contains(&of)) {
                    broken.push(format!("{}: `{name}`", source.path));
                }
            }
        }
    }
    assert!(found >= 20, "only {found} errors were read");
    assert_none(&broken, "implement `Diagnostic`");
}

/// Counts that may only fall: whoever lowers one writes the new number here.
const DOOR_IMPORTS: usize = 296;
const ONE_WORD_TYPES: usize = 21;
const PARTICIPLE_TYPES: usize = 0;

#[test]
fn doors_name_fewer_and_fewer_items_of_the_library() {
    let mut named = BTreeSet::new();
    for source in rust_files("crates/memory-forge/src") {
        if is_test(&source) {
            continue;
        }
        let code: String = shipped_lines(&source.text)
            .map(|(_, line)| line.split("//").next().unwrap_or(line))
            .flat_map(|line| [line, "\n"])
            .collect();
        for (start, _) in code.match_indices("forge_app::") {
            if code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            expand(&code[start + "forge_app::".len()..], "", &mut named);
        }
    }
    assert_eq!(named.len(), DOOR_IMPORTS, "items of `forge` named by doors");
}

/// Adds every path of a `use` tree, or the one path of an expression.
fn expand(tree: &str, prefix: &str, found: &mut BTreeSet<String>) -> usize {
    let end = tree
        .find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
        .unwrap_or(tree.len());
    let path = format!("{prefix}{}", &tree[..end]);
    if path.ends_with("::") && tree[end..].starts_with('{') {
        let mut at = end + 1;
        loop {
            at += tree[at..].len() - tree[at..].trim_start_matches([' ', '\n', ',']).len();
            if at >= tree.len() || tree[at..].starts_with('}') {
                return at + 1;
            }
            let used = expand(&tree[at..], &path, found);
            if used == 0 {
                return at;
            }
            at += used;
        }
    }
    if !path.is_empty() {
        found.insert(path.trim_end_matches("::").to_owned());
    }
    end
}

#[test]
fn fewer_and_fewer_types_have_names_of_one_word() {
    let names = type_names();
    let is_one_word = |name: &str| name.chars().filter(|c| c.is_uppercase()).count() == 1;
    let one_word: usize = names
        .iter()
        .filter(|(name, _)| is_one_word(name))
        .map(|(_, count)| count)
        .sum();
    let participles: usize = names
        .iter()
        .filter(|(name, _)| is_one_word(name) && is_participle(name))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(
        (one_word, participles),
        (ONE_WORD_TYPES, PARTICIPLE_TYPES),
        "types of one word, and participles among them"
    );
}

fn is_participle(name: &str) -> bool {
    const IRREGULAR: [&str; 13] = [
        "Told", "Given", "Made", "Kept", "Left", "Found", "Held", "Taken", "Known", "Shown",
        "Said", "Written", "Drawn",
    ];
    IRREGULAR.contains(&name)
        || (name.ends_with("ed") && !["Embed", "Feed", "Seed"].contains(&name))
}

/// Every type that ships, with how many of that name there are.
fn type_names() -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    let shipped = LAYERS.iter().filter(|it| it.kind != Kind::Tool);
    for source in shipped.flat_map(|it| rust_files(&format!("crates/{}/src", it.name))) {
        if is_test(&source) {
            continue;
        }
        for (_, line) in shipped_lines(&source.text) {
            let mut words = line
                .split_whitespace()
                .skip_while(|it| it.starts_with("pub"));
            let is_type = matches!(words.next(), Some("struct" | "enum" | "trait"));
            if let (true, Some(name)) = (is_type, words.next()) {
                let end = name.find(|c: char| !c.is_alphanumeric());
                let name = &name[..end.unwrap_or(name.len())];
                *names.entry(name.to_owned()).or_insert(0) += 1;
            }
        }
    }
    names
}

fn is_test(source: &Source) -> bool {
    let path = Path::new(&source.path);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name == "tests" || name.ends_with("_tests") || source.path.contains("/tests/")
}

#[test]
fn trees_of_imports_are_read_whole() {
    let mut found = BTreeSet::new();
    expand("a::{self, B, c::{D, e}};", "", &mut found);
    let expected = ["a::self", "a::B", "a::c::D", "a::c::e"];
    assert_eq!(found, expected.map(str::to_owned).into());
}

/// A test name may begin with the id of a defect, such as `k8_`.
#[test]
fn ids_in_test_names_are_explained() {
    let page = std::fs::read_to_string(root().join("docs/defects.md")).expect("the page");
    let mut found = 0;
    let mut missing = Vec::new();
    for source in rust_files("crates") {
        for line in source.text.lines() {
            let name = line.trim_start().strip_prefix("fn ").unwrap_or_default();
            let id = name.split('_').next().unwrap_or_default();
            let number = id
                .strip_prefix(['a', 'd', 'k', 'm', 'w'])
                .unwrap_or_default();
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            found += 1;
            if !page.contains(&format!("| {} |", id.to_uppercase())) {
                missing.push(format!("{}: {id}", source.path));
            }
        }
    }
    assert!(found >= 50, "only {found} ids were read");
    assert_none(&missing, "docs/defects.md explains every id");
}

/// Walks in ARCHITECTURE.md name functions with their files, and cannot rot.
#[test]
fn functions_of_the_walks_are_where_they_are_said_to_be() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let mut found = 0;
    let mut broken = Vec::new();
    for line in page.lines() {
        // `name` in `crates/…/file.rs`
        for (at, _) in line.match_indices("` in `crates/") {
            let name = line[..at].rsplit('`').next().unwrap_or_default();
            let path = line[at + "` in `".len()..].split('`').next();
            let path = path.unwrap_or_default();
            let text = std::fs::read_to_string(root().join(path)).unwrap_or_default();
            found += 1;
            if !text.contains(&format!("fn {name}(")) && !text.contains(&format!("fn {name}<")) {
                broken.push(format!("no function `{name}` in {path}"));
            }
        }
    }
    assert!(found >= 8, "only {found} functions were read");
    assert_none(&broken, "ARCHITECTURE.md names them");
}
