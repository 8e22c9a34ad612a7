//! Administers the shared index: members, organisations, formats, and a check
//! of the installation.

use clap::Subcommand;
use forge_app::wire;
use serde_json::json;

use crate::report::{CommandError, CommandExit};
use crate::servers::shared_index::SharedIndexClient;
use crate::ui::{Ui, escape_hidden};

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
        /// It is a role of the server (of LDAP or an identity provider): anyone who
        /// is a member of it there is let in
        #[arg(long)]
        group: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// After a restored backup: let those in whose logins have the same names
    ///
    /// A member is a login by its number, so that a new person of the same name
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
pub(super) fn note_init_report(done: &wire::InitReport, ui: &mut Ui) {
    for login in &done.new_logins {
        let login = escape_hidden(login);
        ui.note(&format!(
            "The login `{login}` is new and has no password: `\\password {login}` in psql gives it one"
        ));
    }
    done.notes
        .iter()
        .for_each(|note| ui.note(&escape_hidden(note)));
}

pub(super) fn run_member(
    command: MemberCommand,
    index: &mut SharedIndexClient,
    tenant: &str,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
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
                team: team.unwrap_or_else(|| wire::TeamMember::EVERYONE_TEAM.to_owned()),
                access,
                is_group: group,
            };
            let operation = wire::IndexOperation::AddMember(member.clone());
            let done: wire::InitReport = index.call(operation, Some(ui))?.value;
            if json {
                ui.print_json(&json!({
                    "version": 1, "newLogins": done.new_logins, "notes": done.notes,
                }))?;
                return Ok(CommandExit::Success);
            }
            ui.print_line(&format!(
                "✓ `{}` may {} in the team `{}` of `{}`",
                escape_hidden(&member.login),
                describe_rights(&member.access),
                escape_hidden(&member.team),
                escape_hidden(tenant)
            ))?;
            note_init_report(&done, ui);
            Ok(CommandExit::Success)
        }
        MemberCommand::Renew { yes } => {
            let names = renew_members(index, true, ui)?;
            if names.is_empty() {
                ui.print_line("Every member with an existing login has its rights")?;
                return Ok(CommandExit::Success);
            }
            let shown = names.join(", ");
            let question = format!(
                "Give the logins {} the rights that members of these names had?",
                escape_hidden(&shown)
            );
            if !ui.confirm(&question, yes)? {
                ui.note("Nothing was changed");
                return Ok(CommandExit::Success);
            }
            let done = renew_members(index, false, ui)?;
            ui.print_line(&format!("✓ Renewed {}", escape_hidden(&done.join(", "))))?;
            Ok(CommandExit::Success)
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
                    escape_hidden(team),
                    escape_hidden(tenant)
                ),
                None => format!("in `{}`", escape_hidden(tenant)),
            };
            let login_too = if drop_login {
                ", and drop the login"
            } else {
                ""
            };
            let question = format!(
                "Revoke all rights {what} of `{}`{login_too}?",
                escape_hidden(&login)
            );
            if !ui.confirm(&question, yes)? {
                ui.note("Nothing was changed");
                return Ok(CommandExit::Success);
            }
            let operation = wire::IndexOperation::RemoveMember {
                login: login.clone(),
                team,
                drop_login,
            };
            let removed: wire::MemberRemoval = index.call(operation, Some(ui))?.value;
            let login = escape_hidden(&login);
            let by_groups = removed.groups.join("`, `");
            let by_groups = escape_hidden(&by_groups);
            if removed.rights == 0 && !drop_login {
                ui.print_line(&format!("`{login}` had no rights of its own {what}"))?;
            } else if by_groups.is_empty() {
                ui.print_line(&format!("✓ `{login}` has no rights {what} any more"))?;
            } else {
                ui.print_line(&format!("✓ Revoked the direct rights {what} of `{login}`"))?;
            }
            if !by_groups.is_empty() {
                ui.warn(&format!(
                    "`{login}` still has the rights of `{by_groups}`: take it out of that group on the server, or remove the group"
                ));
            }
            Ok(CommandExit::Success)
        }
    }
}

/// Returns the names of members that were renewed, or would be.
fn renew_members(
    index: &mut SharedIndexClient,
    is_rehearsal: bool,
    ui: &mut Ui,
) -> Result<Vec<String>, CommandError> {
    let operation = wire::IndexOperation::RenewMembers { is_rehearsal };
    Ok(index.call(operation, Some(ui))?.value)
}

fn describe_rights(access: &wire::MemberAccess) -> String {
    match access {
        wire::MemberAccess::Read => "read".to_owned(),
        wire::MemberAccess::Write => "read and push".to_owned(),
        wire::MemberAccess::Push(workspace) => format!("push `{}`", escape_hidden(workspace)),
    }
}

