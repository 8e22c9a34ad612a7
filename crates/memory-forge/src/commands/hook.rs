//! Lists `hook` for help and completion. The command itself is answered by
//! [`crate::hooks`] before the command line is parsed, because a parser's error
//! would exit with a code that makes clients drop the user's prompt.

use clap::Args;

use crate::report::{CommandError, CommandExit};

/// Answer an event of an agent client (`setup` installs the calls)
///
/// Reads the event as JSON from standard input and prints what the client
/// understands. It never fails: the exit code is always 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge hook session-start < /dev/null
  memory-forge hook --client codex < payload.json")]
pub(crate) struct HookArgs {
    /// The event, where the input does not name it
    pub(crate) event: Option<String>,

    /// The client, where the input does not show it
    #[arg(long)]
    pub(crate) client: Option<String>,

    /// A plugin calls: say nothing where the client's settings call as well
    #[arg(long)]
    pub(crate) plugin: bool,
}

pub(crate) fn run_hook_command(args: HookArgs) -> Result<CommandExit, CommandError> {
    let client = args.client.map(|name| format!("--client={name}"));
    let plugin = args.plugin.then(|| "--plugin".to_owned());
    let words = args.event.into_iter().chain(client).chain(plugin);
    let arguments: Vec<String> = words.collect();
    crate::hooks::run_hook(&arguments);
    Ok(CommandExit::Success)
}
