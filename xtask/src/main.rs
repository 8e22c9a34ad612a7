//! Developer commands, run as `cargo xtask <command>`. They build and measure
//! the program from outside and are never part of it.

mod bench;
mod bench_embed;
mod convert_model;
mod mcpb;
mod soak;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  bench speed [--tree generated|mdn] [--runs N] [--files N] [--json FILE]
      Measure the release binary against git, ripgrep and the shell's `true`
  bench hooks [--runs N]
      Measure what a hook costs, against `true` and `node`
  bench mcp [--calls N] [--runs N] [--files N] [--binary FILE]
      Measure the server: start, searches on one connection, memory
  bench recall [SET]...
      Measure how well questions find their documents, by mode
  bench closets [longmemeval|locomo]... [--groups N] [--misses]
      Measure how well closets alone find files, beside full text
  bench links [--runs N]
      Measure `links check` against reading the files, and `links suggest` on 10,000 notes
  bench embed
      Measure the built-in model
  soak kills [--count N] [--seed N]
      Kill commands and hooks in the middle of their writes; nothing may be lost
  soak writers [--processes N] [--writes N]
      Let many processes write at once; every entry must be there once
  mcpb [--binary FILE]
      Make the bundle for desktop clients, of a release build unless told
  convert-model <folder> [FILE]
      Write the built-in model's file from a student that `training/export.py`
      wrote, or to FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["bench", "speed", rest @ ..] => bench::speed::run(rest),
        ["bench", "hooks", rest @ ..] => bench::hooks::run(rest),
        ["bench", "mcp", rest @ ..] => bench::mcp::run(rest),
        ["bench", "recall", rest @ ..] => bench::recall::run(rest),
        ["bench", "closets", rest @ ..] => bench::closets::run(rest),
        ["bench", "links", rest @ ..] => bench::links::run(rest),
        ["bench", "embed"] => bench_embed::run(),
        ["soak", "kills", rest @ ..] => soak::kills(rest),
        ["soak", "writers", rest @ ..] => soak::writers(rest),
        ["mcpb", rest @ ..] => mcpb::run(rest),
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
