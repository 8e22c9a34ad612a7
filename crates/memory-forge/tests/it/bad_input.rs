//! Files and folders in every bad state that people and disks bring about: the
//! file is named with what to do, the rest still works, and no source changes.

#[cfg(unix)]
use std::process::Command;

use forge_app::index::Index;
use forge_app::knowledge::refresh::{self, FileOutcome};
use forge_app::workspace::Workspace;
use testkit::{Output, TestWorkspace};

use crate::harness::{found, json, ws};

const TEXT: [&str; 2] = ["--mode", "text"];

/// One good file beside which something bad is put.
fn good() -> TestWorkspace {
    ws("//- knowledge/good.md\n# Good\n\nThe quokka is here.\n")
}

/// The good file is found, in every mode, whatever stands beside it.
#[track_caller]
fn the_rest_works(ws: &TestWorkspace) {
    let before = ws.tree_of_sources();
    ws.run(&["index"]).ok();
    for mode in ["text", "hybrid"] {
        let found = found(ws, "quokka", &["--mode", mode]);
        assert_eq!(found.first().map(String::as_str), Some("knowledge/good.md"));
    }
    assert_eq!(ws.tree_of_sources(), before);
}

/// A bad file is named by `index` and by `search`, with the reason.
#[track_caller]
fn is_named(ws: &TestWorkspace, path: &str, why: &str) {
    let before = ws.tree_of_sources();
    let warning = format!("warning: `{path}` is not in the index: {why}\n");
    for run in [
        &["index"][..],
        &["index"],
        &["search", "quokka", "--mode", "text"],
    ] {
        let output = ws.run(run);
        output.ok();
        assert!(output.stderr.contains(&warning), "{warning}{output}");
    }
    let listed = json(&ws.run(&["index", "--json"]));
    assert_eq!(listed["summary"]["skipped"], 1);
    assert_eq!(ws.tree_of_sources(), before);
    the_rest_works(ws);
}

#[test]
fn not_utf8() {
    let ws = good();
    ws.write("knowledge/latin.md", b"# Title\n\nfine\ncaf\xe9 quokka\n");
    is_named(
        &ws,
        "knowledge/latin.md",
        "line 4 is not UTF-8; convert the file to UTF-8 to have it used",
    );
    assert_eq!(found(&ws, "quokka", &TEXT), ["knowledge/good.md"]);
    let output = ws.run(&["preview", "knowledge/latin.md"]);
    assert!(output.fails(1).contains("line 4 is not UTF-8"), "{output}");
    ws.write("knowledge/latin.md", "# Title\n\ncafé zebra\n");
    assert!(
        ws.run(&["index"])
            .ok()
            .contains("knowledge/latin.md (reindexed)")
    );
    assert_eq!(found(&ws, "zebra", &TEXT), ["knowledge/latin.md"]);
}

#[test]
fn utf16() {
    let ws = good();
    let utf16: Vec<u8> = "\u{feff}# T\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    ws.write("knowledge/wide.md", utf16);
    is_named(
        &ws,
        "knowledge/wide.md",
        "line 1 is not UTF-8; convert the file to UTF-8 to have it used",
    );
}

#[test]
fn many_bad_files_are_not_all_repeated_by_every_search() {
    let ws = good();
    for i in 0..9 {
        ws.write(&format!("knowledge/bad{i}.md"), b"\xff");
    }
    let output = ws.run(&["search", "quokka", "--mode", "text"]);
    output.ok();
    assert_eq!(output.stderr.lines().count(), 4, "{output}");
    assert!(output.stderr.contains("6 more files are not in the index"));
    assert_eq!(ws.run(&["index"]).stderr.lines().count(), 9);
}

