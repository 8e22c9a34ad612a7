//! Developer commands, run as `cargo xtask <command>`. They build and measure
//! the program from outside and are never part of it.

mod bench;
mod bench_embed;
mod convert_model;
mod cross;
mod dist;
mod fuzz;
mod lines;
mod reference;
mod site;
mod soak;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  bench speed [--tree generated|mdn] [--runs N] [--files N] [--json FILE]
      Measure the release binary against git, ripgrep and the shell's `true`
  bench hooks [--runs N] [--binary FILE] [--against FILE]...
      Measure what a hook and an unchanged search cost, against `true`, `node`
      and other builds of the program
  bench growth [--only WORD]... [--command WORD]... [--bytes N] [--drawn N] [--seed N]
               [--binary FILE]
      Measure how CPU time and memory of every command, hook and tool grow with
      their input, over hostile patterns; fails above an exponent of 1.2
  bench growth files [--files N] [--binary FILE]
      Measure `status` and `doctor` over 200,000 files, against a search
  bench mcp [--calls N] [--runs N] [--files N] [--binary FILE]
      Measure the server: start, searches on one connection, memory
  bench warm [--files N] [--questions N] [--binary FILE]
      Measure questions to a running server over 100,000 passages
  bench recall [SET]... [--json FILE] [--no-budgets] [--binary FILE] [--dump FILE]
      Measure how well questions find their documents, beside full text alone,
      vectors alone and plain fusion
  bench recall compare BEFORE AFTER
      Two such JSON files, question by question: what changed, and by chance?
  bench answers [--fit] [--json FILE] [--binary FILE]
      Measure what the labels of hits mean: on public documentation trees, with
      the answering documents and without them; --fit prints new weights
  bench first-hour REPOSITORY... [--binary FILE] [--json FILE]
      Do what a newcomer does in copies of public repositories: answers after
      `init --yes`, times, and whether everything can be taken out again
  bench closets [longmemeval|locomo]... [--groups N] [--misses]
      Measure how well closets alone find files, beside full text
  bench links [--runs N]
      Measure `links check` against reading the files, and `links suggest` on 10,000 notes
  bench secrets [--show]
      Count the formats of secrets that are taken out of Markdown, and what is
      taken out of documentation that holds none
  bench rules [--all] [--show] [--out DIR]
      Count the rules that stay when `doctor --fix` shortens real CLAUDE.md,
      AGENTS.md and SKILL.md files, ten of a repository at most
  bench replay [--part first|second|all] [--negatives] [--repeat N]
               [--second FILE] [--json FILE] [--binary FILE]
      Measure what hooks would have brought in real coding sessions, beside
      labelled needs; --negatives sends events that need nothing, --second
      compares another reader's labels, --repeat measures time
  bench view [--files N] [--runs N] [--binary FILE]
      Measure the page over 5,000 documents in Chromium
  bench engine parity [SET]... [--groups N] [--server 15|18]
      Measure how well the shared index finds documents, beside the embedded one
  bench engine scale [N] [--server 15|18] [--keep]
      Measure the shared index with N passages: pushing, asking, size, and a
      replica that takes over when the primary dies in the middle of a push
  bench engine ask URL
      Ask a server that `bench engine scale --keep` left running
  bench embed
      Measure the built-in model
  soak crash [--only NAME] [--threads N] [--binary FILE]
      Break each command that writes at each of its file operations, in turn
  soak kills [--count N] [--seed N] [--only NAME] [--threads N] [--binary FILE]
      Kill each command that writes so often, at random; nothing may be lost
  soak story [--count N] [--seed N] [--binary FILE]
      Kill commands and hooks in one workspace that grows; nothing may be lost
  soak writers [--processes N] [--writes N] [--binary FILE]
      Let many processes write at once; every entry must be there once
  soak mcp [--calls N] [--binary FILE]
      Call one server without end; its memory must not grow
  soak caps [--workspaces N] [--seed N]
      Random workspaces: briefings, MEMORY.md and closets stay below their caps
  fuzz [TARGET]... [--minutes N]
      Try inputs that nobody would write, N CPU minutes for each target
  fuzz keep [TARGET]...
      Put the small ones of those that reached something new into `fuzz/corpus`
  screenshots
      Take the pictures of `docs/images` anew
  dist [--target TARGET]... [--binary FILE] [--out FOLDER] [--signer COMMAND]
      Make what a release publishes, in the format of each way to install it
  dist --build TARGET --out FOLDER
      Build both programs for a target, for `dist --binaries FOLDER` on any machine
  dist --check [--binary FILE]
      Install it in every way that this machine can run, in empty folders
  dist --verify FOLDER
      Compare published files with their checksums
  dist --twice [--profile NAME]
      Build the commit in two folders and compare the programs
  cross windows|arm [--only SUITE]... [--build] [--filter TEXT]
      Build the tests for another system and run them under an emulator, with
      Debian's compiler; prints the packages that are missing
  cross musl|glibc|macos [--only TRIPLE] [--profile NAME]
      Build the program with zig as the linker, read what it needs of its
      system, and try it out where this machine can run it
  reference
      Write the pages of `docs/reference` that are made from the program
  site
      Build the documentation into `target/site` and check its links, with the
      mdbook that `scripts/site.sh` installs
  words [--beside FOLDER]...
      Count how the code is named and documented, beside other codebases
  lines [--in FOLDER]
      Count the lines of our own Rust that the first program links, tests left
      out, crate by crate; --in counts another checkout
  convert-model <folder> [FILE]
      Write the built-in model's file from a student that `training/export.py`
      wrote, or to FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if words.iter().any(|it| ["--help", "-h", "help"].contains(it)) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let result = match words.as_slice() {
        ["bench", "speed", rest @ ..] => bench::speed::run(rest),
        ["bench", "hooks", rest @ ..] => bench::hooks::run(rest),
        ["bench", "growth", rest @ ..] => bench::growth::run(rest),
        ["bench", "mcp", rest @ ..] => bench::mcp::run(rest),
        ["bench", "warm", rest @ ..] => bench::warm::run(rest),
        ["bench", "recall", rest @ ..] => bench::recall::run(rest),
        ["bench", "answers", rest @ ..] => bench::answers::run(rest),
        ["bench", "first-hour", rest @ ..] => bench::first_hour::run(rest),
        ["bench", "closets", rest @ ..] => bench::closets::run(rest),
        ["bench", "links", rest @ ..] => bench::links::run(rest),
        ["bench", "secrets", rest @ ..] => bench::secrets::run(rest),
        ["bench", "rules", rest @ ..] => bench::rules::run(rest),
        ["bench", "replay", rest @ ..] => bench::replay::run(rest),
        ["bench", "view", rest @ ..] => bench::view::run(rest),
        ["bench", "engine", rest @ ..] => bench_engine(rest),
        ["bench", "embed"] => bench_embed::run(),
        ["soak", "crash", rest @ ..] => soak::crash(rest),
        ["soak", "story", rest @ ..] => soak::story(rest),
        ["soak", "kills", rest @ ..] => soak::kills(rest),
        ["soak", "writers", rest @ ..] => soak::writers(rest),
        ["soak", "mcp", rest @ ..] => soak::mcp(rest),
        ["soak", "caps", rest @ ..] => soak::caps(rest),
        ["fuzz", "keep", rest @ ..] => fuzz::keep(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["screenshots"] => screenshots(),
        ["dist", rest @ ..] => dist::run(rest),
        ["cross", rest @ ..] => cross::run(rest),
        ["reference"] => reference::run(),
        ["site"] => site::run(),
        ["words", rest @ ..] => words::run(rest),
        ["lines", rest @ ..] => lines::run(rest),
        ["convert-model", from] => convert_model::run(from.as_ref(), &convert_model::builtin()),
        ["convert-model", from, to] => convert_model::run(from.as_ref(), to.as_ref()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}

/// The tests of the page take pictures on their way; those that the
/// documentation shows are kept.
fn screenshots() -> Result<()> {
    const KEPT: [&str; 6] = [
        "overview-light",
        "overview-dark",
        "search-light",
        "graph-dark",
        "timeline-light",
        "document-phone-light",
    ];
    let taken = target().join("screenshots");
    let status = Command::new(env!("CARGO"))
        .args([
            "test",
            "--package",
            "memory-forge",
            "--test",
            "view",
            "every_page",
        ])
        .env("MEMORY_FORGE_SCREENSHOTS", &taken)
        .status()?;
    ensure!(status.success(), "the tests of the page fail");
    let images = repository().join("docs/images");
    std::fs::create_dir_all(&images)?;
    for name in KEPT {
        let name = format!("{name}.png");
        std::fs::copy(taken.join(&name), images.join(format!("view-{name}")))?;
    }
    Ok(())
}

/// Runs the benchmark of the shared index, an example of the engines' package:
/// here it would have every developer command build TLS.
fn bench_engine(rest: &[&str]) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--locked"])
        .args(["--package", "memory-forge-engines"])
        .args(["--example", "bench_engine", "--"])
        .args(rest)
        .status()?;
    ensure!(status.success(), "the benchmark failed");
    Ok(())
}

/// Where cargo builds.
fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| repository().join("target"))
}

fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the repository")
}

/// Builds the program with debug assertions.
fn build_debug() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--locked", "-p", "memory-forge"])
        .args(["--bin", "memory-forge"])
        .current_dir(repository());
    ensure!(cargo.status()?.success(), "the build failed");
    let name = format!("memory-forge{}", std::env::consts::EXE_SUFFIX);
    Ok(target().join("debug").join(name))
}

/// Builds the program for release, for this machine or another target.
fn build_release(for_target: Option<&str>) -> Result<PathBuf> {
    build_program("memory-forge", for_target)
}

/// Builds one of the two programs for release.
fn build_program(program: &str, for_target: Option<&str>) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--locked", "-p", program])
        .args(["--bin", program])
        .current_dir(repository());
    let mut folder = target();
    let mut suffix = std::env::consts::EXE_SUFFIX;
    if let Some(triple) = for_target {
        cargo.args(["--target", triple]);
        folder = folder.join(triple);
        suffix = if triple.contains("windows") {
            ".exe"
        } else {
            ""
        };
    }
    ensure!(cargo.status()?.success(), "the release build failed");
    Ok(folder.join("release").join(format!("{program}{suffix}")))
}
