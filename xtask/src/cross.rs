//! `cargo xtask cross`: builds the tests for another system with Debian's
//! compiler, which brings the sources of its standard library, and runs them
//! under an emulator. It never hides a failure: what fails is printed by name,
//! and the command fails with it.
//!
//! Each system is a file in `cross/` with its rows of the table; what all of
//! them share is here.

mod arm;
mod inspect;
mod programs;
mod windows;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

const USAGE: &str = "usage: cross windows|arm [--only SUITE]... [--build] [--filter TEXT]
       cross musl|glibc|macos [--only TRIPLE] [--profile NAME]";

/// Debian's compiler. The toolchain of rustup cannot build a standard library.
const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";
const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// The longest that one test executable may run. Emulators can hang.
const MAX_SUITE_TIME: Duration = Duration::from_secs(90 * 60);

/// Variables for the programs that are run.
type RunVariables = Vec<(&'static str, OsString)>;

/// Another system, and how its programs are built and run here.
struct CrossTarget {
    /// The name on the command line. Two rows may share it.
    name: &'static str,
    triple: &'static str,
    /// Debian packages of the compiler, linker and emulator.
    packages: &'static [&'static str],
    /// Programs that show whether those packages are installed.
    tools: &'static [&'static str],
    /// Variables for cargo, rustc and C compilers.
    variables: &'static [(&'static str, &'static str)],
    /// The emulator with its arguments; empty if the programs run as they are.
    runner: &'static [&'static str],
    /// Whether programs of this system run here at all.
    can_run: bool,
    /// Prepares a folder of the target, and returns variables for the runs.
    prepare: fn(&Path) -> Result<RunVariables>,
    /// Returns the name of a file as programs of this system spell it.
    spell: fn(&Path) -> OsString,
}

/// Every system, in the order of the command line's help.
fn targets() -> impl Iterator<Item = &'static CrossTarget> {
    [windows::TARGETS, arm::TARGETS].into_iter().flatten()
}

/// A set of test executables, by package and by the names of its targets.
struct Suite {
    name: &'static str,
    package: &'static str,
    /// Arguments for `cargo test` that select the targets.
    select: &'static [&'static str],
}

/// The suites that run on every system.
const SUITES: [Suite; 9] = [
    unit("text", "forge-text"),
    unit("embed", "forge-embed"),
    unit("store", "forge-store"),
    unit("memory", "forge-memory"),
    unit("clients", "forge-clients"),
    unit("app", "forge-app"),
    // The kill tests are `soak` in the whole-program suite and the crate's own.
    unit("soak", "soak"),
    Suite {
        name: "program",
        package: "memory-forge",
        select: &["--bins", "--test", "it"],
    },
    Suite {
        name: "hostile",
        package: "memory-forge",
        select: &["--test", "hostile"],
    },
];

const fn unit(name: &'static str, package: &'static str) -> Suite {
    Suite {
        name,
        package,
        select: &["--lib"],
    }
}

#[derive(Default)]
struct CrossRequest {
    /// Names of suites; all if empty.
    only: Vec<String>,
    /// Only tests whose name contains this.
    filter: Option<String>,
    should_only_build: bool,
}

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (name, rest) = arguments.split_first().context(USAGE)?;
    if programs::is_known(name) {
        return programs::run(name, rest);
    }
    let rows: Vec<_> = targets().filter(|row| row.name == *name).collect();
    ensure!(!rows.is_empty(), "no such system: {name}\n{USAGE}");
    let request = parse_request(rest)?;
    let mut failed = Vec::new();
    for row in rows {
        run_target(row, &request, &mut failed)?;
    }
    ensure!(failed.is_empty(), "{} failed", failed.join(", "));
    Ok(())
}

fn parse_request(arguments: &[&str]) -> Result<CrossRequest> {
    let mut request = CrossRequest::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--build" => request.should_only_build = true,
            "--only" => {
                let name = words.next().context("--only needs the name of a suite")?;
                let known = SUITES.iter().any(|suite| suite.name == *name);
                let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
                ensure!(known, "no suite {name}: {}", names.join(", "));
                request.only.push((*name).to_owned());
            }
            "--filter" => {
                let text = words.next().context("--filter needs a part of a name")?;
                request.filter = Some((*text).to_owned());
            }
            _ => bail!("{USAGE}"),
        }
    }
    Ok(request)
}

