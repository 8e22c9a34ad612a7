//! Runs the worker that `memory-forge` starts for operations on a server: see
//! `memory_forge_engines::worker`. It has no commands of its own.

mod surroundings;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use memory_forge_engines::worker;

const ABOUT_TEXT: &str = "\
memory-forge-engines is started by memory-forge, for `engine`, `search --scope org`
and graph servers. It reads one request from standard input; there is nothing to
run by hand.
";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.len() == 1 && (arguments[0] == "--version" || arguments[0] == "-V") {
        let line = concat!("memory-forge-engines ", env!("CARGO_PKG_VERSION"), "\n");
        let _ = std::io::stdout().write_all(line.as_bytes());
        return ExitCode::SUCCESS;
    }
    // The folder is an argument, since a request is text and a path need not
    // be. The current directory stays the user's, because paths of certificates
    // are relative to it.
    let [root] = &arguments[..] else {
        return print_about();
    };
    if std::io::stdin().is_terminal() {
        return print_about();
    }
    forge_store::trust::add_key_folders(surroundings::list_key_folders());
    worker::serve_request(Path::new(root), &surroundings::observe_environment())
}

/// Prints what the program is for, to a person who starts it.
fn print_about() -> ExitCode {
    let _ = std::io::stderr().write_all(ABOUT_TEXT.as_bytes());
    ExitCode::from(2)
}
