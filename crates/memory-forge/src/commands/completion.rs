//! `completion`: a script that completes commands and flags in a shell. It
//! prints the script and installs nothing.

use clap::Args;
use clap_complete::Shell;

use crate::report::{CommandError, Exit};
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

pub(crate) fn run(args: CompletionArgs, _: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut crate::cli::definition(),
        "memory-forge",
        &mut script,
    );
    ui.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