fn run_target(
    target: &CrossTarget,
    request: &CrossRequest,
    failed: &mut Vec<String>,
) -> Result<()> {
    check_tools(target)?;
    let folder = crate::target().join("cross");
    let own = folder.join(target.triple).join("cross-run");
    fs::create_dir_all(&own)?;
    let variables = (target.prepare)(&own)?;
    let mut results = Vec::new();
    let chosen = |suite: &&Suite| {
        request.only.is_empty() || request.only.iter().any(|name| name == suite.name)
    };
    for suite in SUITES.iter().filter(chosen) {
        println!("== {} for {}", suite.name, target.triple);
        let executables = match build(target, suite, &folder) {
            Ok(executables) => executables,
            Err(error) => {
                println!("{error:#}");
                failed.push(format!("{} ({}, build)", suite.name, target.triple));
                continue;
            }
        };
        if request.should_only_build || !target.can_run {
            println!("built {} executables", executables.len());
            continue;
        }
        for executable in executables {
            let result = run_executable(target, &executable, request, &variables, &own)?;
            println!("{result}");
            if !result.is_good() {
                failed.push(format!("{} ({})", executable.title(), target.triple));
            }
            results.push(result);
        }
    }
    print_table(target, &results);
    Ok(())
}

fn check_tools(target: &CrossTarget) -> Result<()> {
    let is_there = |tool: &str| {
        if tool.starts_with('/') {
            return Path::new(tool).exists();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(tool).exists())
    };
    let sources = "/usr/lib/rustlib/src/rust/library/std";
    let mut tools = [CARGO, RUSTC, sources]
        .into_iter()
        .chain(target.tools.iter().copied());
    if let Some(missing) = tools.find(|tool| !is_there(tool)) {
        bail!(
            "{missing} is missing; on Debian: apt-get install --no-install-recommends {} {}",
            PACKAGES.join(" "),
            target.packages.join(" ")
        );
    }
    Ok(())
}

/// A test executable and the package that it belongs to.
struct TestExecutable {
    package: String,
    target: String,
    folder: PathBuf,
    file: PathBuf,
}

impl TestExecutable {
    fn title(&self) -> String {
        format!("{}:{}", self.package, self.target)
    }
}

/// Builds a suite, and returns its executables.
fn build(target: &CrossTarget, suite: &Suite, folder: &Path) -> Result<Vec<TestExecutable>> {
    let mut cargo = cargo_test(target, folder);
    cargo
        .args(["--no-run", "--package", suite.package])
        .args(suite.select)
        .args(["--message-format", "json-render-diagnostics"])
        .stdout(Stdio::piped());
    let mut child = cargo.spawn().context("cannot start cargo")?;
    let output = child.stdout.take().context("standard output is a pipe")?;
    let mut executables = Vec::new();
    for line in BufReader::new(output).lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(&line?) else {
            continue;
        };
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            continue;
        }
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(text(&message["manifest_path"]));
        executables.push(TestExecutable {
            package: suite.package.to_owned(),
            target: text(&message["target"]["name"]),
            folder: manifest.parent().unwrap_or(&manifest).to_path_buf(),
            file: PathBuf::from(text(&message["executable"])),
        });
    }
    ensure!(child.wait()?.success(), "{} does not build", suite.name);
    Ok(executables)
}

/// Debian's `cargo test` for a target.
fn cargo_test(target: &CrossTarget, folder: &Path) -> Command {
    let mut cargo = Command::new(CARGO);
    cargo
        .args(["test", "--locked"])
        .args(["-Z", "build-std=std,panic_unwind"])
        .args(["--target", target.triple])
        .current_dir(crate::repository())
        // Cargo that started this command names its own compiler.
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .env("RUSTC", RUSTC)
        // A standard library from source is not a stable feature of cargo.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .envs(target.variables.iter().copied());
    cargo
}

/// What one test executable printed.
struct SuiteResult {
    title: String,
    passed: usize,
    failed: BTreeSet<String>,
    /// Tests that are ignored here, and tests that returned early, with reasons.
    skipped: BTreeSet<String>,
    /// How it ended, if it did not end by itself with a summary.
    broken: Option<String>,
    log: PathBuf,
}

impl SuiteResult {
    fn is_good(&self) -> bool {
        self.failed.is_empty() && self.broken.is_none()
    }
}

impl std::fmt::Display for SuiteResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for skipped in &self.skipped {
            writeln!(f, "  skipped {skipped}")?;
        }
        for failed in &self.failed {
            writeln!(f, "  FAILED {failed}")?;
        }
        if let Some(broken) = &self.broken {
            writeln!(f, "  FAILED: {broken}")?;
        }
        write!(
            f,
            "{}: {} passed, {} failed, {} skipped; {}",
            self.title,
            self.passed,
            self.failed.len() + usize::from(self.broken.is_some()),
            self.skipped.len(),
            self.log.display()
        )
    }
}

