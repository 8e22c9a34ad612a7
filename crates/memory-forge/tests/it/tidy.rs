//! Rules about the source tree that a compiler does not check. Each rule names
//! the file and line that breaks it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::house::{Kind, LAYERS};

/// The library neither talks to a terminal nor looks at its surroundings.
const ABSENT_FROM_THE_LIBRARY: [&str; 12] = [
    "println!",
    "eprintln!",
    "print!(",
    "std::env::",
    "use std::env",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "home_dir",
    "current_dir",
    "std::io::stdout",
    "std::io::stderr",
];

/// One reader of environment, home, current directory and clock.
const ABSENT_OUTSIDE_SETTINGS: [&str; 7] = [
    "std::env::",
    "use std::env",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "home_dir",
    "current_dir",
];

/// Files are changed behind one door; locks and the database have their own.
const WRITES: [&str; 9] = [
    "fs::write",
    "File::create",
    "OpenOptions",
    "fs::rename",
    "fs::remove_",
    "fs::copy",
    "fs::hard_link",
    "fs::create_dir",
    "fs::set_permissions",
];
const WRITERS: [&str; 8] = [
    "workspace/disk.rs",
    // Makes the key, and moves foreign files aside.
    "src/trust.rs",
    "workspace/lock.rs",
    "index/store.rs",
    // The steps of the ones above, as each system does them.
    "src/system.rs",
    "system/unix.rs",
    "system/windows.rs",
    // This opens files, and writes nothing.
    "src/regular.rs",
];

/// Every read of a file has a limit and takes regular files only.
const READS: [&str; 6] = [
    "fs::read(",
    "fs::read_to_string",
    "File::open",
    "File::options",
    "OpenOptions",
    "Connection::open",
];
const READERS: [(&str, &str); 9] = [
    ("src/regular.rs", "the one door"),
    ("workspace/disk.rs", "writes"),
    ("workspace/lock.rs", "locks"),
    ("src/system.rs", "opens for those above"),
    ("system/unix.rs", "opens folders, and files for those above"),
    ("system/windows.rs", "opens files for those above"),
    ("index/store.rs", "the index"),
    (
        "import/claude_mem.rs",
        "a database, after a look at the file",
    ),
    (
        "src/reference.rs",
        "pages of the source tree, for `cargo xtask`",
    ),
];

/// Where a promise that the compiler cannot check is made, and why it must be.
const UNSAFE: [(&str, &str); 5] = [
    ("crates/forge-embed/src/kernels.rs", "vector instructions"),
    (
        "crates/forge-store/src/index/vectors.rs",
        "vector instructions",
    ),
    (
        "crates/forge-serve/src/ends.rs",
        "the signal of a parent's death",
    ),
    ("xtask/src/bench/mcp.rs", "the CPU time of another process"),
    (
        "xtask/src/bench/speed/process.rs",
        "what a child took of the machine",
    ),
];

/// Where code asks which system it runs on, besides `forge_store::system`, and
/// why it is not there. Tests and what they are built from may ask.
const SYSTEMS: [(&str, &str); 12] = [
    (
        "forge-serve/src/ends.rs",
        "signals, in a crate of the lowest layer",
    ),
    ("memory-forge/src/settings.rs", "folders of the user"),
    (
        "xtask/src/cross/programs.rs",
        "scripts that call a compiler",
    ),
    ("memory-forge/src/hooks.rs", "the code page of PowerShell"),
    ("memory-forge/src/commands/index.rs", "a group of processes"),
    (
        "memory-forge/src/commands/view.rs",
        "programs that open a page",
    ),
    ("memory-forge/src/ui/picker.rs", "the modes of a terminal"),
    (
        "memory-forge-engines/src/surroundings.rs",
        "folders of the user",
    ),
    (
        "memory-forge-engines/src/postgres/connect.rs",
        "sockets that are files",
    ),
    (
        "memory-forge-engines/src/postgres/passfile.rs",
        "permissions of a file with passwords, as its other readers check them",
    ),
    ("xtask/src/bench/mcp.rs", "the CPU time of another process"),
    (
        "xtask/src/bench/speed/process.rs",
        "what a child took of the machine",
    ),
];

/// The compiled-in model is the one thing that is large by nature.
const MAY_BE_LARGE: [&str; 1] = ["crates/forge-embed/model/"];
const LARGE: u64 = 1_000_000;

#[test]
fn the_library_knows_no_terminal_environment_or_clock() {
    let broken = lines_with(&library(), &ABSENT_FROM_THE_LIBRARY);
    assert_none(&broken, "the library gets these as arguments");
}