#[test]
fn byte_order_mark() {
    let ws = good();
    let bytes = "\u{feff}---\nimportance: 9\n---\n# Marked\r\n\r\nzebra\r\n";
    ws.write("knowledge/bom.md", bytes);
    let answer = crate::harness::answer(&ws, "zebra", &TEXT);
    assert_eq!(answer["results"][0]["title"], "Marked");
    assert_eq!(
        answer["results"][0]["importance"], 9,
        "front matter is seen"
    );
    the_rest_works(&ws);
    assert_eq!(ws.read("knowledge/bom.md"), bytes);
}

#[test]
fn nul_bytes() {
    let ws = good();
    ws.write("knowledge/zeros.md", b"# N\0l\n\nzebra\0stripes zebra \0\0\n");
    assert_eq!(found(&ws, "zebra", &TEXT), ["knowledge/zeros.md"]);
    let output = ws.run(&["search", "zebra"]);
    assert!(!output.ok().contains('\0'), "{output}");
    the_rest_works(&ws);
}

#[test]
fn carriage_returns_alone() {
    let ws = good();
    ws.write("knowledge/mac.md", "# Mac\r\rzebra\r\r## Two\r\rokapi\r");
    let answer = crate::harness::answer(&ws, "okapi", &TEXT);
    assert_eq!(answer["results"][0]["path"], "knowledge/mac.md");
    assert_eq!(answer["results"][0]["title"], "Mac", "lines end at CR");
    the_rest_works(&ws);
}

/// It is a hole, which takes no space; what is refused is its length.
#[test]
fn a_file_of_a_hundred_megabytes() {
    let ws = good();
    ws.write("knowledge/huge.md", "");
    let file = std::fs::File::options()
        .write(true)
        .open(ws.path("knowledge/huge.md"));
    file.and_then(|file| file.set_len(100 << 20))
        .expect("holes can be made");
    let listed = ws.run(&["index"]);
    let limit = Workspace::open(ws.root())
        .expect("there")
        .config()
        .index
        .max_file_bytes;
    let why = format!(
        "it has 104857600 bytes, more than the {limit} that `index.max_file_bytes` allows; \
         split the file or raise the limit"
    );
    assert!(listed.stderr.contains(&why), "{listed}");
    let output = ws.run(&["search", "quokka", "--mode", "text"]);
    assert!(output.ok().contains("knowledge/good.md"), "{output}");
    assert!(output.stderr.contains(&why), "{output}");
    let output = ws.run(&["preview", "knowledge/huge.md"]);
    assert!(output.fails(1).contains("104857600 bytes"), "{output}");
}

#[test]
fn a_line_of_a_megabyte() {
    let ws = good();
    let line = format!(
        "{}needleInHay {}",
        "word ".repeat(100_000),
        "data".repeat(125_000)
    );
    ws.write("knowledge/long.md", format!("# Long\n\n{line}\n"));
    ws.run(&["index", "--no-vectors"]).ok();
    assert_eq!(found(&ws, "needleInHay", &TEXT), ["knowledge/long.md"]);
    assert_eq!(found(&ws, "quokka", &TEXT), ["knowledge/good.md"]);
}

#[test]
fn ten_thousand_nested_quotes_and_lists() {
    let ws = good();
    let deep = 10_000;
    ws.write(
        "knowledge/quotes.md",
        format!("{} zebra\n", ">".repeat(deep)),
    );
    ws.write(
        "knowledge/spaced.md",
        format!("{} zebra\n", "> ".repeat(deep)),
    );
    ws.write(
        "knowledge/lists.md",
        format!("{} zebra\n", "- ".repeat(deep)),
    );
    ws.write(
        "knowledge/numbers.md",
        format!("{} zebra\n", "1. ".repeat(deep)),
    );
    let steps: String = (0..2_000)
        .map(|i| format!("{}- zebra\n", "  ".repeat(i)))
        .collect();
    ws.write("knowledge/steps.md", steps);
    ws.write("knowledge/links.md", format!("{}zebra\n", "[".repeat(deep)));
    ws.write(
        "knowledge/stars.md",
        format!("{}zebra\n", "*a **b ".repeat(deep)),
    );
    ws.run(&["index", "--no-vectors"]).ok();
    let mut found = found(&ws, "zebra", &["--mode", "text", "--unique", "-n", "20"]);
    found.sort();
    let names = [
        "links", "lists", "numbers", "quotes", "spaced", "stars", "steps",
    ];
    assert_eq!(found, names.map(|name| format!("knowledge/{name}.md")));
    assert_eq!(
        crate::harness::found(&ws, "quokka", &TEXT),
        ["knowledge/good.md"]
    );
}

