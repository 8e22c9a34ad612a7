//! Which server is asked, and what is done where it does not answer.

use engines::postgres::{Engine, Target, Within};
use forge::recall::{self, Answer, Ask};
use forge::workspace::Workspace;

use super::tenant;
use crate::memory::Remark;
use crate::model;
use crate::report::CommandError;
use crate::servers;
use crate::settings::Settings;
use crate::ui::Ui;

pub(super) fn engine(
    workspace: &Workspace,
    settings: &Settings,
    tenant: &str,
    ui: Option<&mut Ui>,
) -> Result<Engine, CommandError> {
    let target = target(&workspace.config().engine.url, settings, ui)?;
    Ok(Engine::open(&target, tenant)?)
}

/// A server that may be connected to.
fn target(url: &str, settings: &Settings, ui: Option<&mut Ui>) -> Result<Target, CommandError> {
    let target = Target::read(url, &settings.engine)?;
    if !target.is_users_own {
        servers::agreed(&target.address, "MEMORY_FORGE_ENGINE_URL", settings, ui)?;
    }
    Ok(target)
}

/// Answers a question from the shared index. Without a `ui` nobody is asked
/// whether to connect.
pub(crate) fn answer(
    workspace: &Workspace,
    ask: &Ask,
    settings: &Settings,
    mut ui: Option<&mut Ui>,
) -> Result<(Answer, Vec<Remark>), CommandError> {
    let mut remarks = Vec::new();
    let tenant = tenant(workspace, None)?;
    let replica = &workspace.config().engine.replica;
    // A replica has what the primary has, a moment later.
    let engine = match replica.is_empty() || settings.engine.url.is_some() {
        true => engine(workspace, settings, &tenant, ui)?,
        false => {
            let target = target(replica, settings, ui.as_deref_mut())?;
            match Engine::open(&target, &tenant) {
                Ok(engine) => engine,
                Err(error) => {
                    remarks.push(Remark::Warning(format!("{error}; asking the primary")));
                    self::engine(workspace, settings, &tenant, ui)?
                }
            }
        }
    };
    let embedder = match model::of(workspace, settings.model.as_deref()) {
        Ok(model) => Some(model),
        Err(why) => {
            remarks.push(Remark::Warning(format!("{why}; searching by full text")));
            None
        }
    };
    let search = engine.search(Within::Everything)?;
    Ok((recall::ask_of(&search, embedder, ask)?, remarks))
}

/// The same where the settings alone ask for it: without the server, the
/// workspace's own index has to do, and the remark says so.
pub(crate) fn answer_if_configured(
    workspace: &Workspace,
    ask: &Ask,
    settings: &Settings,
    ui: Option<&mut Ui>,
) -> (Option<Answer>, Vec<Remark>) {
    if workspace.config().search.engine != "server" {
        return (None, Vec::new());
    }
    match answer(workspace, ask, settings, ui) {
        Ok((answer, remarks)) => (Some(answer), remarks),
        Err(error) => {
            let why = format!("{error}; this workspace alone was searched");
            (None, vec![Remark::Warning(why)])
        }
    }
}