#[test]
fn the_binary_reads_its_surroundings_in_one_place() {
    let mut sources = rust_files("crates/memory-forge/src");
    sources.retain(|source| !source.path.ends_with("src/settings.rs"));
    let broken = lines_with(&sources, &ABSENT_OUTSIDE_SETTINGS);
    assert_none(
        &broken,
        "only settings.rs looks at environment, directories and clock",
    );
}

#[test]
fn the_binary_prints_through_its_ui() {
    let sources = rust_files("crates/memory-forge/src");
    let broken = lines_with(&sources, &["println!", "eprintln!", " print!("]);
    assert_none(&broken, "a closed pipe makes these panic; use Ui");
}

/// Where standard output and standard error are reached, and what keeps text
/// that is not ours from driving a terminal there.
const STREAMS: [(&str, &str); 5] = [
    ("src/ui.rs", "everything passes `safe`"),
    ("src/report.rs", "errors pass `ui::safe`, the rest is ours"),
    ("src/hooks.rs", "one JSON object, for a program"),
    ("src/settings.rs", "asks whether they are terminals"),
    ("src/faults.rs", "only builds for tests have it"),
];

#[test]
fn text_reaches_a_terminal_through_one_function() {
    let words = [
        "io::stdout",
        "io::stderr",
        "stdout()",
        "stderr()",
        "/dev/tty",
    ];
    let mut sources = rust_files("crates/memory-forge/src");
    sources.retain(|source| !STREAMS.iter().any(|(path, _)| source.path.ends_with(path)));
    let mut broken = lines_with(&sources, &words);
    // A question about an error of the parser, not a stream.
    broken.retain(|line| !line.contains("use_stderr()"));
    assert_none(&broken, "results and remarks are printed through Ui");
    let ui = rust_files("crates/memory-forge/src");
    let ui = ui.iter().find(|it| it.path.ends_with("src/ui.rs"));
    let ui = ui.map(|it| it.text.as_str()).unwrap_or_default();
    let written: Vec<&str> = shipped_lines(ui)
        .map(|(_, line)| line)
        .filter(|line| {
            line.contains("write_all(") || line.contains("write!(") || line.contains("writeln!(")
        })
        .collect();
    let unsafe_ones: Vec<&&str> = written
        .iter()
        .filter(|line| !line.contains("safe(") && !line.contains("unwrap_or(&text)"))
        .collect();
    assert!(
        written.len() >= 3 && unsafe_ones.is_empty(),
        "a way out of Ui passes `safe`: {unsafe_ones:?}"
    );
}

/// The titles of two files that another tool writes and reads as well.
const OTHER_BRAND: [&str; 2] = [
    "crates/forge-app/src/federation/registry.rs",
    "crates/forge-memory/src/graph/markdown.rs",
];

/// D33: "one name. Files and markers that other tools read keep their names;
/// nothing that we print says Memex."
#[test]
fn nothing_that_is_printed_has_another_brand() {
    let mut sources = all_sources();
    sources.retain(|source| !OTHER_BRAND.contains(&source.path.as_str()));
    assert_none(
        &lines_with(&sources, &["Memex"]),
        "our name is Memory Forge",
    );
}

#[test]
fn nothing_opens_a_socket() {
    let mut sources = library();
    sources.extend(rust_files("crates/memory-forge/src"));
    let broken = lines_with(
        &sources,
        &["std::net", "TcpStream", "UdpSocket", "UnixStream"],
    );
    assert_none(&broken, "nothing goes over a network");
    let listeners = rust_files("crates/forge-serve/src");
    let words = [
        "connect(",
        "TcpSocket",
        "UdpSocket",
        "UnixStream",
        "UNSPECIFIED",
    ];
    assert_none(
        &lines_with(&listeners, &words),
        "it listens, on the loopback, and asks nobody",
    );
    let clients = rust_files("crates/memory-forge-engines/src");
    assert_none(
        &lines_with(&clients, &["TcpListener", "UdpSocket", "bind("]),
        "it asks the server that a user names, and listens to nobody",
    );
}