#[test]
fn what_is_opened_and_never_closed() {
    let ws = good();
    ws.write(
        "knowledge/fence.md",
        "# Fence\n\n```rust\nlet zebra = 1;\n# not a heading\n",
    );
    ws.write("knowledge/front.md", "---\ntitle: zebra\nno end in sight\n");
    ws.write("knowledge/comment.md", "# C\n\n<!-- zebra\n");
    ws.write("knowledge/html.md", "# H\n\n<details><pre>zebra\n");
    let mut found = found(&ws, "zebra", &["--mode", "text", "-n", "9"]);
    found.sort();
    let names = ["comment", "fence", "front", "html"];
    assert_eq!(found, names.map(|name| format!("knowledge/{name}.md")));
    let output = ws.run(&["preview", "knowledge/front.md"]);
    assert!(output.ok().contains("no end in sight"), "{output}");
    assert!(
        output.stderr.contains("`knowledge/front.md` line 1: "),
        "{output}"
    );
    the_rest_works(&ws);
}

#[test]
fn broken_front_matter() {
    let ws = good();
    let cases = [
        ("a: [1, 2", "an open list"),
        ("\tkey: tab", "a tab"),
        ("key: *gone", "an alias to nothing"),
        ("a: 1\na: 2", "a key twice"),
        ("just words", "no mapping"),
        ("- 1\n- 2", "a list"),
        (
            "deprecated: {}\nimportance: [1]\ndate: {a: b}",
            "values of odd kinds",
        ),
        ("a: &a [*a, *a]", "an alias to itself"),
        ("\"\\x", "an open string"),
        ("importance: 99999999999999999999", "a number out of range"),
    ];
    for (i, (yaml, _)) in cases.iter().enumerate() {
        ws.write(
            &format!("knowledge/y{i}.md"),
            format!("---\n{yaml}\n---\n# Y{i}\n\nzebra{i}\n"),
        );
    }
    let bomb: String = (1..30)
        .map(|i| format!("a{i}: &a{i} [*a{0},*a{0},*a{0}]\n", i - 1))
        .collect();
    ws.write(
        "knowledge/bomb.md",
        format!("---\na0: &a0 x\n{bomb}---\n# B\n\nzebrabomb\n"),
    );
    for (i, (_, what)) in cases.iter().enumerate() {
        let found = found(&ws, &format!("zebra{i}"), &TEXT);
        assert_eq!(found, [format!("knowledge/y{i}.md")], "{what}");
    }
    assert_eq!(found(&ws, "zebrabomb", &TEXT), ["knowledge/bomb.md"]);
    let output = ws.run(&["preview", "knowledge/y0.md"]);
    assert!(
        output.stderr.contains("warning: `knowledge/y0.md` line "),
        "{output}"
    );
    the_rest_works(&ws);
}

/// Files are read one after the other, and the second changes while the first
/// is read.
#[test]
fn a_file_that_vanishes_or_turns_into_a_folder_while_it_is_read() {
    for folder in [false, true] {
        let ws = ws("//- knowledge/a.md\n# A\n//- knowledge/b.md\n# B\n//- knowledge/c.md\n# C\n");
        let workspace = Workspace::open(ws.root()).expect("it is there");
        let mut index = Index::in_memory().expect("memory");
        let report =
            refresh::fill_index(&workspace, &workspace.scan(), &mut index, &mut |done, _| {
                if done == 1 {
                    ws.remove("knowledge/b.md");
                    if folder {
                        std::fs::create_dir(ws.path("knowledge/b.md")).expect("ours");
                    }
                }
            });
        let report = report.expect("the others are fine");
        let of = |path: &str| {
            report
                .files
                .iter()
                .find(|(p, _)| p == path)
                .map(|(_, o)| o.clone())
        };
        assert_eq!(of("knowledge/a.md"), Some(FileOutcome::Indexed));
        assert_eq!(of("knowledge/c.md"), Some(FileOutcome::Indexed));
        let skipped = FileOutcome::Skipped("it is not a regular file; move it away".to_owned());
        assert_eq!(of("knowledge/b.md"), folder.then_some(skipped));
        assert_eq!(index.counts().expect("open").files, 2);
    }
}

