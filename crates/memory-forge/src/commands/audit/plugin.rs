//! Runs `audit --plugin`: what a plugin costs, part by part, in the words that
//! Claude Code uses. It starts nothing that the plugin brings; the tools of a
//! server are counted only if they are our own.

use std::path::Path;

use forge_app::audit::plugin::{Bill, Cost, Offer, Plugin, Server};
use forge_app::audit::{self, Limits};
use forge_app::client::Client;
use forge_app::tokens::{Tokenizer, thousands};
use forge_app::workspace::Workspace;
use forge_clients::setup::hooks::EVENTS;
use serde_json::{Value, json};

use super::{AuditArgs, verdict_text};
use crate::mcp::{INSTRUCTIONS, tools};
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

/// Upper bound for the parts of a list, which ends with the number left out.
const MOST_PARTS: usize = 100;

pub(super) fn run(
    args: &AuditArgs,
    workspace: &Workspace,
    settings: &Settings,
    tokenizer: Tokenizer,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let given = args.plugin.as_deref().unwrap_or(Path::new("."));
    let folder = settings.cwd()?.join(given);
    let plugin = Plugin::read(&folder).ok_or_else(|| {
        let folder = given.display();
        CommandError::usage(format!("There is no plugin in `{folder}`")).hint(
            "A plugin's folder has `.claude-plugin/plugin.json`, `plugin.json` or \
             `gemini-extension.json`",
        )
    })?;
    let wanted = args.client.map(|choice| choice.views());
    let is_wanted = |client: &Client| match &wanted {
        Some(views) => views.contains(&audit::View::Client(*client)),
        None => true,
    };
    let clients: Vec<Client> = plugin.clients().iter().copied().filter(is_wanted).collect();
    if clients.is_empty() {
        let names: Vec<&str> = plugin
            .clients()
            .iter()
            .map(|client| client.name())
            .collect();
        return Err(
            CommandError::usage("That client does not install this plugin")
                .hint(format!("It is for {}", names.join(", "))),
        );
    }
    let bills: Vec<Bill> = clients
        .into_iter()
        .map(|client| plugin.bill(client, tokenizer, &our_offer))
        .collect();
    let limits = limits(workspace);
    if args.json {
        ui.json(&as_json(&plugin, &bills, tokenizer, &limits))?;
    } else {
        show(&plugin, &bills, tokenizer, &limits, ui)?;
    }
    let levels = bills.iter().flat_map(|bill| limits.levels(bill));
    let failed = args.ci.is_some_and(|level| level.reached_by(levels.max()));
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

/// Limits of the configuration, for a skill in use and for all at start.
struct PluginLimits {
    skill: Limits,
    total: Limits,
}

fn limits(workspace: &Workspace) -> PluginLimits {
    let config = &workspace.config().audit;
    PluginLimits {
        skill: Limits {
            warn: config.skill_warn,
            critical: config.skill_critical,
        },
        total: Limits {
            warn: config.total_warn,
            critical: config.total_critical,
        },
    }
}

impl PluginLimits {
    fn of_part(&self, cost: &Cost) -> Option<(audit::Level, usize)> {
        let is_skill = cost.component == audit::plugin::Component::Skill;
        self.skill.judge(cost.on_invoke.filter(|_| is_skill)?)
    }

    fn levels(&self, bill: &Bill) -> Vec<audit::Level> {
        let parts = bill.costs.iter().filter_map(|cost| self.of_part(cost));
        let total = self.total.judge(bill.always());
        parts.chain(total).map(|(level, _)| level).collect()
    }
}

/// Returns what `memory-forge mcp` sends to its clients; the offer of other
/// servers is unknown without starting them.
fn our_offer(server: &Server) -> Option<Offer> {
    let file = server.command.rsplit(['/', '\\']).next()?;
    let is_ours = matches!(file, "memory-forge" | "memory-forge.exe");
    let (verb, rest) = server.arguments.split_first()?;
    if !is_ours || verb != "mcp" {
        return None;
    }
    let names: Vec<String> = match rest {
        [] => Vec::new(),
        [flag, names] if flag == "--tools" => names.split(',').map(str::to_owned).collect(),
        _ => return None,
    };
    let listed = tools::chosen(&names).ok()?;
    let sent = listed.iter().map(|spec| {
        let tool = spec.listed();
        json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": *tool.input_schema,
        })
    });
    Some(Offer {
        instructions: INSTRUCTIONS.to_owned(),
        tools: sent.collect(),
    })
}

