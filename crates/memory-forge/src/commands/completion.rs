//! `completion`: a script that completes commands and flags in a shell. It
//! prints the script and installs nothing.

use clap::Args;
use clap_complete::Shell;

use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Print a script that completes commands and flags in your shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge completion bash > ~/.local/share/bash-completion/completions/memory-forge
  memory-forge completion zsh > ~/.zfunc/_memory-forge
  memory-forge completion fish > ~/.config/fish/completions/memory-forge.fish
  memory-forge completion powershell >> $PROFILE")]
pub(crate) struct CompletionArgs {
    /// The shell to print it for
    pub(crate) shell: Shell,
}

pub(crate) fn run_completion(
    args: CompletionArgs,
    _: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut program = crate::cli::command_definition();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "memory-forge", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Bash {
        script = unify_dash_spelling(script, &program);
    }
    ui.print(&script)?;
    Ok(CommandExit::Success)
}

/// Unifies the spelling of dashes in names.
///
/// The generator spells them in one way where a command is recognised and in
/// another where its flags are listed, so that no command of a program with a
/// dash in its name would ever be completed (clap-rs/clap #6421).
fn unify_dash_spelling(script: String, command: &clap::Command) -> String {
    let name = command.get_name();
    let parts: Vec<&str> = name.split('-').collect();
    let script = match parts.len() {
        1 => script,
        _ => script.replace(&parts.join("__subcmd__"), &parts.join("__")),
    };
    command.get_subcommands().fold(script, unify_dash_spelling)
}
