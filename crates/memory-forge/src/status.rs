//! The status of a workspace: where the work stands, what is stale, what memory
//! costs and what is installed where. It changes nothing.

use forge_app::audit::{self, AuditOptions, View};
use forge_app::index::Index;
use forge_app::knowledge::refresh;
use forge_app::layers::injection::{self, Given};
use forge_app::mind::{BriefingAsk, Mind, Source, State, duration_in_words};
use forge_app::tokens::{self, Tokenizer, thousands};
use forge_app::workspace::{DERIVED, Identity, Workspace, git, identity};
use serde_json::{Value, json};

use crate::report::CommandError;
use crate::setup::found::{self, Presence};
use crate::setup::git::{Wiring, wiring};
use crate::setup::{Client, Scope, Surroundings, lines_of};
use crate::ui::{self, printable, style};

/// Lines longer than this are hard to read, however wide a terminal is.
pub(crate) const MAX_WIDTH: usize = 120;
/// Labels stand in a column of their own.
const LABEL: usize = 11;

pub(crate) struct Status {
    state_file: String,
    state: Result<Option<State>, String>,
    /// What is said of state files of the layout that is not in use.
    two_layouts: Option<String>,
    /// How long ago the state was written, where it counts as stale.
    stale_seconds: Option<i64>,
    cost: Cost,
    index: Result<Option<IndexState>, String>,
    /// Files of `.memory-forge/` that git tracks, and so others can replace.
    tracked: usize,
    installed: Vec<(Client, Scope, Presence)>,
    others: Vec<found::Other>,
    /// The directory, where nothing in it is ours yet.
    unprepared: Option<String>,
    /// What the workspace is known by, wherever it lies.
    identity: Option<Identity>,
    wiring: Wiring,
}

/// What memory costs a session, in tokens.
struct Cost {
    briefing: usize,
    nudge: usize,
    stub: usize,
    always_on: usize,
    always_on_files: usize,
    tokenizer: Tokenizer,
}

struct IndexState {
    files: usize,
    changed: usize,
    last: Option<String>,
}

impl Status {
    pub(crate) fn gather(around: &Surroundings<'_>) -> Status {
        let (workspace, now) = (around.workspace, around.settings.now);
        let mind = Mind::open(workspace).shown();
        let state = mind.state().map_err(|error| error.to_string());
        let modified = state.as_ref().ok().and_then(Option::as_ref);
        let age = modified
            .and_then(|state| state.modified)
            .map(|modified| now.as_second() - modified.as_second());
        let limit = i64::try_from(workspace.config().mind.stale_seconds).unwrap_or(i64::MAX);
        let in_use = found::clients(around);
        let mut installed = Vec::new();
        for client in Client::ALL {
            for scope in Scope::ALL {
                let presence = found::presence(around, client, scope);
                // Lines in a shared file say nothing about a client that
                // nobody uses here.
                let used = in_use.iter().any(|(used, _)| *used == client);
                let reads = used && (presence.stub.is_some() || presence.shares_hooks);
                if !presence.is_empty_but_for_stub() || reads {
                    installed.push((client, scope, presence));
                }
            }
        }
        Status {
            state_file: mind.file(forge_app::mind::File::State).to_string(),
            state,
            two_layouts: mind.two_layouts(),
            stale_seconds: age.filter(|age| *age >= limit),
            cost: Cost::gather(around, &mind, &installed),
            index: index_state(workspace).map_err(|error| error.to_string()),
            tracked: git::tracked_below(workspace.root(), DERIVED).unwrap_or(0),
            installed,
            others: found::others(around),
            unprepared: unprepared(workspace),
            identity: identity(workspace),
            wiring: wiring(workspace),
        }
    }

    pub(crate) fn screen(&self, width: usize) -> String {
        let mut screen = Screen {
            text: String::new(),
            width,
        };
        if let Some(place) = &self.unprepared {
            screen.line("Workspace", "none here yet; `memory-forge init` prepares");
            screen.line("", place);
            screen.blank();
        }
        self.show_work(&mut screen);
        if let Some(note) = &self.two_layouts {
            screen.line("Ignored", note);
        }
        screen.blank();
        self.show_cost(&mut screen);
        self.show_index(&mut screen);
        screen.blank();
        self.show_installed(&mut screen);
        screen.text
    }

