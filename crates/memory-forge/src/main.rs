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

use settings::{ProcessEnvironment, Settings};

/// The program's name alone: a project's status, or how to begin.
fn begin() -> ExitCode {
    let process = ProcessEnvironment::observe();
    match Settings::resolve(&cli::GlobalArgs::default(), &process) {
        Ok(settings) if commands::standing::is_in_project(&settings) => {
            report::end_command(commands::stand(&settings), settings.message_style())
        }
        _ => report::print_getting_started(),
    }
}

fn main() -> ExitCode {
    #[cfg(debug_assertions)]
    if let Some(plan) = settings::fault_plan() {
        faults::arm_faults(&plan);
    }
    forge_app::trust::add_key_folders(settings::key_folders());
    // Before the parser, whose errors exit with a code that a hook must never
    // have.
    if let Some(arguments) = settings::hook_arguments() {
        return hooks::run_hook(&arguments);
    }
    if settings::is_version_request() {
        return report::print_version();
    }
    let words = settings::command_words();
    if words.len() < 2 {
        return report::run_guarded(begin);
    }
    report::run_guarded(|| match cli::parse_command_line(&words) {
        // Help and version leave here, before anything else was looked at.
        Err(error) => report::end_unparsed(error, &words),
        Ok(cli) => {
            let process = ProcessEnvironment::observe();
            match Settings::resolve(&cli.global, &process) {
                Err(error) => report::print_failure(&error, process.message_style()),
                Ok(settings) => {
                    let result = commands::run_command(cli.command, &settings);
                    report::end_command(result, settings.message_style())
                }
            }
        }
    })
}