/// Returns the events at which the plugin runs something, and what each may
/// add.
fn hook_costs(plugin: &Plugin) -> Vec<(String, String)> {
    const WORDS: [(&str, &str); 3] = [
        ("BeforeAgent", "UserPromptSubmit"),
        ("PreCompress", "PreCompact"),
        ("AfterAgent", "Stop"),
    ];
    let cost = |(event, command): &(String, String)| {
        let word = WORDS.iter().find(|(theirs, _)| theirs == event);
        let name = word.map_or(event.as_str(), |(_, ours)| ours);
        let ours = command.contains("memory-forge hook");
        let known = EVENTS.iter().find(|known| ours && known.name == name);
        let text = known.map_or("what it prints, at most 10,000 characters", |k| k.cost);
        (event.clone(), text.to_owned())
    };
    plugin.hooks.iter().map(cost).collect()
}

fn show(
    plugin: &Plugin,
    bills: &[Bill],
    tokenizer: Tokenizer,
    limits: &PluginLimits,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let version = plugin.version.as_deref().unwrap_or("");
    let title = format!("{} {version}", plugin.name);
    let label = tokenizer.label();
    ui.line(&format!("{} in tokens ({label})", printable(&title)))?;
    for bill in bills {
        let bold = style::HEADING;
        ui.line(&format!("\n{}", bill.client.title()))?;
        ui.line(&format!("  {bold}Always-on  On-invoke{bold:#}"))?;
        for cost in bill.costs.iter().take(MOST_PARTS) {
            ui.line(&line(cost, limits))?;
        }
        if bill.costs.len() > MOST_PARTS {
            let left = thousands(bill.costs.len() - MOST_PARTS);
            ui.line(&format!("  … and {left} more parts (`--json` lists all)"))?;
        }
        let verdict = limits.total.judge(bill.always());
        let verdict = verdict.map_or(String::new(), |(level, limit)| verdict_text(level, limit));
        ui.line(&format!(
            "  {bold}{:>9}  {:>9}  in all{bold:#}{verdict}",
            thousands(bill.always()),
            thousands(bill.on_invoke())
        ))?;
        for server in &bill.unknown {
            ui.line(&format!(
                "          ?          ?  tools {} (known only when `{}` runs)",
                printable(&server.name),
                printable(&server.command)
            ))?;
        }
    }
    let hooks = hook_costs(plugin);
    if !hooks.is_empty() {
        ui.line("\nHooks cost nothing themselves; what they print comes on top:")?;
        for (event, cost) in hooks {
            ui.line(&format!("  {:<17} {cost}", printable(&event)))?;
        }
    }
    Ok(())
}

fn line(cost: &Cost, limits: &PluginLimits) -> String {
    let always = if cost.explicit {
        "-".to_owned()
    } else {
        thousands(cost.always)
    };
    let invoke = cost.on_invoke.map_or("-".to_owned(), thousands);
    let verdict = limits.of_part(cost);
    let verdict = verdict.map_or(String::new(), |(level, limit)| verdict_text(level, limit));
    format!(
        "  {always:>9}  {invoke:>9}  {} {}{verdict}",
        cost.component.id(),
        printable(&cost.name)
    )
}

fn as_json(plugin: &Plugin, bills: &[Bill], tokenizer: Tokenizer, limits: &PluginLimits) -> Value {
    let parts = |bill: &Bill| -> Vec<Value> {
        let part = |cost: &Cost| {
            json!({
                "component": cost.component.id(),
                "name": cost.name,
                "alwaysOn": cost.always,
                "onInvoke": cost.on_invoke,
                "explicit": cost.explicit,
                "level": limits.of_part(cost).map(|(level, _)| level.name().to_lowercase()),
            })
        };
        bill.costs.iter().map(part).collect()
    };
    let clients: Vec<Value> = bills
        .iter()
        .map(|bill| {
            let unknown: Vec<&str> = bill.unknown.iter().map(|s| s.name.as_str()).collect();
            json!({
                "client": bill.client.name(),
                "alwaysOn": bill.always(),
                "onInvoke": bill.on_invoke(),
                "components": parts(bill),
                "uncountedServers": unknown,
            })
        })
        .collect();
    let hooks: Vec<Value> = hook_costs(plugin)
        .into_iter()
        .map(|(event, cost)| json!({ "event": event, "adds": cost }))
        .collect();
    json!({
        "version": 1,
        "tokenizer": tokenizer.to_string(),
        "estimate": tokenizer.is_estimate(),
        "plugin": { "name": plugin.name, "version": plugin.version },
        "clients": clients,
        "hooks": hooks,
    })
}
