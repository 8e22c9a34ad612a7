//! The index that an organisation shares: which server is asked, and what is
//! done where it does not answer.

use std::time::{Duration, Instant};

use forge_app::embed::Embedder;
use forge_app::recall::{self, Answer, Ask};
use forge_app::workspace::Workspace;
use memory_forge_engines::postgres::{Engine, HostRole, Target, WaitPolicy, Within};

use super::agreed;
use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::Ui;
use forge_app::library::Remark;
use forge_app::model;

/// Opens the server of a workspace, for a command that works with it.
pub(crate) fn open_engine(
    workspace: &Workspace,
    settings: &Settings,
    tenant: &str,
    (need, patience): (HostRole, WaitPolicy),
    ui: &mut Ui,
) -> Result<Engine, CommandError> {
    let target = target(&workspace.config().engine.url, settings, Some(ui))?;
    let patience = patience.with_notice(ui.notifier());
    Ok(Engine::open_with(&target, tenant, need, patience)?)
}

/// A server that may be connected to.
fn target(url: &str, settings: &Settings, ui: Option<&mut Ui>) -> Result<Target, CommandError> {
    let target = Target::read(url, &settings.engine)?;
    if !target.is_users_own {
        agreed(&target.address, "MEMORY_FORGE_ENGINE_URL", settings, ui)?;
    }
    Ok(target)
}

/// Answers a question from the shared index. Without a `ui` nobody is asked
/// whether to connect.
///
/// The replica's hosts are asked first, then those of `engine.url`, until one
/// answers. All of them share `engine.timeout_ms`: each gets an equal part of
/// what is left, so that a silent one leaves time for the next.
pub(crate) fn answer(
    workspace: &Workspace,
    ask: &Ask,
    settings: &Settings,
    mut ui: Option<&mut Ui>,
) -> Result<(Answer, Vec<Remark>), CommandError> {
    let mut remarks = Vec::new();
    let tenant = tenant(workspace, None)?;
    let config = &workspace.config().engine;
    // Before the clock starts: a model is read from the disk.
    let embedder = match model::of(workspace, settings.model.as_deref()) {
        Ok(model) => Some(model),
        Err(why) => {
            remarks.push(Remark::Warning(format!("{why}; searching by full text")));
            None
        }
    };
    // The user's own address stands for all others.
    let has_replica = !config.replica.is_empty() && settings.engine.url.is_none();
    let mut left = Duration::from_millis(config.timeout_ms);
    if has_replica {
        let hosts = target(&config.replica, settings, ui.as_deref_mut())?.hosts();
        for (at, host) in hosts.iter().enumerate() {
            let question = HostQuestion {
                tenant: &tenant,
                ask,
                embedder,
                max_lag: Some(Duration::from_secs(config.max_lag_s)),
                limit: left / (hosts.len() - at + 1) as u32,
            };
            let started = Instant::now();
            match question.put_to(host) {
                Ok(answer) => return Ok((answer, remarks)),
                Err(error) if error.is_usage() => return Err(error),
                Err(error) => {
                    let next = if at + 1 < hosts.len() {
                        "asking the next replica"
                    } else {
                        "asking the primary"
                    };
                    remarks.push(Remark::Warning(format!("{error}; {next}")));
                }
            }
            left = left.saturating_sub(started.elapsed());
        }
    }
    let hosts = target(&config.url, settings, ui)?.hosts();
    let mut failed = None;
    for (at, host) in hosts.iter().enumerate() {
        let question = HostQuestion {
            tenant: &tenant,
            ask,
            embedder,
            max_lag: None,
            limit: left / (hosts.len() - at) as u32,
        };
        let started = Instant::now();
        match question.put_to(host) {
            Ok(answer) => return Ok((answer, remarks)),
            Err(error) if error.is_usage() => return Err(error),
            Err(error) => {
                if at + 1 < hosts.len() {
                    remarks.push(Remark::Warning(format!("{error}; asking the next host")));
                }
                failed = Some(error);
            }
        }
        left = left.saturating_sub(started.elapsed());
    }
    Err(failed.unwrap_or_else(|| CommandError::failure("The address names no host")))
}

/// A question with everything that one host needs to answer it.
struct HostQuestion<'a> {
    tenant: &'a str,
    ask: &'a Ask<'a>,
    embedder: Option<&'a dyn Embedder>,
    /// How far a replica may be behind.
    max_lag: Option<Duration>,
    /// From the first packet to the last.
    limit: Duration,
}

impl HostQuestion<'_> {
    fn put_to(&self, host: &Target) -> Result<Answer, CommandError> {
        let patience = WaitPolicy::until(Instant::now() + self.limit);
        let engine = Engine::open_with(host, self.tenant, HostRole::Any, patience)?;
        if let Some(max_lag) = self.max_lag
            && let Some(lag) = engine.lag()?
            && lag > max_lag
        {
            return Err(CommandError::failure(format!(
                "The replica `{}` is {} s behind",
                engine.shown,
                lag.as_secs()
            )));
        }
        let search = engine.search(Within::Everything)?;
        Ok(recall::ask_of(&search, self.embedder, self.ask)?)
    }
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

pub(crate) fn tenant(workspace: &Workspace, flag: Option<&str>) -> Result<String, CommandError> {
    let mut config = workspace.config().clone();
    if let Some(flag) = flag {
        let set = config.set("engine.tenant", flag, "--tenant");
        set.map_err(|problem| CommandError::usage(problem.to_string()))?;
    }
    if config.engine.tenant.is_empty() {
        Err(CommandError::failure("It is not said whose index is meant")
            .hint("Set `engine.tenant` in `memory-forge.toml` to the name of your organisation"))
    } else {
        Ok(config.engine.tenant)
    }
}
