//! `man`: manual pages, made from the same definition as the help. It prints a
//! page and installs nothing.

use anyhow::Context;
use clap::Args;
use clap_mangen::Man;

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Print the manual page of the program or of one command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge man | man -l -
  memory-forge man search > ~/.local/share/man/man1/memory-forge-search.1")]
pub(crate) struct ManArgs {
    /// The command to print the page of
    #[arg(conflicts_with = "list")]
    pub(crate) command: Option<String>,

    /// List the commands that have a page, one to a line
    #[arg(long)]
    pub(crate) list: bool,
}

pub(crate) fn run(args: ManArgs, _: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let mut program = crate::cli::definition();
    // Global options reach the commands only when the definition is built.
    program.build();
    if args.list {
        for name in names(&program) {
            ui.print(&format!("{name}\n"))?;
        }
        return Ok(Exit::Success);
    }
    let page = match &args.command {
        None => program,
        Some(name) => one_command(&program, name)?,
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .context("Cannot render the manual page")?;
    ui.print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Success)
}

fn one_command(program: &clap::Command, name: &str) -> Result<clap::Command, CommandError> {
    let command = program.find_subcommand(name).ok_or_else(|| {
        CommandError::usage(format!("There is no command `{name}`"))
            .hint(format!("The commands are {}", names(program).join(", ")))
    })?;
    Ok(command.clone().version(env!("CARGO_PKG_VERSION")))
}

fn names(program: &clap::Command) -> Vec<&str> {
    program
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect()
}