    fn show_work(&self, screen: &mut Screen) {
        let state = match &self.state {
            Ok(Some(state)) => state,
            Ok(None) => {
                let begin = "no state yet; `memory-forge mind set --next '<what>'` begins it";
                screen.line("Work", begin);
                return;
            }
            Err(error) => {
                screen.line("Work", error);
                return;
            }
        };
        let or_unset = |text: &Option<String>| text.clone().unwrap_or("not set".to_owned());
        screen.line("Phase", &or_unset(&state.phase));
        if let Some(status) = &state.status {
            screen.line("Status", status);
        }
        screen.line("Next", &or_unset(&state.next));
        match state.blocked.len() {
            0 => {}
            1 => screen.line("Blocked", &state.blocked[0]),
            n => screen.line("Blocked", &format!("({n}) {}", state.blocked.join("; "))),
        }
        if let Some(seconds) = self.stale_seconds {
            let age = duration_in_words(seconds);
            let note = format!("{} was last written {age} ago", self.state_file);
            screen.line("Stale", &note);
        }
    }

    fn show_cost(&self, screen: &mut Screen) {
        let cost = &self.cost;
        let start = cost.briefing + cost.stub;
        if start + cost.nudge == 0 {
            screen.line("Memory", "nothing is told to agents yet");
            self.show_always_on(screen);
            return;
        }
        screen.line(
            "Memory",
            &format!(
                "~{} tokens a session: briefing ~{}, lines in the file ~{}",
                thousands(start),
                thousands(cost.briefing),
                cost.stub
            ),
        );
        screen.line("", &format!("and ~{} more with each prompt", cost.nudge));
        self.show_always_on(screen);
    }

    fn show_always_on(&self, screen: &mut Screen) {
        let cost = &self.cost;
        screen.line(
            "Always on",
            &format!(
                "{} tokens ({}) in {}; see `memory-forge audit`",
                thousands(cost.always_on),
                cost.tokenizer.label(),
                count(cost.always_on_files, "file"),
            ),
        );
    }

    fn show_index(&self, screen: &mut Screen) {
        let text = match &self.index {
            Ok(Some(index)) => {
                let last = index.last.as_deref().unwrap_or("never");
                let last = last.get(..16).unwrap_or(last).replace('T', " ");
                let fresh = match index.changed {
                    0 => "up to date".to_owned(),
                    n => format!("{} changed since", count(n, "file")),
                };
                format!("{}, {fresh} ({last})", count(index.files, "file"))
            }
            Ok(None) => "none yet; the first search makes it".to_owned(),
            Err(error) => error.clone(),
        };
        screen.line("Index", &text);
        if self.tracked > 0 {
            let note = format!(
                "git tracks {} of `{DERIVED}/`; `git rm -r --cached {DERIVED}` ends it",
                count(self.tracked, "file")
            );
            screen.line("Git", &note);
        }
    }

    fn show_installed(&self, screen: &mut Screen) {
        if self.installed.is_empty() {
            screen.line("Installed", "nowhere; `memory-forge setup` connects agents");
        } else {
            let (bold, plain) = (style::HEADING, style::HEADING.render_reset());
            let header = format!(
                "{:<12} {:<8} {:<6} {:<4} Lines in",
                "Client", "Scope", "Hooks", "MCP"
            );
            screen.text.push_str(&format!("{bold}{header}{plain}\n"));
            for (client, scope, presence) in &self.installed {
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
                screen.whole(&row);
            }
        }
        for client in self.twice() {
            let note = format!(
                "{} has hooks in both scopes; each event fires twice",
                client.title()
            );
            screen.line("Twice", &note);
        }
        if self.wiring == Wiring::NotInThisClone {
            let note = "memory merges by lines in this clone; `memory-forge setup --git`";
            screen.line("Git", note);
        }
        for other in &self.others {
            screen.line(
                "Also here",
                &format!("{} ({})", other.system, other.evidence),
            );
        }
    }

    /// Clients with hooks in both scopes.
    fn twice(&self) -> Vec<Client> {
        let with_hooks = |client: Client| {
            let mine = self.installed.iter().filter(move |(c, ..)| *c == client);
            mine.filter(|(.., presence)| !presence.hooks.is_empty())
                .count()
        };
        let clients = Client::ALL.into_iter();
        clients.filter(|&client| with_hooks(client) > 1).collect()
    }

    pub(crate) fn json(&self) -> Value {
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
            }))),
            Err(error) => json!({ "error": error }),
        };
        let installed: Vec<Value> = self
            .installed
            .iter()
            .map(|(client, scope, presence)| {
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
        let twice: Vec<&str> = self.twice().into_iter().map(Client::name).collect();
        json!({
            "version": 1,
            "state": state,
            "twoLayouts": self.two_layouts,
            "tokens": {
                "briefing": { "count": self.cost.briefing, "tokenizer": "estimate" },
                "nudge": { "count": self.cost.nudge, "tokenizer": "estimate" },
                "stub": { "count": self.cost.stub, "tokenizer": "estimate" },
                "alwaysOn": {
                    "count": self.cost.always_on,
                    "files": self.cost.always_on_files,
                    "tokenizer": self.cost.tokenizer.label(),
                },
            },
            "index": index,
            "trackedDerivedFiles": self.tracked,
            "installed": installed,
            "twice": twice,
            "others": self.others,
            "identity": self.identity.as_ref().map(|it| json!({
                "id": it.id(),
                "commit": it.commit,
                "folder": it.folder,
            })),
            "mergeDriver": self.wiring.name(),
        })
    }
}

