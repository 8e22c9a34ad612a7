//! Renders the status of a workspace as a screen for people and as JSON. It
//! gathers nothing.

use std::ops::Deref;

use forge_app::client::AgentClient;
use forge_app::mind::duration_in_words;
use forge_app::status;
use forge_app::tokens::format_thousands;
use forge_app::workspace::DERIVED_FOLDER;
use serde_json::{Value, json};

use crate::ui::{self, escape_hidden, style};

/// Upper bound for columns; longer lines are hard to read, however wide a
/// terminal is.
pub(crate) const MAX_SCREEN_COLUMNS: usize = 120;
/// Columns of the labels.
const LABEL_COLUMNS: usize = 11;

/// Status as a screen and as JSON.
pub(crate) struct StatusView<'a>(pub(crate) &'a status::WorkspaceStatus);

impl Deref for StatusView<'_> {
    type Target = status::WorkspaceStatus;

    fn deref(&self) -> &status::WorkspaceStatus {
        self.0
    }
}

impl StatusView<'_> {
    /// Renders the status for a terminal of this width.
    pub(crate) fn render_screen(&self, width: usize) -> String {
        let mut screen = StatusScreen {
            text: String::new(),
            width,
        };
        if let Some(place) = &self.unprepared {
            screen.add_line("Workspace", "none yet; `memory-forge init` creates it");
            screen.add_line("", place);
            screen.add_blank_line();
        }
        self.show_work(&mut screen);
        if let Some(note) = &self.two_layouts {
            screen.add_line("Ignored", note);
        }
        screen.add_blank_line();
        self.show_cost(&mut screen);
        self.show_pushes(&mut screen);
        self.show_index(&mut screen);
        screen.add_blank_line();
        self.show_installed(&mut screen);
        screen.text
    }

    fn show_work(&self, screen: &mut StatusScreen) {
        let state = match &self.state {
            Ok(Some(state)) => state,
            Ok(None) => {
                let begin = "no state yet; `memory-forge mind set --next '<what>'` begins it";
                screen.add_line("Work", begin);
                return;
            }
            Err(error) => {
                screen.add_line("Work", error);
                return;
            }
        };
        let or_unset = |text: &Option<String>| text.clone().unwrap_or("not set".to_owned());
        screen.add_line("Phase", &or_unset(&state.phase));
        if let Some(status) = &state.status {
            screen.add_line("Status", status);
        }
        screen.add_line("Next", &or_unset(&state.next));
        match state.blocked.len() {
            0 => {}
            1 => screen.add_line("Blocked", &state.blocked[0]),
            n => screen.add_line("Blocked", &format!("({n}) {}", state.blocked.join("; "))),
        }
        if let Some(seconds) = self.stale_seconds {
            let age = duration_in_words(seconds);
            let note = format!("{} was last written {age} ago", self.state_file);
            screen.add_line("Stale", &note);
        }
    }

    fn show_cost(&self, screen: &mut StatusScreen) {
        let cost = &self.cost;
        let start = cost.briefing + cost.stub;
        if start + cost.nudge == 0 {
            screen.add_line("Memory", "no agent receives anything yet");
            self.show_always_on(screen);
            return;
        }
        screen.add_line(
            "Memory",
            &format!(
                "~{} tokens a session: briefing ~{}, lines in the file ~{}",
                format_thousands(start),
                format_thousands(cost.briefing),
                cost.stub
            ),
        );
        screen.add_line("", &format!("and ~{} more with each prompt", cost.nudge));
        self.show_always_on(screen);
    }

    fn show_always_on(&self, screen: &mut StatusScreen) {
        let mut label = "Always on";
        for cost in &self.cost.always_on {
            let size = format_thousands(cost.tokens);
            let (client, files) = (cost.client.title(), count_with_noun(cost.files, "file"));
            let tokenizer = cost.tokenizer.label();
            let text = format!("{client}: {size} {tokenizer} tokens in {files}");
            let hint = if label.is_empty() {
                ""
            } else {
                "; `memory-forge audit`"
            };
            screen.add_line(label, &format!("{text}{hint}"));
            label = "";
        }
        if self.cost.always_on.is_empty() {
            screen.add_line(label, "no agent loads a file of this project at a start");
        }
    }

    /// Shows what hooks brought before actions, once there is something.
    fn show_pushes(&self, screen: &mut StatusScreen) {
        let pushes = &self.pushes;
        if pushes.pushes == 0 {
            return;
        }
        let outcomes = [
            (pushes.avoided, "avoided"),
            (pushes.used, "used"),
            (pushes.ignored, "ignored"),
            (pushes.contradicted, "contradicted"),
            (pushes.open, "open"),
            (pushes.unknown, "unknown"),
        ];
        let outcomes: Vec<String> = outcomes
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        screen.add_line(
            "Pushed",
            &format!(
                "{} brought, ~{} tokens: {}; `memory-forge why`",
                count_with_noun(pushes.pushes, "item"),
                format_thousands(pushes.tokens),
                outcomes.join(", ")
            ),
        );
        if pushes.silenced > 0 {
            let note = format!(
                "{} silenced; `memory-forge check` lists them",
                count_with_noun(pushes.silenced, "item")
            );
            screen.add_line("", &note);
        }
    }

    fn show_index(&self, screen: &mut StatusScreen) {
        let text = match &self.index {
            Ok(Some(index)) => {
                let last = index.last.as_deref().unwrap_or("never");
                // Date and minutes of an RFC 3339 time.
                let last = last.get(..16).unwrap_or(last).replace('T', " ");
                let fresh = match index.changed {
                    0 => "up to date".to_owned(),
                    n => format!("{} changed since", count_with_noun(n, "file")),
                };
                format!("{}, {fresh} ({last})", count_with_noun(index.files, "file"))
            }
            Ok(None) => "none yet; the first search makes it".to_owned(),
            Err(error) => error.to_string(),
        };
        screen.add_line("Index", &text);
        if let Ok(Some(index)) = &self.index
            && index.lacks_vectors()
        {
            let vectors = format!(
                "{} of {} passages; `memory-forge index` completes them",
                format_thousands(index.embedded),
                format_thousands(index.passages)
            );
            screen.add_line("Vectors", &vectors);
        }
        if self.tracked_files > 0 {
            let note = format!(
                "git tracks {} of `{DERIVED_FOLDER}/`; `git rm -r --cached {DERIVED_FOLDER}` ends it",
                count_with_noun(self.tracked_files, "file")
            );
            screen.add_line("Git", &note);
        }
    }

    fn show_installed(&self, screen: &mut StatusScreen) {
        if self.installed.is_empty() {
            screen.add_line(
                "Installed",
                "no clients connected; `memory-forge setup` connects them",
            );
        } else {
            let (bold, plain) = (style::HEADING, style::HEADING.render_reset());
            let header = format!(
                "{:<12} {:<8} {:<6} {:<4} Lines in",
                "Client", "Scope", "Hooks", "MCP"
            );
            screen.text.push_str(&format!("{bold}{header}{plain}\n"));
            for it in &self.installed {
                let (client, scope, presence) = (it.client, it.scope, &it.presence);
                let hooks = match presence.hooks.len() {
                    0 if presence.shares_hooks => "Claude".to_owned(),
                    0 => "-".to_owned(),
                    n => n.to_string(),
                };
                let row = format!(
                    "{:<12} {:<8} {:<6} {:<4} {}",
                    client.title(),
                    scope.name(),
                    hooks,
                    if presence.server { "yes" } else { "-" },
                    presence.stub.as_deref().unwrap_or("-"),
                );
                screen.add_whole_line(&row);
            }
        }
        for client in self.clients_hooked_twice() {
            let note = format!(
                "{} has hooks in both scopes; each event fires twice",
                client.title()
            );
            screen.add_line("Twice", &note);
        }
        if self.merge_driver == status::DriverWiring::NotInThisClone {
            let note = "memory merges by lines in this clone; `memory-forge setup --git`";
            screen.add_line("Git", note);
        }
        for other in &self.others {
            screen.add_line(
                "Also here",
                &format!("{} ({})", other.system, other.evidence),
            );
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let state = match &self.state {
            Ok(Some(state)) => json!({
                "file": self.state_file,
                "phase": state.phase,
                "status": state.status,
                "active": state.active,
                "blocked": state.blocked,
                "next": state.next,
                "modified": state.modified,
                "staleSeconds": self.stale_seconds,
            }),
            Ok(None) => Value::Null,
            Err(error) => json!({ "file": self.state_file, "error": error }),
        };
        let index = match &self.index {
            Ok(index) => json!(index.as_ref().map(|index| json!({
                "files": index.files,
                "changedSince": index.changed,
                "lastIndexed": index.last,
                "passages": index.passages,
                "embedded": index.embedded,
            }))),
            Err(error) => json!({ "error": escape_hidden(&error.to_string()) }),
        };
        let installed: Vec<Value> = self
            .installed
            .iter()
            .map(|it| {
                let (client, scope, presence) = (it.client, it.scope, &it.presence);
                json!({
                    "client": client.name(),
                    "scope": scope.name(),
                    "hooks": presence.hooks,
                    "hooksFile": presence.hooks_file,
                    "sharesHooksOfClaude": presence.shares_hooks,
                    "mcp": presence.server,
                    "stub": presence.stub,
                })
            })
            .collect();
        let twice: Vec<&str> = self
            .clients_hooked_twice()
            .into_iter()
            .map(AgentClient::name)
            .collect();
        json!({
            "version": 1,
            "state": state,
            "twoLayouts": self.two_layouts,
            "tokens": {
                "briefing": { "count": self.cost.briefing, "tokenizer": "estimate" },
                "nudge": { "count": self.cost.nudge, "tokenizer": "estimate" },
                "stub": { "count": self.cost.stub, "tokenizer": "estimate" },
                "alwaysOn": self.cost.always_on.iter().map(|it| json!({
                    "client": it.client.name(), "count": it.tokens, "files": it.files,
                    "tokenizer": it.tokenizer.label(),
                })).collect::<Vec<_>>(),
            },
            "pushes": {
                "mode": self.pushes.mode, "count": self.pushes.pushes,
                "tokens": { "count": self.pushes.tokens, "tokenizer": "estimate" },
                "avoided": self.pushes.avoided, "used": self.pushes.used,
                "ignored": self.pushes.ignored,
                "contradicted": self.pushes.contradicted, "open": self.pushes.open,
                "unknown": self.pushes.unknown,
                "silenced": self.pushes.silenced,
            },
            "index": index,
            "trackedDerivedFiles": self.tracked_files,
            "installed": installed,
            "twice": twice,
            "others": others_json(&self.others),
            "identity": self.identity.as_ref().map(|it| json!({
                "id": it.id(),
                "commit": it.commit,
                "folder": it.folder,
            })),
            "mergeDriver": self.merge_driver.name(),
        })
    }
}

