//! Administers the shared index: members, organisations, formats, and a check
//! of the installation.

use clap::Subcommand;
use forge_app::wire;
use serde_json::json;

use crate::report::{CommandError, Exit};
use crate::servers::shared_index::SharedIndex;
use crate::ui::{Ui, printable};

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// List who may see and push what
    List {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let a login in, or a role that the server has for a group
    Add {
        /// The login, which is made without a password where there is none
        login: String,
        /// The team that it may read and push for; without one, it may read
        /// what everybody in the organisation reads (the team `all`)
        #[arg(long)]
        team: Option<String>,
        /// It may read, and not push
        #[arg(long, conflicts_with = "workspace")]
        read: bool,
        /// It may push this workspace, and read nothing: for a job in CI
        #[arg(long, value_name = "NAME")]
        workspace: Option<String>,
        /// It is a role of the server (of LDAP or an identity provider): whoever
        /// is a member of it there is let in
        #[arg(long)]
        group: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// After a restored backup: let those in whose logins have the same names
    ///
    /// A member is a login by its number, so that somebody new of the same name
    /// inherits nothing. On another server the numbers are others.
    Renew {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Take every right in the organisation from a login, or those in one team
    Remove {
        /// The login, or the role of a group
        login: String,
        /// Only this team's
        #[arg(long)]
        team: Option<String>,
        /// Drop the login as well
        #[arg(long)]
        drop_login: bool,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TenantCommand {
    /// List the organisations with their teams
    List {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Drop an organisation with its members and all that it pushed
    Drop {
        /// The organisation's name
        name: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Shows what was done on the way to a new member.
pub(super) fn remark(done: &wire::InitReport, ui: &mut Ui) {
    for login in &done.new_logins {
        let login = printable(login);
        ui.note(&format!(
            "The login `{login}` is new and has no password: `\\password {login}` in psql gives it one"
        ));
    }
    done.notes.iter().for_each(|note| ui.note(&printable(note)));
}

pub(super) fn member(
    command: MemberCommand,
    index: &mut SharedIndex,
    tenant: &str,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    match command {
        MemberCommand::List { json } => {
            let all: wire::FromServer<Vec<wire::ListedMember>> =
                index.call(wire::IndexOperation::Members, Some(ui))?;
            list_members(&all.value, json, ui)
        }
        MemberCommand::Add {
            login,
            team,
            read,
            workspace,
            group,
            json,
        } => {
            let access = match workspace {
                Some(workspace) => wire::MemberAccess::Push(workspace),
                None if read || team.is_none() => wire::MemberAccess::Read,
                None => wire::MemberAccess::Write,
            };
            let member = wire::TeamMember {
                login,
                team: team.unwrap_or_else(|| wire::TeamMember::EVERYONE.to_owned()),
                access,
                is_group: group,
            };
            let operation = wire::IndexOperation::AddMember(member.clone());
            let done: wire::InitReport = index.call(operation, Some(ui))?.value;
            if json {
                ui.json(&json!({
                    "version": 1, "newLogins": done.new_logins, "notes": done.notes,
                }))?;
                return Ok(Exit::Success);
            }
            ui.line(&format!(
                "✓ `{}` may {} in the team `{}` of `{}`",
                printable(&member.login),
                rights(&member.access),
                printable(&member.team),
                printable(tenant)
            ))?;
            remark(&done, ui);
            Ok(Exit::Success)
        }
        MemberCommand::Renew { yes } => {
            let names = renew(index, true, ui)?;
            if names.is_empty() {
                ui.line("Every member whose login is there has its rights")?;
                return Ok(Exit::Success);
            }
            let shown = names.join(", ");
            let question = format!(
                "Give the logins {} the rights that members of these names had?",
                printable(&shown)
            );
            if !ui.confirm(&question, yes)? {
                ui.note("Nothing was changed");
                return Ok(Exit::Success);
            }
            let done = renew(index, false, ui)?;
            ui.line(&format!("✓ Renewed {}", printable(&done.join(", "))))?;
            Ok(Exit::Success)
        }
        MemberCommand::Remove {
            login,
            team,
            drop_login,
            yes,
        } => {
            // An unreachable server is reported before the question.
            index.call::<()>(wire::IndexOperation::Connect, Some(ui))?;
            let what = match &team {
                Some(team) => format!(
                    "in the team `{}` of `{}`",
                    printable(team),
                    printable(tenant)
                ),
                None => format!("in `{}`", printable(tenant)),
            };
            let login_too = if drop_login {
                ", and drop the login"
            } else {
                ""
            };
            let question = format!(
                "Take all rights {what} from `{}`{login_too}?",
                printable(&login)
            );
            if !ui.confirm(&question, yes)? {
                ui.note("Nothing was changed");
                return Ok(Exit::Success);
            }
            let operation = wire::IndexOperation::RemoveMember {
                login: login.clone(),
                team,
                drop_login,
            };
            let removed: wire::MemberRemoval = index.call(operation, Some(ui))?.value;
            let login = printable(&login);
            let by_groups = removed.groups.join("`, `");
            let by_groups = printable(&by_groups);
            if removed.rights == 0 && !drop_login {
                ui.line(&format!("`{login}` had no rights of its own {what}"))?;
            } else if by_groups.is_empty() {
                ui.line(&format!("✓ `{login}` has no rights {what} any more"))?;
            } else {
                ui.line(&format!(
                    "✓ Took the rights of its own {what} from `{login}`"
                ))?;
            }
            if !by_groups.is_empty() {
                ui.warn(&format!(
                    "`{login}` still has the rights of `{by_groups}`: take it out of that group on the server, or remove the group"
                ));
            }
            Ok(Exit::Success)
        }
    }
}

/// Returns the names of members that were renewed, or would be.
fn renew(
    index: &mut SharedIndex,
    is_rehearsal: bool,
    ui: &mut Ui,
) -> Result<Vec<String>, CommandError> {
    let operation = wire::IndexOperation::RenewMembers { is_rehearsal };
    Ok(index.call(operation, Some(ui))?.value)
}

fn rights(access: &wire::MemberAccess) -> String {
    match access {
        wire::MemberAccess::Read => "read".to_owned(),
        wire::MemberAccess::Write => "read and push".to_owned(),
        wire::MemberAccess::Push(workspace) => format!("push `{}`", printable(workspace)),
    }
}

/// Upper bound for the rows that are listed to people.
const MAX_LISTED: usize = 500;

fn list_members(all: &[wire::ListedMember], json: bool, ui: &mut Ui) -> Result<Exit, CommandError> {
    if json {
        let members: Vec<_> = all
            .iter()
            .map(|it| {
                let (access, workspace) = match &it.member.access {
                    wire::MemberAccess::Read => ("read", None),
                    wire::MemberAccess::Write => ("write", None),
                    wire::MemberAccess::Push(workspace) => ("push", Some(workspace)),
                };
                json!({
                    "login": it.member.login, "team": it.member.team, "access": access,
                    "workspace": workspace, "group": it.member.is_group, "gone": it.is_gone,
                    "addedAt": it.added_at, "addedBy": it.added_by,
                })
            })
            .collect();
        ui.json(&json!({ "version": 1, "members": members }))?;
        return Ok(Exit::Success);
    }
    for it in all.iter().take(MAX_LISTED) {
        let group = if it.member.is_group { " (a group)" } else { "" };
        let gone = if it.is_gone {
            "; the role is gone or another, so it has no rights"
        } else {
            ""
        };
        ui.line(&format!(
            "{}{group}  team {}: may {} (since {}, by {}{gone})",
            printable(&it.member.login),
            printable(&it.member.team),
            rights(&it.member.access),
            it.added_at,
            printable(&it.added_by)
        ))?;
    }
    if all.len() > MAX_LISTED {
        ui.line(&format!(
            "… and {} more; `--json` lists all",
            all.len() - MAX_LISTED
        ))?;
    }
    if all.is_empty() {
        ui.note("There is no member yet: `memory-forge engine member add LOGIN --team TEAM`");
    }
    Ok(Exit::Success)
}

pub(super) fn tenant(
    command: TenantCommand,
    mut index: SharedIndex,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    match command {
        TenantCommand::List { json } => {
            let all: Vec<wire::TenantSummary> =
                index.call(wire::IndexOperation::Tenants, Some(ui))?.value;
            if json {
                let tenants: Vec<_> = all
                    .iter()
                    .map(|it| {
                        json!({
                            "name": it.name, "teams": it.teams, "members": it.members,
                            "workspaces": it.workspaces, "passages": it.passages,
                        })
                    })
                    .collect();
                ui.json(&json!({ "version": 1, "tenants": tenants }))?;
                return Ok(Exit::Success);
            }
            for it in all.iter().take(MAX_LISTED) {
                ui.line(&format!(
                    "{}  teams {}; members: {}, workspaces: {}, passages: {}",
                    printable(&it.name),
                    printable(&it.teams.join(", ")),
                    it.members,
                    it.workspaces,
                    it.passages
                ))?;
            }
            if all.len() > MAX_LISTED {
                ui.line(&format!(
                    "… and {} more; `--json` lists all",
                    all.len() - MAX_LISTED
                ))?;
            }
            Ok(Exit::Success)
        }
        TenantCommand::Drop { name, yes } => {
            let there: wire::FromServer<()> =
                index.call(wire::IndexOperation::Connect, Some(ui))?;
            let question = format!(
                "Drop `{}` at {}, with its members and all that it pushed?",
                printable(&name),
                there.shown
            );
            if !ui.confirm(&question, yes)? {
                ui.note("Nothing was changed");
                return Ok(Exit::Success);
            }
            let operation = wire::IndexOperation::DropTenant { name: name.clone() };
            if index.call::<bool>(operation, Some(ui))?.value {
                ui.line(&format!("✓ Dropped `{}`", printable(&name)))?;
                Ok(Exit::Success)
            } else {
                Err(CommandError::failure(format!(
                    "There is no organisation `{}`",
                    printable(&name)
                ))
                .hint("`memory-forge engine tenant list` shows those that are there"))
            }
        }
    }
}

pub(super) fn upgrade(
    mut index: SharedIndex,
    yes: bool,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let wire::FromServer {
        shown,
        value: tenants,
    } = index.call::<Vec<String>>(wire::IndexOperation::TenantNames, Some(ui))?;
    let tenants = tenants.join(", ");
    let tenants = printable(&tenants);
    let question = format!(
        "Bring the index at {shown} forward, for {tenants}? Older programs will have to be updated"
    );
    if !ui.confirm(&question, yes)? {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    }
    let done: wire::UpgradeReport = index.call(wire::IndexOperation::Upgrade, Some(ui))?.value;
    if done.from == done.to {
        ui.line(&format!(
            "✓ {shown} has format {} already; its functions are this version's",
            done.to
        ))?;
    } else {
        ui.line(&format!(
            "✓ Brought {shown} from format {} to {}; workspaces: {}",
            done.from, done.to, done.workspaces
        ))?;
    }
    done.notes.iter().for_each(|note| ui.note(&printable(note)));
    Ok(Exit::Success)
}

pub(super) fn check(mut index: SharedIndex, json: bool, ui: &mut Ui) -> Result<Exit, CommandError> {
    let wire::FromServer {
        shown,
        value: found,
    } = index.call::<Vec<wire::InstallationFinding>>(wire::IndexOperation::Check, Some(ui))?;
    let is_bad = found
        .iter()
        .any(|it| it.severity == wire::FindingSeverity::Problem);
    if json {
        let findings: Vec<_> = found
            .iter()
            .map(|it| {
                json!({
                    "severity": match it.severity { wire::FindingSeverity::Problem => "problem", wire::FindingSeverity::Note => "note" },
                    "what": it.what, "advice": it.advice,
                })
            })
            .collect();
        ui.json(&json!({ "version": 1, "ok": !is_bad, "findings": findings }))?;
    } else {
        for it in &found {
            let mark = match it.severity {
                wire::FindingSeverity::Problem => "✗",
                wire::FindingSeverity::Note => "·",
            };
            ui.line(&format!("{mark} {}", printable(&it.what)))?;
            ui.line(&format!("    {}", printable(&it.advice)))?;
        }
        if !is_bad {
            ui.line(&format!("✓ Nothing is wrong with the index at {shown}"))?;
        }
    }
    Ok(if is_bad { Exit::Failure } else { Exit::Success })
}