#[test]
fn a_folder_with_the_name_of_a_document() {
    let ws = good();
    ws.write("knowledge/folder.md/inner.md", "# Inner\n\nzebra\n");
    let output = ws.run(&["index"]);
    assert!(
        output
            .stderr
            .contains("`knowledge/folder.md`: is a folder, although"),
        "{output}"
    );
    assert_eq!(found(&ws, "zebra", &TEXT), ["knowledge/folder.md/inner.md"]);
    the_rest_works(&ws);
}

#[test]
#[cfg(unix)]
fn names_that_cannot_be_written_down() {
    use std::os::unix::ffi::OsStrExt;
    let ws = good();
    for name in [&b"not-utf8-\xff.md"[..], b"new\nline.md", b"back\\slash.md"] {
        let path = ws.path("knowledge").join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(path, "# X\n").expect("Unix takes it");
    }
    ws.write("knowledge/-rf.md", "# F\n\nzebra\n");
    ws.write("knowledge/a b 'c' \"d\" $e `f`.md", "# F\n\nzebra\n");
    let output = ws.run(&["index"]);
    assert_eq!(output.ok().lines().count(), 5, "{output}");
    assert_eq!(
        output.stderr.matches("rename it to have it used").count(),
        3,
        "{output}"
    );
    assert_eq!(found(&ws, "zebra", &TEXT).len(), 2);
    the_rest_works(&ws);
}

