//! Decides which servers may be connected to. A server that the user's
//! environment names is the user's own choice. One that came with a project
//! would get the project's text and the user's password: it needs consent,
//! once.
//!
//! Nothing here opens a connection: the worker does, and no hook starts it.

pub(crate) mod shared_index;
pub(crate) mod worker;

use forge_app::servers::ApprovedServers;
use forge_app::wire;

use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Asks whether the user agrees to a server, and remembers it; without a `ui`
/// it fails. The worker refuses to connect until then.
fn ask_consent(
    server: &wire::UnapprovedServer,
    settings: &Settings,
    ui: Option<&mut Ui>,
) -> Result<(), CommandError> {
    let config = settings.xdg_config_home.clone();
    let config = config.or_else(|| Some(settings.home.as_ref()?.join(".config")));
    let config = config.ok_or_else(|| CommandError::failure("There is no home directory"))?;
    let servers = ApprovedServers::in_config_folder(&config);
    let shown = escape_hidden(&server.address);
    let refused = || {
        CommandError::usage(format!(
            "`memory-forge.toml` names the server `{shown}`, which you have not agreed to"
        ))
        .hint(
            "A file that comes with a project does not decide who gets its text and your password",
        )
        .hint(format!(
            "If you know the server, run this on a terminal and say yes, or set `{}`",
            escape_hidden(&server.variable)
        ))
    };
    let Some(ui) = ui.filter(|ui| ui.can_ask()) else {
        return Err(refused());
    };
    let question = format!("`memory-forge.toml` names the server `{shown}`. Connect to it?");
    if !ui.confirm(&question, false)? {
        return Err(refused());
    }
    servers.add(&server.address)?;
    ui.note(&format!("Remembered in {}", servers.path().display()));
    Ok(())
}