/// Renders other memory tools as JSON, for `setup` and `status`.
pub(crate) fn others_json(others: &[status::OtherMemory]) -> Value {
    let one = |it: &status::OtherMemory| json!({ "system": it.system, "evidence": it.evidence, "note": it.note });
    others.iter().map(one).collect()
}

/// Lines of at most `width` columns, each with a label before it.
struct StatusScreen {
    text: String,
    width: usize,
}

impl StatusScreen {
    fn add_line(&mut self, label: &str, text: &str) {
        let (bold, plain) = (style::HEADING, style::HEADING.render_reset());
        let mut label = label;
        for part in fold_first_line(text, self.width.saturating_sub(LABEL_COLUMNS)) {
            let line = format!("{bold}{label:<LABEL_COLUMNS$}{plain}{part}\n");
            self.text.push_str(&line);
            label = "";
        }
    }

    fn add_whole_line(&mut self, text: &str) {
        self.text.push_str(&cut_first_line(text, self.width));
        self.text.push('\n');
    }

    fn add_blank_line(&mut self) {
        self.text.push('\n');
    }
}

/// Upper bound for the lines of one item.
const MAX_LINES_PER_ITEM: usize = 3;

/// Folds the first line of a text to so many columns, and truncates what does
/// not fit.
fn fold_first_line(text: &str, columns: usize) -> Vec<String> {
    let line = escape_hidden(text.lines().next().unwrap_or_default());
    let mut parts = vec![String::new()];
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let last = parts.last_mut().expect("there is one from the beginning");
        if !last.is_empty() && ui::columns_of(last) + 1 + ui::columns_of(word) > columns {
            if parts.len() == MAX_LINES_PER_ITEM {
                let rest: Vec<&str> = words.collect();
                let last = parts.pop().unwrap_or_default();
                parts.push(ui::cut_to_columns(
                    &format!("{last} {}", rest.join(" ")),
                    columns,
                ));
                return parts;
            }
            parts.push(String::new());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
        words.next();
    }
    for part in &mut parts {
        *part = ui::cut_to_columns(part, columns);
    }
    parts
}

/// Truncates the first line of a text to so many columns.
fn cut_first_line(text: &str, most: usize) -> String {
    ui::cut_to_columns(
        &escape_hidden(text.lines().next().unwrap_or_default()),
        most,
    )
}

fn count_with_noun(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{} {what}s", format_thousands(n)),
    }
}
