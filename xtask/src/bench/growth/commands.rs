//! What is measured: every command, hook event and tool of the server, in an
//! order in which each has something to do. Commands that read come first, so
//! that all of them see the pattern as it was written.

use serde_json::{Value, json};

/// What a command gets on standard input.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    Nothing,
    /// The payload of a hook event, with the pattern as its prompt.
    Event(&'static str),
    /// One call of a tool; `{text}` in an argument is the pattern.
    Call(&'static str),
    /// The pattern itself.
    Text,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    /// Words are separated by `|`; `{text}` is a piece of the pattern that fits
    /// on a command line.
    pub(super) line: &'static str,
    pub(super) input: Input,
}

impl Measured {
    pub(super) fn name(&self) -> String {
        match self.input {
            Input::Nothing | Input::Text => self.line.replace('|', " "),
            Input::Event(event) => format!("hook {event}"),
            Input::Call(tool) => format!("mcp {tool}"),
        }
    }

    /// Whether what runs later costs the same without it.
    pub(super) fn only_reads(&self) -> bool {
        READING.iter().any(|it| it.line == self.line)
    }

    /// The command without its arguments.
    pub(super) fn command(&self) -> &'static str {
        self.line.split('|').next().unwrap_or(self.line)
    }
}

const fn run(line: &'static str) -> Measured {
    Measured {
        line,
        input: Input::Nothing,
    }
}

const fn hook(event: &'static str) -> Measured {
    Measured {
        line: "hook",
        input: Input::Event(event),
    }
}

const fn tool(name: &'static str) -> Measured {
    Measured {
        line: "mcp",
        input: Input::Call(name),
    }
}

/// Commands whose work does not depend on a workspace's text.
pub(super) const CONSTANT: [&str; 3] = ["completion", "man", "help"];

/// Commands that have nothing to do unless another one ran before.
const NEEDS: &[(&str, &str)] = &[
    ("restore|knowledge/old.md", "forget|knowledge/old.md|--yes"),
    (
        "mind|task|done|migration",
        "mind|task|add|Write the migration",
    ),
    (
        "archive|knowledge/older.md|--reason|Ended",
        "links|rename|knowledge/old.md|knowledge/older.md|--yes",
    ),
    ("doctor|--undo|--dry-run", "doctor|--fix|--yes"),
    ("uninstall|--yes", "setup|claude|--yes"),
];

/// Returns `true` if one of the wanted commands has nothing to do without this.
pub(super) fn is_needed(line: &str, wanted: &[&str]) -> bool {
    let is_first = FIRST.iter().any(|it| it.line == line);
    let serves = |(after, before): &(&str, &str)| *before == line && wanted.contains(after);
    is_first || NEEDS.iter().any(serves)
}

/// Every command, in the order in which they run.
pub(super) fn all() -> impl Iterator<Item = Measured> {
    FIRST.iter().chain(READING).chain(WRITING).copied()
}

/// What the others are answered from.
const FIRST: &[Measured] = &[run("index|--no-vectors"), run("index|--no-vectors|--force")];

/// Commands that leave the workspace as it is, so that the others cost the same
/// without them.
const READING: &[Measured] = &[
    run("search|--mode|text|tides"),
    run("search|--mode|text|--scope|all|--json|word beans"),
    run("search|--mode|text|--scope|state|word"),
    run("search|--scope|closets|word beans"),
    run("search|--scope|evidence|--json|word beans"),
    run("search|--mode|text|{text}"),
    run("stats"),
    run("preview|knowledge/tides.md"),
    run("why|--command|{text}"),
    run("why|--prompt|{text}"),
    run("replay|."),
    run("audit"),
    run("audit|--json"),
    run("doctor"),
    run("doctor|--deep"),
    run("doctor|--fix|--dry-run"),
    run("status"),
    run("config"),
    run("mind|show"),
    run("mind|health"),
    run("mind|compress|--dry-run"),
    run("session|start"),
    run("agent|recall|which word|--agent|builder"),
    run("agent|context|--agent|builder"),
    run("agent|index|--check"),
    run("lint"),
    run("check"),
    run("consolidate|--force"),
    run("sources|list"),
    run("closets|check"),
    run("closets|show|word"),
    run("links|check"),
    run("links|suggest"),
    run("graph|show|tides"),
    run("graph|check"),
    run("graph|query"),
    run("graph|ask|blocked"),
    run("graph|path|tides|old"),
    run("graph|export|--format|json"),
    run("engine|push|--tenant|acme|--dry-run"),
    run("manifest|show"),
    run("workspace|manifest|show"),
    run("undo|--dry-run"),
    run("domain|list"),
    run("export|jsonl"),
    run("export|json"),
];

