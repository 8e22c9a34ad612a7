//! Runs the `memory-forge` binary: parse, resolve, run one command, report. It
//! holds no feature of its own; those are in `forge-app` and below.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod choice;
mod cli;
mod commands;
#[cfg(debug_assertions)]
mod faults;
mod hits;
mod hooks;
mod library;
mod mcp;
mod paths;
#[cfg(test)]
mod reference;
mod recorded;
mod report;
mod servers;
mod settings;
mod status;
mod ui;
mod view;

use std::process::ExitCode;

use settings::{Process, Settings};

/// The program's name alone: where a project stands, or how to begin.
fn begin() -> ExitCode {
    let process = Process::observe();
    match Settings::resolve(&cli::GlobalArgs::default(), &process) {
        Ok(settings) if commands::standing::is_in_project(&settings) => {
            report::end(commands::stand(&settings), settings.look())
        }
        _ => report::begin(),
    }
}

fn main() -> ExitCode {
    #[cfg(debug_assertions)]
    if let Some(plan) = settings::fault() {
        faults::arm(&plan);
    }
    forge_app::trust::add_key_folders(settings::key_folders());
    // Before the parser, whose errors exit with a code that a hook must never
    // have.
    if let Some(arguments) = settings::hook_arguments() {
        return hooks::run(&arguments);
    }
    if settings::asks_for_version() {
        return report::version();
    }
    let words = settings::arguments();
    if words.len() < 2 {
        return report::guard(begin);
    }
    report::guard(|| match cli::parse(&words) {
        // Help and version leave here, before anything else was looked at.
        Err(error) => report::unparsed(error, &words),
        Ok(cli) => {
            let process = Process::observe();
            match Settings::resolve(&cli.global, &process) {
                Err(error) => report::fail(&error, process.look()),
                Ok(settings) => {
                    let result = commands::run(cli.command, &settings);
                    report::end(result, settings.look())
                }
            }
        }
    })
}
