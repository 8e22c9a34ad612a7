//! The scripts that the workflows and the action call, with stand-ins for the
//! programs that they start. The workflows themselves run nowhere but on their
//! host; `scripts/lint-workflows.sh` reads them.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use packing::release::{Built, Release};
use packing::table::{PROGRAMS, Target};

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    root.expect("the crate lies two levels below").to_owned()
}

fn read(path: &str) -> String {
    let path = repository().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A folder with programs of our own making, which come first on the `PATH`.
struct Stage {
    place: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        let place = tempfile::tempdir().expect("a folder can be made");
        fs::create_dir(place.path().join("bin")).expect("made");
        Stage { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Adds a program that writes its arguments, a line each call, to `calls`
    /// and then does this.
    fn program(self, name: &str, script: &str) -> Stage {
        let file = self.path("bin").join(name);
        let calls = self.path("calls");
        let text = format!(
            "#!/bin/sh\necho \"{name} $*\" >>'{}'\n{script}\n",
            calls.display()
        );
        // Written by a process of its own: a file that this one has open for
        // writing while another test starts a program cannot be run.
        let mut shell = Command::new("sh")
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(&file)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut input = shell.stdin.take().expect("a pipe");
        input.write_all(text.as_bytes()).expect("written");
        drop(input);
        assert!(shell.wait().expect("it ends").success());
        self
    }

    fn run(&self, script: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.path("bin").display()
        );
        Command::new(repository().join(script))
            .args(arguments)
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.place.path())
            .envs(environment.iter().copied())
            .current_dir(self.place.path())
            .output()
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }
}

fn ok(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text
}

#[test]
fn every_script_that_is_called_is_there_and_can_be_run() {
    let mut called = BTreeSet::new();
    for file in [
        ".github/workflows/ci.yml",
        ".github/workflows/release.yml",
        "action.yml",
    ] {
        let text = read(file);
        let words = text.split(|c: char| c.is_whitespace() || "\"'".contains(c));
        for word in words.filter(|word| word.ends_with(".sh")) {
            let start = word.find("scripts/").or_else(|| word.find("test.sh"));
            called.insert(word[start.unwrap_or_else(|| panic!("{file}: {word}"))..].to_owned());
        }
    }
    assert!(called.len() >= 8, "{called:?}");
    for script in called {
        let about = fs::metadata(repository().join(&script));
        let about = about.unwrap_or_else(|error| panic!("{script}: {error}"));
        assert!(about.permissions().mode() & 0o111 != 0, "{script}");
    }
}

#[test]
fn the_release_workflow_builds_every_target_of_the_table() {
    let text = read(".github/workflows/release.yml");
    for target in &packing::table::TARGETS {
        let line = format!("- target: {}", target.rust);
        assert!(text.contains(&line), "{line}");
    }
    assert_eq!(
        text.matches("- target: ").count(),
        packing::table::TARGETS.len()
    );
}

#[test]
fn a_report_has_both_checks_and_fails_after_both_ran() {
    let script = "case \"$1\" in audit) echo fine ;; check) printf 'a.md:1\\n```\\n````x\\n'; exit 1 ;; esac";
    let stage = Stage::new().program("memory-forge", script);
    let output = stage.path("output");
    let output = output.to_str().expect("UTF-8");
    let done = stage.run(
        "scripts/action/check.sh",
        &["."],
        &[("GITHUB_OUTPUT", output)],
    );
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(
        stage.calls(),
        "memory-forge audit --ci\nmemory-forge check\n"
    );
    let named = fs::read_to_string(output).expect("the output is named");
    let report = named.trim().strip_prefix("report=").expect("a path");
    let report = fs::read_to_string(report).expect("it was written");
    assert!(
        report.starts_with("<!-- memory-forge: report -->\n"),
        "{report}"
    );
    assert!(
        report.contains("### `memory-forge audit --ci`: passed"),
        "{report}"
    );
    assert!(
        report.contains("### `memory-forge check`: failed (1)"),
        "{report}"
    );
    // The text cannot end the fence in which it is.
    assert!(
        report.contains("`````text\na.md:1\n```\n````x\n`````\n"),
        "{report}"
    );

    let stage = Stage::new().program("memory-forge", "echo fine");
    ok(&stage.run("scripts/action/check.sh", &[], &[]));
}

#[test]
fn there_is_one_comment_however_often_the_action_runs() {
    let repository = ("GITHUB_REPOSITORY", "o/r");
    let stage = Stage::new().program("gh", "");
    let report = stage.path("report.md");
    fs::write(&report, "text").expect("written");
    let report = report.to_str().expect("UTF-8").to_owned();
    ok(&stage.run("scripts/action/comment.sh", &[&report, "7"], &[repository]));
    let calls = stage.calls();
    let post = format!("gh api --method POST repos/o/r/issues/7/comments -F body=@{report}\n");
    assert!(calls.ends_with(&post), "{calls}");

    let script = "case \"$*\" in *--paginate*) echo 41; echo 42 ;; esac";
    let stage = stage.program("gh", script);
    ok(&stage.run("scripts/action/comment.sh", &[&report, "7"], &[repository]));
    let calls = stage.calls();
    let patch = format!("gh api --method PATCH repos/o/r/issues/comments/41 -F body=@{report}\n");
    assert!(calls.ends_with(&patch), "{calls}");
}

