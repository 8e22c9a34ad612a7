//! What a release publishes is installed and run: the archive is unpacked, the
//! npm packages are installed without scripts and without a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn a_release_installs_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("dist");
    let program = built_without_symbols(folder.path());
    let first = dist(&program, &out);
    let again = dist(&program, &folder.path().join("again"));
    assert_eq!(first, again, "the same inputs give the same bytes");

    let names: Vec<&str> = first
        .lines()
        .filter_map(|line| line.split("  ").nth(1))
        .collect();
    let unpacked = folder.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let root = |program: &str| {
        let archive = of(&names, program, ".tar.gz");
        ok(Command::new("tar")
            .arg("xzf")
            .arg(out.join(archive))
            .arg("-C")
            .arg(&unpacked));
        let root = unpacked.join(archive.trim_end_matches(".tar.gz"));
        let version = ok(Command::new(root.join(program)).arg("--version"));
        assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
        root
    };
    let engines = root("memory-forge-engines");
    assert!(engines.join("LICENSE-MIT").is_file() && !engines.join("man").exists());
    let root = root("memory-forge");
    for file in [
        "README.md",
        "LICENSE-MIT",
        "man/memory-forge.1",
        "man/memory-forge-search.1",
        "completions/_memory-forge",
    ] {
        assert!(root.join(file).is_file(), "{file} is missing");
    }
    for program in ["memory-forge", "memory-forge-engines"] {
        let formula = fs::read_to_string(out.join(format!("{program}.rb"))).unwrap();
        let archive = of(&names, program, ".tar.gz");
        let sum = first
            .lines()
            .find(|line| line.ends_with(archive))
            .and_then(|line| line.split("  ").next())
            .unwrap();
        assert!(formula.contains(sum), "{formula}");
        assert!(
            !formula.contains('{') || formula.contains("#{bin}"),
            "{formula}"
        );
    }

    if Command::new("npm").arg("--version").output().is_err() {
        return testkit::skip("npm is not here");
    }
    let version = env!("CARGO_PKG_VERSION");
    let wrapper = |program: &str| out.join(format!("{program}-{version}.tgz"));
    let platform = |program: &str| {
        let found = names.iter().find(|name| {
            let of_engines = name.starts_with("memory-forge-engines-");
            name.ends_with(".tgz")
                && of_engines == (program == "memory-forge-engines")
                && out.join(name) != wrapper(program)
        });
        out.join(found.expect("a package for this platform"))
    };
    let of_platform = platform("memory-forge");
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("package.json"), "{\"private\":true}").unwrap();
    // The other platforms' packages are nowhere; they are optional, and npm
    // goes on without them.
    ok(npm(&project)
        .args(["install", "--offline", "--ignore-scripts", "--no-audit"])
        .args(["--no-fund", "--omit=optional"])
        .args([&of_platform, &wrapper("memory-forge")])
        .args([
            platform("memory-forge-engines"),
            wrapper("memory-forge-engines"),
        ]));
    let installed = project.join("node_modules/.bin/memory-forge");
    let version = ok(Command::new(&installed).arg("--version"));
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    let worker = project.join("node_modules/.bin/memory-forge-engines");
    let told = ok(Command::new(&worker).arg("--version"));
    assert!(told.starts_with("memory-forge-engines "), "{told}");
    let unknown = Command::new(&installed)
        .arg("no-such-verb")
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(2), "exit codes come through");

    fs::remove_dir_all(project.join("node_modules").join(package(&of_platform))).unwrap();
    let without = Command::new(&installed).arg("stats").output().unwrap();
    assert_eq!(without.status.code(), Some(1));
    let told = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(told.contains("no program for"), "{told}");
    let hook = Command::new(&installed).arg("hook").output().unwrap();
    assert_eq!(hook.status.code(), Some(0), "a hook never blocks");
    assert!(hook.stdout.is_empty());
}

/// Makes a release of the debug build, and gives its list of sums.
/// Builds both programs and copies them without their symbols, which would be
/// most of what is compressed here.
fn built_without_symbols(folder: &Path) -> PathBuf {
    // As the tests were built: for one package alone, cargo would choose other
    // features and build most of it anew.
    ok(Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--workspace"])
        .args(["--bin", "memory-forge", "--bin", "memory-forge-engines"]));
    let xtask = Path::new(env!("CARGO_BIN_EXE_xtask"));
    let programs = ["memory-forge", "memory-forge-engines"].map(|name| {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let copy = folder.join(&name);
        fs::copy(xtask.with_file_name(&name), &copy).unwrap();
        // Where there is no `strip`, the test takes longer.
        let _ = Command::new("strip").arg(&copy).status();
        copy
    });
    programs[0].clone()
}

fn dist(program: &Path, out: &Path) -> String {
    let xtask = Path::new(env!("CARGO_BIN_EXE_xtask"));
    ok(Command::new(xtask)
        .arg("dist")
        .arg("--binary")
        .arg(program)
        .arg("--out")
        .arg(out));
    fs::read_to_string(out.join("SHA256SUMS")).unwrap()
}

/// The file of a program with this end, by its name and the version.
fn of<'a>(names: &[&'a str], program: &str, end: &str) -> &'a str {
    let start = format!("{program}-v");
    let found = names
        .iter()
        .find(|name| name.starts_with(&start) && name.ends_with(end));
    found.unwrap_or_else(|| panic!("no {program}{end} in {names:?}"))
}

fn npm(folder: &Path) -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(folder)
        .env("HOME", folder)
        .env("npm_config_cache", folder.join(".npm"))
        .env("npm_config_update_notifier", "false");
    npm
}

/// `…/memory-forge-linux-x64-0.1.0.tgz` → `memory-forge-linux-x64`.
fn package(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let end = format!("-{}.tgz", env!("CARGO_PKG_VERSION"));
    PathBuf::from(name.trim_end_matches(&end))
}

fn ok(command: &mut Command) -> String {
    let output: Output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