impl Cost {
    fn gather(
        around: &Surroundings<'_>,
        mind: &Mind<'_>,
        installed: &[(Client, Scope, Presence)],
    ) -> Cost {
        let (workspace, now) = (around.workspace, around.settings.now);
        let briefing = if mind.exists() {
            let known = injection::for_session(workspace);
            let ask = BriefingAsk {
                source: Source::Startup,
                max_tokens: BRIEFING_TOKENS,
                max_bytes: BRIEFING_BYTES,
                nonce: "00000000",
                now,
                events: &[],
                overview: &[],
                pointers: known.as_ref().map(Given::pointers),
            };
            tokens::estimate(&mind.briefing(&ask).text)
        } else {
            0
        };
        let has_stub = installed
            .iter()
            .any(|(.., presence)| presence.stub.is_some());
        let tokenizer: Tokenizer = workspace.config().audit.tokenizer;
        let always = audit::autoload_cost(
            workspace,
            &AuditOptions {
                view: View::Plain,
                tokenizer,
                home: around.settings.home.as_deref(),
                now,
            },
        );
        Cost {
            briefing,
            nudge: mind.nudge(now).map_or(0, |line| tokens::estimate(&line)),
            stub: if has_stub {
                lines_of(workspace, Scope::Project).tokens()
            } else {
                0
            },
            always_on: always.autoload_tokens,
            always_on_files: always.autoload_files,
            tokenizer,
        }
    }
}

/// As the hook asks for it.
const BRIEFING_TOKENS: usize = 2500;
const BRIEFING_BYTES: usize = 9_999;

/// The path of a directory that holds nothing by which a workspace is known.
fn unprepared(workspace: &Workspace) -> Option<String> {
    const SIGNS: [&str; 6] = [
        "knowledge",
        ".mind",
        "_MANIFEST.md",
        "memory/status.md",
        "memory-forge.toml",
        ".agents/memory",
    ];
    let root = workspace.root();
    let bare = SIGNS.iter().all(|sign| !root.join(sign).exists());
    bare.then(|| root.display().to_string())
}

fn index_state(workspace: &Workspace) -> Result<Option<IndexState>, CommandError> {
    let Some(index) = Index::open_existing(&workspace.derived())? else {
        return Ok(None);
    };
    let catalogue = index.catalogue()?;
    let scan = workspace.scan();
    Ok(Some(IndexState {
        files: index.counts()?.files,
        changed: refresh::behind(workspace, &scan, &index, &catalogue)?,
        last: index.note("last_indexed")?,
    }))
}

/// Lines of at most so many columns, each with a label before it.
struct Screen {
    text: String,
    width: usize,
}

impl Screen {
    fn line(&mut self, label: &str, text: &str) {
        let (bold, plain) = (style::HEADING, style::HEADING.render_reset());
        let mut label = label;
        for part in parts(text, self.width.saturating_sub(LABEL)) {
            let line = format!("{bold}{label:<LABEL$}{plain}{part}\n");
            self.text.push_str(&line);
            label = "";
        }
    }

    fn whole(&mut self, text: &str) {
        self.text.push_str(&cut(text, self.width));
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }
}

/// Lines that one thing may take.
const MOST_LINES: usize = 3;

/// The first line of a text, folded to so many columns; what does not fit is
/// cut off.
fn parts(text: &str, columns: usize) -> Vec<String> {
    let line = printable(text.lines().next().unwrap_or_default());
    let mut parts = vec![String::new()];
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let last = parts.last_mut().expect("there is one from the beginning");
        if !last.is_empty() && ui::columns_of(last) + 1 + ui::columns_of(word) > columns {
            if parts.len() == MOST_LINES {
                let rest: Vec<&str> = words.collect();
                let last = parts.pop().unwrap_or_default();
                parts.push(ui::cut(&format!("{last} {}", rest.join(" ")), columns));
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
        *part = ui::cut(part, columns);
    }
    parts
}

/// The first line of a text, shortened to so many columns.
fn cut(text: &str, most: usize) -> String {
    ui::cut(&printable(text.lines().next().unwrap_or_default()), most)
}

fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{} {what}s", thousands(n)),
    }
}