#[test]
#[cfg(unix)]
fn symlinks() {
    use std::os::unix::fs::symlink;
    let ws = good();
    std::fs::write(ws.home().join("secret.md"), "# Secret\n\nzebra\n").expect("ours");
    ws.write("docs/inside.md", "# Inside\n\nokapi\n");
    let link = |target: &str, name: &str| {
        symlink(target, ws.path(name)).expect("links can be made");
    };
    link("loop-b.md", "knowledge/loop-a.md");
    link("loop-a.md", "knowledge/loop-b.md");
    link(".", "knowledge/circle");
    link("../../home/secret.md", "knowledge/outside.md");
    link("gone.md", "knowledge/dangling.md");
    link("../docs/inside.md", "knowledge/inside.md");
    link("/dev/zero", "knowledge/zero.md");
    let output = ws.run(&["index"]);
    for (path, why) in [
        ("loop-a.md", "cannot be read: "),
        ("loop-b.md", "cannot be read: "),
        ("circle", "is a symlink to a folder, which is not followed"),
        ("outside.md", "is a symlink that leads out of the workspace"),
        ("dangling.md", "is a symlink to a file that does not exist"),
        ("zero.md", "is not a regular file"),
    ] {
        let warning = format!("warning: `knowledge/{path}`: {why}");
        assert!(output.stderr.contains(&warning), "{warning}: {output}");
    }
    assert!(
        found(&ws, "zebra", &TEXT).is_empty(),
        "nothing from outside"
    );
    assert_eq!(found(&ws, "okapi", &TEXT), ["knowledge/inside.md"]);
    the_rest_works(&ws);
    let output = ws.run(&["preview", "knowledge/outside.md"]);
    assert!(
        output.fails(1).contains("leads out of the workspace"),
        "{output}"
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_is_not_waited_for() {
    let ws = good();
    let made = Command::new("mkfifo")
        .arg(ws.path("knowledge/pipe.md"))
        .status();
    if !made.is_ok_and(|status| status.success()) {
        testkit::skip("there is no mkfifo here");
        return;
    }
    let output = ws.run(&["index"]);
    assert!(
        output
            .stderr
            .contains("`knowledge/pipe.md`: is not a regular file"),
        "{output}"
    );
    assert_eq!(found(&ws, "quokka", &TEXT), ["knowledge/good.md"]);
}

#[test]
#[cfg(unix)]
fn a_symlinked_knowledge_folder_is_not_followed() {
    let ws = ws("//- docs/a.md\n# A\n\nzebra\n");
    std::os::unix::fs::symlink("docs", ws.path("knowledge")).expect("ours");
    let output = ws.run(&["search", "zebra"]);
    assert_eq!(output.stdout, "No matching results found.\n");
    assert!(
        output
            .stderr
            .contains("`knowledge`: is reached by a symlink"),
        "{output}"
    );
}

/// Runs the program as a user who owns nothing. `None` where that cannot be
/// done; the reason is printed.
#[cfg(unix)]
fn as_nobody(ws: &TestWorkspace, arguments: &[&str]) -> Option<Output> {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        // Whoever runs the tests is bound by permissions already.
        return Some(ws.run(arguments));
    }
    let plain = ws.command();
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(plain.get_program())
        .args(arguments)
        .current_dir(ws.root())
        .env_clear();
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    // The way to the workspace and the program must be open to that user.
    let above = ws.root().parent().expect("it is below the temporary one");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(above, open).expect("ours");
    // And the user has a place for the key of marks.
    let shared = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(ws.state_home(), shared).expect("ours");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            testkit::skip(format!("setpriv cannot be run: {error}"));
            return None;
        }
    };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.starts_with("setpriv: ") {
        testkit::skip(stderr);
        return None;
    }
    Some(Output {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr,
    })
}

#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = tempfile::tempfile().and_then(|file| file.metadata());
    file.expect("a temporary file can be made").uid() == 0
}

#[cfg(unix)]
fn mode(ws: &TestWorkspace, path: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(ws.path(path), mode).expect("ours");
}

#[test]
#[cfg(unix)]
fn a_folder_and_a_file_that_may_not_be_read() {
    let ws = good();
    ws.write("knowledge/locked/a.md", "# A\n\nzebra\n");
    ws.write("knowledge/shut.md", "# S\n\nzebra\n");
    let before = ws.tree_of_sources();
    mode(&ws, "", 0o777);
    mode(&ws, "knowledge/locked", 0o000);
    mode(&ws, "knowledge/shut.md", 0o000);
    let output = as_nobody(&ws, &["index"]);
    let search = as_nobody(&ws, &["search", "quokka", "--mode", "text"]);
    mode(&ws, "knowledge/locked", 0o755);
    mode(&ws, "knowledge/shut.md", 0o644);
    let (Some(output), Some(search)) = (output, search) else {
        return;
    };
    assert!(
        output.ok().contains("+ knowledge/good.md (indexed)"),
        "{output}"
    );
    assert!(search.ok().contains("knowledge/good.md:"), "{search}");
    for output in [output, search] {
        let folder = "warning: `knowledge/locked`: cannot be read: Permission denied";
        assert!(output.stderr.contains(folder), "{output}");
        let file = "`knowledge/shut.md` is not in the index: could not read it: Permission denied";
        assert!(output.stderr.contains(file), "{output}");
    }
    assert_eq!(ws.tree_of_sources(), before);
}

/// The same as a file system that is mounted to be read only, for one user.
#[test]
#[cfg(unix)]
fn a_tree_that_may_not_be_written() {
    let ws = good();
    mode(&ws, "", 0o555);
    let search = as_nobody(&ws, &["search", "quokka"]);
    let index = as_nobody(&ws, &["index"]);
    mode(&ws, "", 0o755);
    let (Some(search), Some(index)) = (search, index) else {
        return;
    };
    answered_from_memory(&search);
    not_kept(&index);
    assert!(!ws.exists(".memory-forge"));
}