#[test]
fn unsafe_code_is_where_it_is_known_to_be() {
    let words = [
        "unsafe {",
        "unsafe fn",
        "unsafe impl",
        "unsafe extern",
        "#[unsafe(",
    ];
    let mut sources = all_sources();
    let known = |source: &Source| UNSAFE.iter().any(|(path, _)| source.path == *path);
    for (path, why) in UNSAFE {
        let there = sources.iter().find(|source| source.path == path);
        let text = there.map(|source| source.text.as_str()).unwrap_or_default();
        assert!(
            text.contains("unsafe"),
            "{path} no longer needs it for {why}: take it out"
        );
    }
    sources.retain(|source| !known(source) && !source.path.ends_with("it/tidy.rs"));
    let mut broken = Vec::new();
    for source in &sources {
        for (number, line) in (1..).zip(source.text.lines()) {
            let code = line.split("//").next().unwrap_or(line);
            if words.iter().any(|word| code.contains(word)) {
                broken.push(format!("{}:{number}: `{}`", source.path, line.trim()));
            }
        }
    }
    assert_none(
        &broken,
        "new unsafe code is listed in tidy.rs with its reason, or avoided",
    );
}

#[test]
fn files_are_written_behind_one_door() {
    let mut sources = library();
    sources.extend(rust_files("crates/memory-forge/src"));
    sources.retain(|source| !WRITERS.iter().any(|writer| source.path.ends_with(writer)));
    let broken = lines_with(&sources, &WRITES);
    assert_none(
        &broken,
        "changes go through Workspace::change or write_derived",
    );
}

/// A difference between systems that is known in one place is known everywhere.
#[test]
fn systems_differ_in_one_module() {
    const WORDS: [&str; 8] = [
        "cfg(unix)",
        "cfg(windows)",
        "cfg!(unix)",
        "cfg!(windows)",
        "cfg(not(unix))",
        "cfg(not(windows))",
        "target_os",
        "os::unix",
    ];
    let mut sources = all_sources();
    sources.retain(|source| {
        let path = source.path.as_str();
        let is_test = ["testkit/", "soak/", "/tests/", "/examples/", "packing/"]
            .iter()
            .any(|part| path.contains(part));
        !is_test && !path.contains("forge-store/src/system")
    });
    for (path, why) in SYSTEMS {
        let there = sources.iter().find(|source| source.path.ends_with(path));
        let asks = there.is_some_and(|it| WORDS.iter().any(|word| it.text.contains(word)));
        assert!(asks, "{path} no longer needs it for {why}: take it out");
    }
    let known = |source: &Source| SYSTEMS.iter().any(|(path, _)| source.path.ends_with(path));
    sources.retain(|source| !known(source));
    let broken = lines_with(&sources, &WORDS);
    assert_none(&broken, "`forge_store::system` knows how systems differ");
}

/// A pipe, a link to a device or a file without end in a clone must not hang
/// the program or fill its memory.
#[test]
fn files_are_read_behind_one_door() {
    let mut sources = library();
    sources.extend(rust_files("crates/memory-forge/src"));
    sources.extend(rust_files("crates/memory-forge-engines/src"));
    for (path, why) in READERS {
        let there = sources.iter().find(|source| source.path.ends_with(path));
        let uses = there.is_some_and(|it| READS.iter().any(|word| it.text.contains(word)));
        assert!(uses, "{path} no longer needs it for {why}: take it out");
    }
    let known = |source: &Source| READERS.iter().any(|(path, _)| source.path.ends_with(path));
    sources.retain(|source| !known(source));
    let broken = lines_with(&sources, &READS);
    assert_none(&broken, "files are read through Workspace::read or regular");
}

#[test]
fn modules_are_named_and_say_what_they_are_for() {
    let mut broken = Vec::new();
    for source in all_sources() {
        if source.path.ends_with("mod.rs") {
            broken.push(format!(
                "{}: write `foo.rs` beside `foo/`, not `mod.rs`",
                source.path
            ));
        }
        // Test modules in files of their own are introduced by what they test.
        if !source.text.starts_with("//!") && !source.path.ends_with("/tests.rs") {
            broken.push(format!(
                "{}: the first line is not a `//!` sentence",
                source.path
            ));
        }
    }
    assert_none(&broken, "STYLE.md says why");
}

#[test]
fn ignored_tests_give_a_reason() {
    let bare = concat!("#[ig", "nore]");
    let broken = lines_with(&all_sources(), &[bare]);
    assert_none(&broken, "write the reason into the attribute");
}

#[test]
fn no_file_is_large() {
    let mut broken = Vec::new();
    for path in tracked_files() {
        let Ok(metadata) = fs::symlink_metadata(root().join(&path)) else {
            continue;
        };
        let exempt = MAY_BE_LARGE.iter().any(|prefix| path.starts_with(prefix));
        if metadata.is_file() && metadata.len() > LARGE && !exempt {
            broken.push(format!("{path}: {} bytes", metadata.len()));
        }
    }
    assert_none(&broken, "large data does not belong into the repository");
}

