//! Prints manual pages, made from the same definition as the help. It installs
//! nothing.

use anyhow::Context;
use clap::Args;
use clap_mangen::Man;

use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Print the manual page of the program or of one command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge man | man -l -
  memory-forge man mind set | man -l -
  memory-forge man search > ~/.local/share/man/man1/memory-forge-search.1")]
pub(crate) struct ManArgs {
    /// The command to print the page of
    #[arg(conflicts_with = "list")]
    pub(crate) command: Vec<String>,

    /// List what has a page, one to a line
    #[arg(long)]
    pub(crate) list: bool,
}

pub(crate) fn run_man(
    args: ManArgs,
    _: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut program = crate::cli::command_definition();
    // Global options reach the commands only when the definition is built.
    program.build();
    if args.list {
        let mut pages = Vec::new();
        list_pages(&program, "", &mut pages);
        for name in pages {
            ui.print(&format!("{name}\n"))?;
        }
        return Ok(CommandExit::Success);
    }
    let name = args.command.join("-");
    let first = name.split('-').next().unwrap_or_default();
    let name = match crate::cli::parent_of(first) {
        Some(parent) => format!("{parent}-{name}"),
        None => name,
    };
    let page = if name.is_empty() {
        program
    } else {
        command_page(&program, &name)?
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .context("Cannot render the manual page")?;
    ui.print(&String::from_utf8_lossy(&text))?;
    Ok(CommandExit::Success)
}

/// Returns a command by the name of its page: `search`, or `mind-set`.
fn command_page(program: &clap::Command, name: &str) -> Result<clap::Command, CommandError> {
    let command = find_command(program, name).ok_or_else(|| {
        let names: Vec<&str> = program
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        CommandError::usage(format!("There is no command `{name}`"))
            .hint(format!("The commands are {}", names.join(", ")))
    })?;
    // A page's file is named after the whole command.
    let title = format!("memory-forge-{name}");
    Ok(command
        .clone()
        .version(env!("CARGO_PKG_VERSION"))
        .display_name(title))
}

fn find_command<'a>(parent: &'a clap::Command, name: &str) -> Option<&'a clap::Command> {
    parent.get_subcommands().find_map(|command| {
        let rest = name.strip_prefix(command.get_name())?;
        match rest.strip_prefix('-') {
            None if rest.is_empty() => Some(command),
            None => None,
            Some(rest) => find_command(command, rest),
        }
    })
}

fn list_pages(parent: &clap::Command, before: &str, pages: &mut Vec<String>) {
    let shown = |command: &&clap::Command| !command.is_hide_set();
    for command in parent.get_subcommands().filter(shown) {
        let name = format!("{before}{}", command.get_name());
        pages.push(name.clone());
        list_pages(command, &format!("{name}-"), pages);
    }
}