/// Runs one test executable under the emulator.
fn run_executable(
    target: &CrossTarget,
    executable: &TestExecutable,
    request: &CrossRequest,
    variables: &[(&'static str, OsString)],
    own: &Path,
) -> Result<SuiteResult> {
    let base = own.join(executable.title().replace(':', "-"));
    let log = base.with_extension("log");
    let skips = base.with_extension("skips");
    fs::write(&skips, "")?;
    let program = executable.file.clone().into_os_string();
    let mut words = target.runner.iter().map(OsString::from).collect::<Vec<_>>();
    words.push(program);
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .args(&request.filter)
        .current_dir(&executable.folder)
        .env("MEMORY_FORGE_SKIP_LOG", (target.spell)(&skips))
        // The same cases in every run, as in `./test.sh`.
        .env("PROPTEST_RNG_SEED", "20261115")
        .env("MEMORY_FORGE_WORKER_IS_BUILT", "1")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&log)?)
        .stderr(fs::File::create(base.with_extension("err"))?);
    let mut child = command.spawn().context("cannot start the emulator")?;
    let ended = wait(&mut child, MAX_SUITE_TIME)?;
    let mut result = read_log(&read_lossy(&log)?, &read_lossy(&skips)?);
    result.title = executable.title();
    result.log = log;
    if result.broken.is_some() {
        result.broken = Some(match ended {
            Some(status) => format!("it ended without a summary ({status})"),
            None => format!(
                "it ran longer than {} minutes",
                MAX_SUITE_TIME.as_secs() / 60
            ),
        });
    }
    Ok(result)
}

/// Waits for a process, or ends it when the time is over.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<std::process::ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn read_lossy(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
}

/// Reads what a test executable printed, and the file to which tests that
/// returned early added a line.
fn read_log(log: &str, skips: &str) -> SuiteResult {
    let mut result = SuiteResult {
        title: String::new(),
        passed: 0,
        failed: BTreeSet::new(),
        skipped: skips.lines().map(str::to_owned).collect(),
        broken: Some(String::new()),
        log: PathBuf::new(),
    };
    for line in log.lines() {
        if line.starts_with("test result:") {
            result.broken = None;
        }
        let Some((name, outcome)) = line
            .strip_prefix("test ")
            .and_then(|it| it.rsplit_once(" ... "))
        else {
            continue;
        };
        match outcome.split(',').next().unwrap_or_default() {
            "ok" => result.passed += 1,
            "FAILED" => drop(result.failed.insert(name.to_owned())),
            "ignored" => {
                let reason = outcome.split_once(", ").map_or("no reason", |it| it.1);
                result.skipped.insert(format!("{name}: {reason}"));
            }
            _ => {}
        }
    }
    // A test that returned early counts as passed to the executable, and one that
    // needs a program which no emulator has counts as failed. Both wrote why.
    let early: BTreeSet<&str> = result
        .skipped
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, _)| name)
        .collect();
    let passed = log
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
    result.passed -= passed.filter(|name| early.contains(name)).count();
    result.failed.retain(|name| !early.contains(name.as_str()));
    result
}

fn print_table(target: &CrossTarget, results: &[SuiteResult]) {
    if results.is_empty() {
        return;
    }
    println!("\n{}", target.triple);
    println!(
        "{:<32} {:>8} {:>8} {:>8}",
        "suite", "passed", "failed", "skipped"
    );
    let row = |title: &str, numbers: [usize; 3]| {
        let [passed, failed, skipped] = numbers;
        println!("{title:<32} {passed:>8} {failed:>8} {skipped:>8}");
    };
    let mut total = [0; 3];
    for result in results {
        let failed = result.failed.len() + usize::from(result.broken.is_some());
        let numbers = [result.passed, failed, result.skipped.len()];
        for (sum, number) in total.iter_mut().zip(numbers) {
            *sum += number;
        }
        row(&result.title, numbers);
    }
    row("all", total);
}

/// Returns a path as it is: the system spells paths as this one does.
fn same_spelling(path: &Path) -> OsString {
    path.as_os_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_log_and_early_returns_are_skipped() {
        let log = "running 4 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\
                   test a::d ... ok\ntest a::e ... ignored, needs a pipe\n\n\
                   test result: FAILED. 2 passed; 1 failed; 1 ignored\n";
        let result = read_log(log, "a::d: git is missing\n");
        assert_eq!(result.passed, 1);
        assert_eq!(Vec::from_iter(&result.failed), ["a::c"]);
        let skipped = ["a::d: git is missing", "a::e: needs a pipe"];
        assert_eq!(Vec::from_iter(&result.skipped), skipped);
        assert!(!result.is_good());
    }

    #[test]
    fn an_executable_that_ends_without_a_summary_has_failed() {
        let result = read_log("running 2 tests\ntest a ... ok\n", "");
        assert!(!result.is_good());
        assert!(read_log("test a ... ok\ntest result: ok. 1 passed\n", "").is_good());
    }

    #[test]
    fn every_system_has_its_packages_and_a_known_runner() {
        for target in targets() {
            assert!(!target.packages.is_empty(), "{}", target.triple);
            for program in target.runner.iter().take(1) {
                assert!(target.tools.contains(program), "{}", target.triple);
            }
        }
    }
}