/// The action installs the program by the installer of the release, which does
/// not take an archive with another checksum.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn the_action_installs_the_release_of_its_version() {
    let release = Release {
        repository: repository(),
        built: ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"]
            .into_iter()
            .map(|target| Built {
                program: &PROGRAMS[0],
                target: Target::from_name(target).expect("it is in the table"),
                bytes: b"#!/bin/sh\necho it runs\n".to_vec(),
            })
            .collect(),
        texts: Vec::new(),
        commit: None,
        signed_sums: None,
    };
    let stage = Stage::new();
    let published = stage.path("published");
    fs::create_dir(&published).expect("made");
    for (name, bytes) in release.pack().expect("packed") {
        fs::write(published.join(name), bytes).expect("written");
    }
    let from = format!("file://{}", published.display());
    let path_file = stage.path("path");
    let temporary = stage.path("runner");
    let environment = [
        ("MEMORY_FORGE_DOWNLOAD_URL", from.as_str()),
        ("RUNNER_TEMP", temporary.to_str().expect("UTF-8")),
        ("GITHUB_PATH", path_file.to_str().expect("UTF-8")),
    ];
    ok(&stage.run("scripts/action/install.sh", &[], &environment));
    let folder = fs::read_to_string(&path_file).expect("the folder is named");
    let program = Path::new(folder.trim()).join("memory-forge");
    let output = Command::new(program).output().expect("it can be run");
    assert_eq!(ok(&output), "it runs\n");

    for entry in fs::read_dir(&published).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().ends_with(".tar.gz") {
            fs::write(path, "another archive").expect("written");
        }
    }
    fs::remove_dir_all(&temporary).expect("removed");
    let refused = stage.run("scripts/action/install.sh", &[], &environment);
    assert!(!refused.status.success());
    assert!(!temporary.join("memory-forge/bin").exists());
}

#[test]
fn a_release_is_built_packed_signed_and_verified_in_this_order() {
    let key = ("MEMORY_FORGE_SIGNING_KEY", "the key");
    let stage = Stage::new().program("cargo", "").program("rustup", "");
    let binaries = stage.path("binaries");
    fs::create_dir(&binaries).expect("made");
    let binaries = binaries.to_str().expect("UTF-8");
    let target = "x86_64-unknown-linux-gnu";
    ok(&stage.run("scripts/release/build.sh", &[target, binaries], &[]));
    ok(&stage.run("scripts/release/pack.sh", &[binaries, "out"], &[key]));
    let tools = repository().join("target/tools");
    let tools = tools.display();
    let expect = format!(
        "rustup target add {target}\n\
         cargo install cargo-auditable --version 0.7.7 --locked --root {tools}\n\
         cargo xtask dist --build {target} --out {binaries}\n\
         cargo xtask dist --binaries {binaries} --out out --signer scripts/release/sign.sh\n\
         cargo xtask dist --verify out\n"
    );
    assert_eq!(stage.calls(), expect);
}

#[test]
fn the_key_is_in_a_file_only_while_a_file_is_signed() {
    let script = "while [ \"$1\" != -s ]; do shift; done\necho \"$2\" >\"$HOME/where\"\ncat \"$2\" >\"$HOME/key\"";
    let stage = Stage::new().program("minisign", script);
    let key = ("MEMORY_FORGE_SIGNING_KEY", "secret\nkey");
    ok(&stage.run("scripts/release/sign.sh", &["SHA256SUMS"], &[key]));
    assert!(!stage.calls().contains("secret"), "{}", stage.calls());
    assert_eq!(
        fs::read_to_string(stage.path("key")).expect("read"),
        "secret\nkey\n"
    );
    let file = fs::read_to_string(stage.path("where")).expect("read");
    assert!(!Path::new(file.trim()).exists());
    let refused = stage.run("scripts/release/sign.sh", &["SHA256SUMS"], &[]);
    assert!(!refused.status.success(), "there is no key");
}

#[test]
fn a_tag_has_to_be_the_version_and_to_be_in_the_changelog() {
    let stage = Stage::new();
    let folder = stage.path("scripts/release");
    fs::create_dir_all(&folder).expect("made");
    let script = folder.join("check-version.sh");
    fs::copy(
        repository().join("scripts/release/check-version.sh"),
        &script,
    )
    .expect("copied");
    let manifest = "[workspace]\n[workspace.package]\nversion = \"1.2.3\"\n[a]\nversion = \"9\"\n";
    fs::write(stage.path("Cargo.toml"), manifest).expect("written");
    let script = script.to_str().expect("UTF-8").to_owned();
    let passes = |tag: &str| stage.run(&script, &[tag], &[]).status.success();
    fs::write(stage.path("CHANGELOG.md"), "## [Unreleased]\n").expect("written");
    assert!(!passes("v1.2.3"), "the changelog has no section");
    let changes = "## [Unreleased]\n## [1.2.3] - 2026-11-19\n\n- New\n\n## [1.2.2]\n\n- Old\n";
    fs::write(stage.path("CHANGELOG.md"), changes).expect("written");
    assert!(passes("v1.2.3"));
    assert!(!passes("v1.2.4") && !passes("1.2.3"));

    // The same changelog gives the text of the release.
    let publish = folder.join("publish.sh");
    fs::copy(repository().join("scripts/release/publish.sh"), &publish).expect("copied");
    let notes =
        "for word; do case $word in /tmp/*) cat \"$word\" >\"$HOME/notes\"; break ;; esac; done";
    let stage = stage.program("gh", notes);
    fs::create_dir(stage.path("files")).expect("made");
    fs::write(stage.path("files/a"), "x").expect("written");
    let publish = publish.to_str().expect("UTF-8").to_owned();
    ok(&stage.run(&publish, &["v1.2.3", "files"], &[]));
    assert!(
        stage
            .calls()
            .starts_with("gh release create v1.2.3 --draft --verify-tag")
    );
    assert_eq!(
        fs::read_to_string(stage.path("notes")).expect("read"),
        "\n- New\n\n"
    );
}