pub(crate) struct Source {
    /// Relative to the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two levels below the root")
        .to_owned()
}

/// The page's source; its formatter leaves comments and strings as they are.
const PAGE: &str = "crates/memory-forge/src/view/assets/";
const MAX_PAGE_LINE_CHARS: usize = 120;

#[test]
fn the_page_has_short_lines_and_plain_names() {
    let mut broken = Vec::new();
    for path in tracked_files() {
        if !path.starts_with(PAGE) {
            continue;
        }
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            let is_word = |it: char| it.is_alphanumeric() || it == '_' || it == '.';
            let is_vague = line.split(|it| !is_word(it)).any(|it| it == "told");
            if is_vague || line.chars().count() > MAX_PAGE_LINE_CHARS {
                broken.push(format!("{path}:{}: {line}", number + 1));
            }
        }
    }
    assert_none(&broken, "at most 120 characters, and no variable `told`");
}

fn library() -> Vec<Source> {
    let libraries = LAYERS.iter().filter(|it| it.kind == Kind::Library);
    libraries
        .flat_map(|it| rust_files(&format!("crates/{}/src", it.name)))
        .collect()
}

fn all_sources() -> Vec<Source> {
    let mut sources = rust_files("crates");
    sources.extend(rust_files("xtask"));
    sources
}

pub(crate) fn rust_files(under: &str) -> Vec<Source> {
    let mut files = Vec::new();
    collect(&root().join(under), &mut files);
    assert!(!files.is_empty(), "no source under {under}");
    let root = root();
    files.sort();
    let source = |file: PathBuf| {
        let relative = file
            .strip_prefix(&root)
            .expect("it was found below the root");
        let path = relative.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
        Source { path, text }
    };
    files.into_iter().map(source).collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    for entry in entries {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Files that git knows or would add; without git, nothing is checked.
fn tracked_files() -> Vec<String> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output();
    match listed {
        Ok(output) if output.status.success() => {
            let names = output
                .stdout
                .split(|&byte| byte == 0)
                .filter(|name| !name.is_empty());
            names
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect()
        }
        _ => {
            testkit::skip("this is not a git checkout");
            Vec::new()
        }
    }
}

/// `path:line: text` of shipped lines that contain one of the words. Comments
/// may speak of them, and tests may use them.
fn lines_with(sources: &[Source], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        if source.path.ends_with("/tests.rs") || source.path.contains("/tests/") {
            continue;
        }
        for (number, line) in shipped_lines(&source.text) {
            let code = line.split("//").next().unwrap_or(line);
            let has = |word: &str| {
                code.match_indices(word)
                    .any(|(at, _)| is_word_start(code, at))
            };
            if let Some(word) = words.iter().find(|word| has(word)) {
                found.push(format!(
                    "{}:{number}: `{word}` in `{}`",
                    source.path,
                    line.trim()
                ));
            }
        }
    }
    found
}

/// Returns `true` unless `at` is in the middle of a word, as `File::open` is in
/// `HeldFile::open`.
fn is_word_start(code: &str, at: usize) -> bool {
    !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The lines up to the test module, which by custom is the last item of a
/// file, with their numbers.
pub(crate) fn shipped_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0].trim() == "#[cfg(test)]"
            && pair[1].trim_start().starts_with("mod ")
            && pair[1].trim_end().ends_with('{')
    });
    let end = tests.unwrap_or(lines.len());
    (1..).zip(lines).take(end)
}

#[track_caller]
pub(crate) fn assert_none(broken: &[String], why: &str) {
    assert!(broken.is_empty(), "{why}:\n  {}\n", broken.join("\n  "));
}

#[test]
fn the_rules_can_find_something() {
    let check = |text: &str, expect: usize| {
        let source = Source {
            path: "crates/forge-app/src/a.rs".to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(
            lines_with(&[source], &ABSENT_FROM_THE_LIBRARY).len(),
            expect,
            "{text}"
        );
    };
    check("fn f() { println!(\"x\"); }\n", 1);
    check("let home = std::env::home_dir();\n", 1);
    check("// println! is not for us\nfn f() {}\n", 0);
    check(
        "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() { println!(); }\n}\n",
        0,
    );
    check("#[cfg(test)]\nmod tests;\nfn f() { println!(); }\n", 1);
}
