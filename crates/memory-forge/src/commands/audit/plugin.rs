//! Runs `audit --plugin`: what a plugin costs, part by part, in the words that
//! Claude Code uses. It starts nothing that the plugin brings; the tools of a
//! server are counted only if they are our own.

use std::path::Path;

use forge_app::audit::plugin::{
    ComponentCost, PluginBill, PluginFolder, PluginServer, ServerOffer,
};
use forge_app::audit::{self, TokenLimits};
use forge_app::client::AgentClient;
use forge_app::tokens::{Tokenizer, format_thousands};
use forge_app::workspace::Workspace;
use forge_clients::setup::hooks::HOOK_EVENTS;
use serde_json::{Value, json};

use super::{AuditArgs, verdict_text};
use crate::mcp::{SERVER_INSTRUCTIONS, tools};
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Upper bound for the parts of a list, which ends with the number left out.
const MAX_LISTED_PARTS: usize = 100;

pub(super) fn run_plugin_audit(
    args: &AuditArgs,
    workspace: &Workspace,
    settings: &Settings,
    tokenizer: Tokenizer,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let given = args.plugin.as_deref().unwrap_or(Path::new("."));
    let folder = settings.cwd()?.join(given);
    let plugin = PluginFolder::read_folder(&folder).ok_or_else(|| {
        let folder = given.display();
        CommandError::usage(format!("There is no plugin in `{folder}`")).hint(
            "A plugin's folder has `.claude-plugin/plugin.json`, `plugin.json` or \
             `gemini-extension.json`",
        )
    })?;
    let wanted = args.client.map(|choice| choice.audit_views());
    let is_wanted = |client: &AgentClient| match &wanted {
        Some(views) => views.contains(&audit::AuditView::Client(*client)),
        None => true,
    };
    let clients: Vec<AgentClient> = plugin.clients().iter().copied().filter(is_wanted).collect();
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
    let bills: Vec<PluginBill> = clients
        .into_iter()
        .map(|client| plugin.compute_bill(client, tokenizer, &memory_forge_offer))
        .collect();
    let limits = plugin_limits(workspace);
    if args.json {
        ui.print_json(&bills_json(&plugin, &bills, tokenizer, &limits))?;
    } else {
        show_bills(&plugin, &bills, tokenizer, &limits, ui)?;
    }
    let levels = bills.iter().flat_map(|bill| limits.all_levels(bill));
    let failed = args
        .ci
        .is_some_and(|level| level.is_reached_by(levels.max()));
    Ok(if failed {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

/// Limits of the configuration, for a skill in use and for all at start.
struct PluginLimits {
    skill: TokenLimits,
    total: TokenLimits,
}

fn plugin_limits(workspace: &Workspace) -> PluginLimits {
    let config = &workspace.config().audit;
    PluginLimits {
        skill: TokenLimits {
            warn: config.skill_warn,
            critical: config.skill_critical,
        },
        total: TokenLimits {
            warn: config.total_warn,
            critical: config.total_critical,
        },
    }
}

impl PluginLimits {
    fn part_level(&self, cost: &ComponentCost) -> Option<(audit::AuditLevel, usize)> {
        let is_skill = cost.component == audit::plugin::PluginComponent::Skill;
        self.skill.level_of(cost.on_invoke.filter(|_| is_skill)?)
    }

    fn all_levels(&self, bill: &PluginBill) -> Vec<audit::AuditLevel> {
        let parts = bill.costs.iter().filter_map(|cost| self.part_level(cost));
        let total = self.total.level_of(bill.always_tokens());
        parts.chain(total).map(|(level, _)| level).collect()
    }
}

/// Returns what `memory-forge mcp` sends to its clients; the offer of other
/// servers is unknown without starting them.
fn memory_forge_offer(server: &PluginServer) -> Option<ServerOffer> {
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
    let listed = tools::select_tools(&names).ok()?;
    let sent = listed.iter().map(|spec| {
        let tool = spec.to_tool();
        json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": *tool.input_schema,
        })
    });
    Some(ServerOffer {
        instructions: SERVER_INSTRUCTIONS.to_owned(),
        tools: sent.collect(),
    })
}

/// Returns the events at which the plugin runs something, and what each may
/// add.
fn hook_costs(plugin: &PluginFolder) -> Vec<(String, String)> {
    const EVENT_NAMES: [(&str, &str); 3] = [
        ("BeforeAgent", "UserPromptSubmit"),
        ("PreCompress", "PreCompact"),
        ("AfterAgent", "Stop"),
    ];
    let cost = |(event, command): &(String, String)| {
        let word = EVENT_NAMES.iter().find(|(theirs, _)| theirs == event);
        let name = word.map_or(event.as_str(), |(_, ours)| ours);
        let ours = command.contains("memory-forge hook");
        let known = HOOK_EVENTS.iter().find(|known| ours && known.name == name);
        let text = known.map_or("what it prints, at most 10,000 characters", |k| k.cost);
        (event.clone(), text.to_owned())
    };
    plugin.hooks.iter().map(cost).collect()
}

fn show_bills(
    plugin: &PluginFolder,
    bills: &[PluginBill],
    tokenizer: Tokenizer,
    limits: &PluginLimits,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let version = plugin.version.as_deref().unwrap_or("");
    let title = format!("{} {version}", plugin.name);
    let label = tokenizer.label();
    ui.print_line(&format!("{} in tokens ({label})", escape_hidden(&title)))?;
    for bill in bills {
        let bold = style::HEADING;
        ui.print_line(&format!("\n{}", bill.client.title()))?;
        ui.print_line(&format!("  {bold}Always-on  On-invoke{bold:#}"))?;
        for cost in bill.costs.iter().take(MAX_LISTED_PARTS) {
            ui.print_line(&cost_line(cost, limits))?;
        }
        if bill.costs.len() > MAX_LISTED_PARTS {
            let left = format_thousands(bill.costs.len() - MAX_LISTED_PARTS);
            ui.print_line(&format!("  … and {left} more parts (`--json` lists all)"))?;
        }
        let verdict = limits.total.level_of(bill.always_tokens());
        let verdict = verdict.map_or(String::new(), |(level, limit)| verdict_text(level, limit));
        ui.print_line(&format!(
            "  {bold}{:>9}  {:>9}  in all{bold:#}{verdict}",
            format_thousands(bill.always_tokens()),
            format_thousands(bill.on_invoke_tokens())
        ))?;
        for server in &bill.unknown {
            ui.print_line(&format!(
                "          ?          ?  tools {} (known only when `{}` runs)",
                escape_hidden(&server.name),
                escape_hidden(&server.command)
            ))?;
        }
    }
    let hooks = hook_costs(plugin);
    if !hooks.is_empty() {
        ui.print_line("\nHooks cost nothing themselves; what they print comes on top:")?;
        for (event, cost) in hooks {
            ui.print_line(&format!("  {:<17} {cost}", escape_hidden(&event)))?;
        }
    }
    Ok(())
}

fn cost_line(cost: &ComponentCost, limits: &PluginLimits) -> String {
    let always = if cost.explicit {
        "-".to_owned()
    } else {
        format_thousands(cost.always)
    };
    let invoke = cost.on_invoke.map_or("-".to_owned(), format_thousands);
    let verdict = limits.part_level(cost);
    let verdict = verdict.map_or(String::new(), |(level, limit)| verdict_text(level, limit));
    format!(
        "  {always:>9}  {invoke:>9}  {} {}{verdict}",
        cost.component.id(),
        escape_hidden(&cost.name)
    )
}

fn bills_json(
    plugin: &PluginFolder,
    bills: &[PluginBill],
    tokenizer: Tokenizer,
    limits: &PluginLimits,
) -> Value {
    let parts = |bill: &PluginBill| -> Vec<Value> {
        let part = |cost: &ComponentCost| {
            json!({
                "component": cost.component.id(),
                "name": cost.name,
                "alwaysOn": cost.always,
                "onInvoke": cost.on_invoke,
                "explicit": cost.explicit,
                "level": limits.part_level(cost).map(|(level, _)| level.name().to_lowercase()),
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
                "alwaysOn": bill.always_tokens(),
                "onInvoke": bill.on_invoke_tokens(),
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