#[track_caller]
fn answered_from_memory(output: &Output) {
    assert!(output.ok().contains("knowledge/good.md:"), "{output}");
    assert!(
        output
            .stderr
            .contains("warning: The index is kept in memory for this run: "),
        "{output}"
    );
}

#[track_caller]
fn not_kept(output: &Output) {
    let said = output.fails(1);
    assert!(
        said.contains("error: The index could not be kept: "),
        "{output}"
    );
    assert!(said.contains("hint: "), "{output}");
}

/// A file system of its own below the workspace, unmounted when dropped.
#[cfg(target_os = "linux")]
struct Mount(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Mount {
    /// `None` where mounting is not allowed; the reason is printed.
    fn tmpfs(at: std::path::PathBuf, options: &str) -> Option<Mount> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&at)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Mount(at)),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                testkit::skip(said.trim());
                None
            }
            Err(error) => {
                testkit::skip(format!("mount cannot be run: {error}"));
                None
            }
        }
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(&self.0)
            .status();
        assert!(status.is_ok_and(|status| status.success()), "it is ours");
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_system_that_is_read_only() {
    let ws = ws("//- inner/x\n");
    let Some(mount) = Mount::tmpfs(ws.path("inner"), "size=4m") else {
        return;
    };
    ws.write("inner/knowledge/good.md", "# Good\n\nThe quokka is here.\n");
    let ws = ws.cwd("inner");
    mount.remount("ro");
    answered_from_memory(&ws.run(&["search", "quokka"]));
    not_kept(&ws.run(&["index"]));
    // With an index from better days, current or not.
    mount.remount("rw");
    ws.run(&["index"]).ok();
    mount.remount("ro");
    let output = ws.run(&["search", "quokka"]);
    assert!(output.ok().contains("knowledge/good.md:"), "{output}");
    mount.remount("rw");
    ws.write(
        "inner/knowledge/good.md",
        "# Good\n\nThe quokka has moved.\n",
    );
    mount.remount("ro");
    let output = ws.run(&["search", "moved"]);
    answered_from_memory(&output);
    assert!(output.ok().contains("has moved"), "{output}");
    not_kept(&ws.run(&["index", "--force"]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full() {
    let ws = ws("//- inner/x\n");
    let Some(_mount) = Mount::tmpfs(ws.path("inner"), "size=2m") else {
        return;
    };
    ws.write("inner/knowledge/good.md", "# Good\n\nThe quokka is here.\n");
    for i in 0..40 {
        let text = format!("# F{i}\n\n{}\n", format!("filler{i} ").repeat(400));
        ws.write(&format!("inner/knowledge/f{i}.md"), text);
    }
    let ws = ws.cwd("inner");
    // Less and less room: at each size something else is the first to fail.
    for left in [1024, 512, 128, 32, 4, 0] {
        let _ = std::fs::remove_dir_all(ws.path("inner/.memory-forge"));
        let _ = std::fs::remove_file(ws.path("inner/ballast"));
        fill(&ws.path("inner/ballast"), left * 1024);
        let before = ws.tree_of_sources();
        let search = ws.run(&["search", "quokka", "--mode", "text"]);
        assert!(
            search.ok().contains("knowledge/good.md:"),
            "{left}: {search}"
        );
        if left == 0 {
            answered_from_memory(&search);
            not_kept(&ws.run(&["index", "--no-vectors"]));
        }
        let again = ws.run(&["search", "quokka", "--mode", "text"]);
        assert!(again.ok().contains("knowledge/good.md:"), "{left}: {again}");
        assert_eq!(sources_below(&ws.tree_of_sources()), sources_below(&before));
    }
    std::fs::remove_file(ws.path("inner/ballast")).expect("ours");
    ws.run(&["index", "--no-vectors"]).ok();
    assert_eq!(found(&ws, "quokka", &TEXT), ["knowledge/good.md"]);
}

/// The workspace is a folder below, and so is what it derives.
#[cfg(target_os = "linux")]
fn sources_below(tree: &str) -> String {
    let lines = tree.lines().filter(|line| !line.contains(".memory-forge"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Fills a file system up to so many bytes.
#[cfg(target_os = "linux")]
fn fill(ballast: &std::path::Path, left: usize) {
    use std::io::Write;
    let mut file = std::fs::File::create(ballast).expect("an entry fits");
    let block = [1u8; 4096];
    let mut size = 0;
    while let Ok(written) = file.write(&block) {
        size += written;
    }
    file.set_len(size.saturating_sub(left) as u64)
        .expect("shorter");
}

#[test]
fn an_index_of_a_newer_version_is_left_alone() {
    let ws = good();
    ws.run(&["index"]).ok();
    for name in ["index.db-wal", "index.db-shm"] {
        let _ = std::fs::remove_file(ws.path(".memory-forge").join(name));
    }
    // The version is a number in the header of the file.
    let mut bytes = ws.read_bytes(".memory-forge/index.db");
    bytes[60..64].copy_from_slice(&999i32.to_be_bytes());
    ws.write(".memory-forge/index.db", &bytes);
    let output = ws.run(&["search", "quokka"]);
    assert!(output.ok().contains("knowledge/good.md:"), "{output}");
    assert!(
        output
            .stderr
            .contains("made by a newer version (format 999) and is left alone"),
        "{output}"
    );
    the_rest_works(&ws);
    ws.run(&["index", "--force"]).ok();
    assert!(
        ws.read_bytes(".memory-forge/index.db") == bytes,
        "untouched"
    );
}

#[test]
fn garbage_where_the_index_should_be() {
    let ws = good();
    ws.run(&["index"]).ok();
    let real = ws.read_bytes(".memory-forge/index.db");
    let mut torn = real.clone();
    torn[8192..24_576].fill(0xa5);
    let mut cut = real.clone();
    cut.truncate(real.len() / 2);
    let mut wrong_pages = real.clone();
    wrong_pages[100..8192].fill(0);
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("text", b"not a database".to_vec()),
        (
            "noise",
            (0..50_000u32)
                .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
                .collect(),
        ),
        ("torn", torn),
        ("cut", cut),
        ("zeroed", wrong_pages),
    ] {
        for name in ["index.db-wal", "index.db-shm"] {
            let _ = std::fs::remove_file(ws.path(".memory-forge").join(name));
        }
        ws.write(".memory-forge/index.db", bytes);
        let output = ws.run(&["search", "quokka", "--mode", "text"]);
        assert!(
            output.ok().contains("knowledge/good.md:"),
            "{what}: {output}"
        );
        assert!(
            output.stderr.contains("Rebuilt the index: "),
            "{what}: {output}"
        );
        the_rest_works(&ws);
    }
}

#[test]
fn garbage_in_everything_derived() {
    let ws = good();
    ws.run(&["index"]).ok();
    let names = std::fs::read_dir(ws.path(".memory-forge")).expect("it is there");
    for name in names.flatten() {
        std::fs::write(name.path(), b"\xff\x00garbage").expect("ours");
    }
    the_rest_works(&ws);
    let manifest = ws.read(".memory-forge/manifest.json");
    assert!(manifest.contains("knowledge/good.md"), "{manifest}");
}

#[test]
fn a_file_where_the_derived_folder_should_be() {
    let ws = good();
    ws.write(".memory-forge", "mine\n");
    answered_from_memory(&ws.run(&["search", "quokka"]));
    let output = ws.run(&["index"]);
    not_kept(&output);
    assert!(
        output.stderr.contains(".memory-forge` is not a folder"),
        "{output}"
    );
    assert_eq!(ws.read(".memory-forge"), "mine\n");
}

#[test]
fn a_folder_where_the_index_should_be() {
    let ws = good();
    ws.write(".memory-forge/index.db/mine", "mine\n");
    let output = ws.run(&["search", "quokka"]);
    assert!(output.ok().contains("knowledge/good.md:"), "{output}");
    assert!(output.stderr.contains("moved aside"), "{output}");
    the_rest_works(&ws);
    let tree = ws.tree();
    let kept = tree.lines().find(|line| line.contains("/mine"));
    assert!(
        kept.is_some_and(|line| line.contains("/foreign-")),
        "{tree}"
    );
}

#[test]
#[cfg(unix)]
fn a_symlink_where_the_derived_folder_should_be() {
    let ws = good();
    std::os::unix::fs::symlink(ws.home(), ws.path(".memory-forge")).expect("ours");
    answered_from_memory(&ws.run(&["search", "quokka"]));
    not_kept(&ws.run(&["index"]));
    assert_eq!(std::fs::read_dir(ws.home()).expect("there").count(), 0);
}

#[test]
fn a_broken_configuration() {
    let check = |toml: &str, said: &[&str]| {
        let ws = good();
        ws.write("memory-forge.toml", toml);
        let output = ws.run(&["search", "quokka", "--mode", "text"]);
        assert!(output.ok().contains("knowledge/good.md:"), "{output}");
        for part in said {
            assert!(output.stderr.contains(part), "{part}: {output}");
        }
        assert_eq!(ws.read("memory-forge.toml"), toml);
        the_rest_works(&ws);
    };
    check(
        "[search\nlimit = 3\n",
        &["warning: ", "memory-forge.toml", "line 1"],
    );
    check(
        "[search]\nlimmit = 3\n",
        &["memory-forge.toml", "line 2", "search.limit"],
    );
    check(
        "[search]\nlimit = 0\n",
        &["search.limit", "a number from 1 to 100"],
    );
    check("[search]\nlimit = \"many\"\n", &["search.limit", "line 2"]);
    check("[search]\nmode = \"texx\"\n", &["search.mode", "\"text\""]);
    check("[nonsense]\na = 1\n", &["nonsense"]);
    check("\u{0}\u{1}", &["memory-forge.toml"]);
}

#[test]
fn a_configuration_that_is_not_a_file_or_not_text() {
    let ws = good();
    ws.write("memory-forge.toml", b"[search]\nlimit = \xff\n");
    let output = ws.run(&["search", "quokka"]);
    assert!(output.ok().contains("knowledge/good.md:"), "{output}");
    assert!(
        output.stderr.contains("warning: `memory-forge.toml`"),
        "{output}"
    );
    ws.remove("memory-forge.toml");
    ws.write("memory-forge.toml/x", "");
    let output = ws.run(&["search", "quokka"]);
    assert!(output.ok().contains("knowledge/good.md:"), "{output}");
    assert!(
        output.stderr.contains("warning: `memory-forge.toml`"),
        "{output}"
    );
}

#[test]
#[cfg(unix)]
fn a_symlinked_configuration_is_refused() {
    let ws = good();
    ws.write("other.toml", "[search]\nlimit = 1\n");
    std::os::unix::fs::symlink("other.toml", ws.path("memory-forge.toml")).expect("ours");
    let output = ws.run(&["search", "quokka"]);
    assert!(output.ok().contains("knowledge/good.md:"), "{output}");
    assert!(
        output.stderr.contains("memory-forge.toml") && output.stderr.contains("symlink"),
        "{output}"
    );
}

#[test]
fn a_root_that_is_not_there() {
    let ws = good();
    let output = ws.run(&["--root", "nowhere", "search", "x"]);
    assert_ne!(output.status, Some(0), "{output}");
    assert!(output.stderr.contains("nowhere"), "{output}");
    let output = ws.run(&["--root", "knowledge/good.md", "search", "x"]);
    assert_ne!(output.status, Some(0), "{output}");
    assert!(output.stderr.contains("is not a folder"), "{output}");
}