/// Upper bound for the rows that are listed to people.
const MAX_LISTED_ROWS: usize = 500;

fn list_members(
    all: &[wire::ListedMember],
    json: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
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
        ui.print_json(&json!({ "version": 1, "members": members }))?;
        return Ok(CommandExit::Success);
    }
    for it in all.iter().take(MAX_LISTED_ROWS) {
        let group = if it.member.is_group { " (a group)" } else { "" };
        let gone = if it.is_gone {
            "; the role was dropped or replaced, so it has no rights"
        } else {
            ""
        };
        ui.print_line(&format!(
            "{}{group}  team {}: may {} (since {}, by {}{gone})",
            escape_hidden(&it.member.login),
            escape_hidden(&it.member.team),
            describe_rights(&it.member.access),
            it.added_at,
            escape_hidden(&it.added_by)
        ))?;
    }
    if all.len() > MAX_LISTED_ROWS {
        ui.print_line(&format!(
            "… and {} more; `--json` lists all",
            all.len() - MAX_LISTED_ROWS
        ))?;
    }
    if all.is_empty() {
        ui.note("There is no member yet: `memory-forge engine member add LOGIN --team TEAM`");
    }
    Ok(CommandExit::Success)
}

pub(super) fn run_tenant(
    command: TenantCommand,
    mut index: SharedIndexClient,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
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
                ui.print_json(&json!({ "version": 1, "tenants": tenants }))?;
                return Ok(CommandExit::Success);
            }
            for it in all.iter().take(MAX_LISTED_ROWS) {
                ui.print_line(&format!(
                    "{}  teams {}; members: {}, workspaces: {}, passages: {}",
                    escape_hidden(&it.name),
                    escape_hidden(&it.teams.join(", ")),
                    it.members,
                    it.workspaces,
                    it.passages
                ))?;
            }
            if all.len() > MAX_LISTED_ROWS {
                ui.print_line(&format!(
                    "… and {} more; `--json` lists all",
                    all.len() - MAX_LISTED_ROWS
                ))?;
            }
            Ok(CommandExit::Success)
        }
        TenantCommand::Drop { name, yes } => {
            let there: wire::FromServer<()> =
                index.call(wire::IndexOperation::Connect, Some(ui))?;
            let question = format!(
                "Drop `{}` at {}, with its members and all that it pushed?",
                escape_hidden(&name),
                there.shown
            );
            if !ui.confirm(&question, yes)? {
                ui.note("Nothing was changed");
                return Ok(CommandExit::Success);
            }
            let operation = wire::IndexOperation::DropTenant { name: name.clone() };
            if index.call::<bool>(operation, Some(ui))?.value {
                ui.print_line(&format!("✓ Dropped `{}`", escape_hidden(&name)))?;
                Ok(CommandExit::Success)
            } else {
                Err(CommandError::failure(format!(
                    "There is no organisation `{}`",
                    escape_hidden(&name)
                ))
                .hint("`memory-forge engine tenant list` lists them"))
            }
        }
    }
}

pub(super) fn upgrade_format(
    mut index: SharedIndexClient,
    yes: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let wire::FromServer {
        shown,
        value: tenants,
    } = index.call::<Vec<String>>(wire::IndexOperation::TenantNames, Some(ui))?;
    let tenants = tenants.join(", ");
    let tenants = escape_hidden(&tenants);
    let question = format!(
        "Upgrade the index at {shown} for {tenants}? Older programs will have to be updated"
    );
    if !ui.confirm(&question, yes)? {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    }
    let done: wire::UpgradeReport = index.call(wire::IndexOperation::Upgrade, Some(ui))?.value;
    if done.from == done.to {
        ui.print_line(&format!(
            "✓ {shown} has format {} already; its functions are this version's",
            done.to
        ))?;
    } else {
        ui.print_line(&format!(
            "✓ Upgraded {shown} from format {} to {}; workspaces: {}",
            done.from, done.to, done.workspaces
        ))?;
    }
    done.notes
        .iter()
        .for_each(|note| ui.note(&escape_hidden(note)));
    Ok(CommandExit::Success)
}

pub(super) fn check_installation(
    mut index: SharedIndexClient,
    json: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
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
        ui.print_json(&json!({ "version": 1, "ok": !is_bad, "findings": findings }))?;
    } else {
        for it in &found {
            let mark = match it.severity {
                wire::FindingSeverity::Problem => "✗",
                wire::FindingSeverity::Note => "·",
            };
            ui.print_line(&format!("{mark} {}", escape_hidden(&it.what)))?;
            ui.print_line(&format!("    {}", escape_hidden(&it.advice)))?;
        }
        if !is_bad {
            ui.print_line(&format!("✓ Nothing is wrong with the index at {shown}"))?;
        }
    }
    Ok(if is_bad {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}