const WRITING: &[Measured] = &[
    run("view|--export|site"),
    hook("SessionStart"),
    hook("UserPromptSubmit"),
    hook("SubagentStart"),
    hook("PreToolUse"),
    hook("PostToolUse"),
    hook("PreCompact"),
    hook("Stop"),
    hook("SessionEnd"),
    tool("search_knowledge"),
    tool("knowledge_stats"),
    tool("audit_knowledge"),
    tool("memory_status"),
    tool("memory_search"),
    tool("index_knowledge"),
    tool("save_knowledge"),
    tool("correct_knowledge"),
    tool("forget_knowledge"),
    tool("memory_update_state"),
    tool("memory_save_decision"),
    tool("memory_save_progress"),
    tool("memory_save_session"),
    Measured {
        line: "save|context|long",
        input: Input::Text,
    },
    run("forget|knowledge/old.md|--yes"),
    run("restore|knowledge/old.md"),
    run("idea|A raffle at the fair"),
    run("mind|set|--phase|Build|--next|Ship"),
    run("mind|decide|Queue|--decision|Use the database instead of word"),
    run("mind|task|add|Write the migration"),
    run("mind|task|done|migration"),
    run("mind|log|Login works"),
    run("mind|checkpoint"),
    run("session|update|--next|Call the printer"),
    run("session|end|--title|Third|--did|Dug a bed"),
    run("agent|remember|API|--agent|eng/builder|--type|project|--content|Revision 37 is out."),
    run("agent|learn|Freezing the clock fixed it|--squad|eng"),
    run("agent|rotate"),
    run("merge|base.md|ours.md|theirs.md"),
    run("share|knowledge/plan.local.md|--yes"),
    run("import|native"),
    run("import|transcripts|transcripts"),
    run("import|memory-bank|memory-bank"),
    run("closets|build"),
    run("graph|write"),
    run("manifest|refresh"),
    run("links|rename|knowledge/old.md|knowledge/older.md|--yes"),
    run("links|apply|--yes"),
    run("consolidate|--fix|--force"),
    run("mind|compress"),
    run("lint|--fix|--yes"),
    run("check|--fix|--yes"),
    run("domain|add|legal"),
    run("archive|knowledge/older.md|--reason|Ended"),
    run("doctor|--fix|--yes"),
    run("doctor|--undo|--dry-run"),
    run("upgrade"),
    run("init|--yes"),
    run("setup|claude|--yes"),
    run("uninstall|--yes"),
];

/// The payload of an event as Claude Code sends it.
pub(super) fn event(name: &str, text: &str) -> String {
    let mut payload = json!({ "hook_event_name": name, "session_id": "s" });
    let more = match name {
        "SessionStart" => json!({ "source": "startup" }),
        "UserPromptSubmit" => json!({ "prompt": text }),
        "PreToolUse" => json!({
            "tool_name": "Bash",
            "tool_use_id": "c1",
            "tool_input": { "command": text },
        }),
        "PostToolUse" => json!({
            "tool_name": "Bash",
            "tool_use_id": "c2",
            "tool_input": { "command": "cat -A x" },
            "tool_response": { "stdout": text },
        }),
        "SubagentStart" => json!({ "agent_type": "builder", "agent_id": "a" }),
        "PreCompact" => json!({ "trigger": "auto", "custom_instructions": text }),
        "Stop" => json!({ "stop_hook_active": false, "last_assistant_message": text }),
        _ => json!({ "reason": "other" }),
    };
    if let (Value::Object(all), Value::Object(more)) = (&mut payload, more) {
        all.extend(more);
    }
    payload.to_string()
}

/// A whole conversation with the server: its start, and one call.
pub(super) fn call(tool: &str, text: &str) -> String {
    let arguments = match tool {
        "search_knowledge" | "memory_search" => json!({ "query": "word tides" }),
        "save_knowledge" => json!({ "type": "context", "name": "called", "content": text }),
        "correct_knowledge" => json!({ "fact": "High water at noon", "instead": "At one" }),
        "forget_knowledge" => json!({ "max_age_days": 36_500 }),
        "memory_update_state" => json!({ "phase": "Build", "active_work": ["beds"] }),
        "memory_save_decision" => json!({ "title": "Rows", "decision": "Two rows" }),
        "memory_save_progress" => json!({ "task": "Water the beds" }),
        "memory_save_session" => json!({ "summary": "Dug", "next": "Sow" }),
        _ => json!({}),
    };
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        }}),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments,
        }}),
    ];
    messages.iter().map(|it| format!("{it}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_needs_runs_before_it() {
        let lines: Vec<&str> = all().map(|it| it.line).collect();
        let place = |line: &str| lines.iter().position(|it| *it == line);
        for (after, before) in NEEDS {
            let (after, before) = (place(after), place(before));
            assert!(before.is_some() && before < after, "{after:?} {before:?}");
        }
    }
}
