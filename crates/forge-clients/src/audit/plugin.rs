//! Computes what a plugin costs the model: at every start, and when a part of
//! it is used. Any plugin's folder can be judged, as each client loads it.
//!
//! - Claude Code: a line for each skill, command and agent; of an MCP server
//!   the names of its tools and its instructions.
//! - Codex: a line for each skill with its path; no agents, no commands; of a
//!   server instructions and whole tools.
//! - Copilot CLI: a few lines of XML for each skill, a line for each agent, and
//!   whole tools.
//! - Gemini CLI, for an extension of its own: its context file, a few lines of
//!   XML for each skill, whole tools.
//! - Skills that only people start cost nothing before: `disable-model-invocation`,
//!   in Codex `agents/openai.yaml`.
//!
//! Hooks cost what they print, which no folder shows. No server is started: the
//! caller knows what it offers, or it stays unknown.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::claude::agent_tools;
use super::loads::{strip_comments, truncate_to_utf16};
use super::skills::{SkillHeader, claude_line, first_paragraph, skill_xml};
use crate::client::AgentClient;
use crate::document::{self, Document};
use crate::tokens::{Tokenizer, count_tokens};
use crate::workspace::{list_beyond_workspace, read_beyond_workspace};

/// Upper bound for a manifest, skill or agent; a longer file is not read.
const MAX_PLUGIN_FILE_BYTES: u64 = 1 << 20;
/// Upper bound up to which Claude Code takes a server's instructions.
const MAX_INSTRUCTION_UTF16_UNITS: usize = 2048;

/// Plugin or extension, read once from its folder.
pub struct PluginFolder {
    /// Name from the manifest.
    pub name: String,
    /// Version from the manifest, where it has one.
    pub version: Option<String>,
    folder: PathBuf,
    is_extension: bool,
    manifest: Json,
    skills: Vec<PluginPage>,
    commands: Vec<PluginPage>,
    agents: Vec<PluginPage>,
    /// Events at which the plugin runs something, each with the command.
    pub hooks: Vec<(String, String)>,
    /// Servers that the plugin starts.
    pub servers: Vec<PluginServer>,
}

/// Command that starts a server of the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginServer {
    /// Name under which the plugin lists it.
    pub name: String,
    /// Program that the client would run.
    pub command: String,
    /// Arguments of that program.
    pub arguments: Vec<String>,
}

/// Instructions and tools that a server sends to its clients.
#[derive(Clone, Debug, Default)]
pub struct ServerOffer {
    /// Text that the client puts into the context at its start.
    pub instructions: String,
    /// `name`, `description` and `parameters` of each tool.
    pub tools: Vec<Json>,
}

/// Skill, command or agent of the plugin.
struct PluginPage {
    name: String,
    document: Document,
    /// Whether a file for Codex hides it from the model.
    hidden_in_codex: bool,
}

/// Kind of a part of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginComponent {
    /// Context file of an extension.
    Context,
    /// A skill.
    Skill,
    /// A command.
    Command,
    /// An agent.
    Agent,
    /// Tools of a server.
    Tools,
    /// Instructions of a server.
    Instructions,
}

impl PluginComponent {
    /// Returns the name for programs.
    pub fn id(self) -> &'static str {
        match self {
            PluginComponent::Context => "context",
            PluginComponent::Skill => "skill",
            PluginComponent::Command => "command",
            PluginComponent::Agent => "agent",
            PluginComponent::Tools => "tools",
            PluginComponent::Instructions => "instructions",
        }
    }
}

/// Part of a plugin with its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentCost {
    /// Kind of the part.
    pub component: PluginComponent,
    /// Name of the part within the plugin.
    pub name: String,
    /// Tokens at every start.
    pub always: usize,
    /// Tokens when it is used; `None` where nothing more comes.
    pub on_invoke: Option<usize>,
    /// Whether the model does not know of it before a person starts it.
    pub explicit: bool,
}

/// Price of a plugin in one client, part by part.
#[derive(Clone, Debug)]
pub struct PluginBill {
    /// Client whose way of loading was counted.
    pub client: AgentClient,
    /// Parts in the order of their kinds.
    pub costs: Vec<ComponentCost>,
    /// Servers whose tools the caller did not know.
    pub unknown: Vec<PluginServer>,
}

impl PluginBill {
    /// Returns the tokens of all parts at every start.
    pub fn always_tokens(&self) -> usize {
        self.costs.iter().map(|cost| cost.always).sum()
    }

    /// Returns the tokens of all parts when they are used.
    pub fn on_invoke_tokens(&self) -> usize {
        self.costs.iter().filter_map(|cost| cost.on_invoke).sum()
    }
}

impl PluginFolder {
    /// Reads a folder with the manifest of a plugin or an extension. Returns
    /// `None` if there is none.
    pub fn read_folder(folder: &Path) -> Option<PluginFolder> {
        const MANIFEST_FILES: [&str; 4] = [
            ".claude-plugin/plugin.json",
            ".codex-plugin/plugin.json",
            "plugin.json",
            "gemini-extension.json",
        ];
        let (file, manifest) = MANIFEST_FILES
            .iter()
            .find_map(|file| Some((*file, read_json(&folder.join(file))?)))?;
        let text = |key: &str| manifest[key].as_str().map(str::to_owned);
        let below = |name: &str, depth| -> Vec<PathBuf> {
            list_beyond_workspace(&folder.join(name), depth)
        };
        let skills = below("skills", 1).into_iter();
        let skills = skills.filter(|path| path.ends_with("SKILL.md"));
        let mut servers = parse_servers(&manifest);
        for file in [".mcp.json", "mcp.json"] {
            if servers.is_empty() {
                servers = self::parse_servers(&read_json(&folder.join(file)).unwrap_or_default());
            }
        }
        Some(PluginFolder {
            name: text("name").unwrap_or_else(|| folder_name(folder)),
            version: text("version"),
            is_extension: file == "gemini-extension.json",
            skills: skills
                .filter_map(|path| PluginPage::read_skill(&path))
                .collect(),
            commands: read_pages(&below("commands", 4)),
            agents: read_pages(&below("agents", 4)),
            hooks: parse_hooks(&read_json(&folder.join("hooks/hooks.json")).unwrap_or_default()),
            servers,
            folder: folder.to_owned(),
            manifest,
        })
    }

    /// Returns the clients that can install it.
    pub fn clients(&self) -> &'static [AgentClient] {
        if self.is_extension {
            &[AgentClient::Gemini]
        } else {
            &[
                AgentClient::Claude,
                AgentClient::Codex,
                AgentClient::Copilot,
            ]
        }
    }

    /// Computes what it costs in a client. `offer` returns what a server
    /// offers, if that is known.
    pub fn compute_bill(
        &self,
        client: AgentClient,
        tokenizer: Tokenizer,
        offer: &dyn Fn(&PluginServer) -> Option<ServerOffer>,
    ) -> PluginBill {
        let mut bill = PluginBill {
            client,
            costs: Vec::new(),
            unknown: Vec::new(),
        };
        let mut add = |component, name: &str, always: &str, invoke: Option<&str>, explicit| {
            bill.costs.push(ComponentCost {
                component,
                name: name.to_owned(),
                always: count_tokens(tokenizer, always),
                on_invoke: invoke.map(|text| count_tokens(tokenizer, text)),
                explicit,
            });
        };
        if self.is_extension
            && let Some((name, text)) = self.context_file()
        {
            add(PluginComponent::Context, &name, &text, None, false);
        }
        for page in &self.skills {
            let skill = page.skill_header();
            let explicit = match client {
                AgentClient::Codex => page.hidden_in_codex,
                AgentClient::Gemini | AgentClient::OpenCode | AgentClient::Cursor => false,
                AgentClient::Claude | AgentClient::Copilot => skill.hidden || skill.scoped,
            };
            let line = if explicit {
                String::new()
            } else {
                self.skill_line(client, skill, page)
            };
            let body = strip_comments(&page.document).0;
            add(
                PluginComponent::Skill,
                &page.name,
                &line,
                Some(&body),
                explicit,
            );
        }
        if client == AgentClient::Claude {
            for page in &self.commands {
                let mut skill = page.skill_header();
                let explicit = skill.hidden;
                skill.name = format!("{}:{}", self.name, page.name);
                let line = if explicit {
                    String::new()
                } else {
                    claude_line(&skill)
                };
                let body = strip_comments(&page.document).0;
                add(
                    PluginComponent::Command,
                    &page.name,
                    &line,
                    Some(&body),
                    explicit,
                );
            }
        }
        if matches!(client, AgentClient::Claude | AgentClient::Copilot) {
            for page in &self.agents {
                let skill = page.skill_header();
                let name = format!("{}:{}", self.name, skill.name);
                let line = match client {
                    AgentClient::Claude => {
                        let tools = agent_tools(&page.document);
                        format!("- {name}: {} (Tools: {tools})\n", skill.description)
                    }
                    _ => format!("- **{name}**: {}\n", skill.description),
                };
                let body = strip_comments(&page.document).0;
                add(
                    PluginComponent::Agent,
                    &skill.name,
                    &line,
                    Some(&body),
                    false,
                );
            }
        }
        let mut unknown = Vec::new();
        for server in &self.servers {
            let Some(offer) = offer(server) else {
                unknown.push(server.clone());
                continue;
            };
            let offered_lines = self.server_lines(client, server, &offer);
            // Claude Code loads schemas one by one on demand; all of them is
            // the upper bound.
            let schemas =
                (client == AgentClient::Claude).then(|| self.tool_listing(client, server, &offer));
            let schemas = schemas.as_deref();
            let tools = format!("{} ({})", server.name, offer.tools.len());
            add(
                PluginComponent::Tools,
                &tools,
                &offered_lines.tools,
                schemas,
                false,
            );
            if !offered_lines.instructions.is_empty() {
                let text = &offered_lines.instructions;
                add(
                    PluginComponent::Instructions,
                    &server.name,
                    text,
                    None,
                    false,
                );
            }
        }
        bill.unknown = unknown;
        bill
    }

    fn skill_line(&self, client: AgentClient, mut skill: SkillHeader, page: &PluginPage) -> String {
        match client {
            AgentClient::Claude => {
                skill.name = format!("{}:{}", self.name, page.name);
                claude_line(&skill)
            }
            AgentClient::Codex => {
                let about = truncate_to_utf16(&skill.description, 1024);
                let name = &page.name;
                format!(
                    "- {}:{name}: {about} (file: r1/{name}/SKILL.md)\n",
                    self.name
                )
            }
            AgentClient::Copilot | AgentClient::OpenCode | AgentClient::Cursor => {
                skill_xml(&page.name, &skill.description, "plugin")
            }
            AgentClient::Gemini => {
                let place = format!("~/.gemini/extensions/{}/skills", self.name);
                let place = format!("{place}/{}/SKILL.md", page.name);
                skill_xml(&page.name, &skill.description, &place)
            }
        }
    }

    fn server_lines(
        &self,
        client: AgentClient,
        server: &PluginServer,
        offer: &ServerOffer,
    ) -> ServerLines {
        let (plugin, name) = (&self.name, &server.name);
        let names = offer.tools.iter().filter_map(|tool| tool["name"].as_str());
        let heading = |title: &str| {
            let text = truncate_to_utf16(&offer.instructions, MAX_INSTRUCTION_UTF16_UNITS);
            if text.is_empty() {
                text
            } else {
                format!("{title}{text}\n")
            }
        };
        match client {
            AgentClient::Claude => ServerLines {
                tools: names
                    .map(|tool| format!("mcp__plugin_{plugin}_{name}__{tool}\n"))
                    .collect(),
                instructions: heading(&format!("## plugin:{plugin}:{name}\n")),
            },
            AgentClient::Codex => ServerLines {
                tools: self.tool_listing(client, server, offer),
                instructions: heading(""),
            },
            // No request of Copilot CLI was seen to carry them.
            AgentClient::Copilot => ServerLines {
                tools: self.tool_listing(client, server, offer),
                instructions: String::new(),
            },
            AgentClient::Gemini | AgentClient::OpenCode | AgentClient::Cursor => ServerLines {
                tools: self.tool_listing(client, server, offer),
                instructions: heading(""),
            },
        }
    }

    /// Returns whole tools, each in the shape in which the client sends it.
    fn tool_listing(
        &self,
        client: AgentClient,
        server: &PluginServer,
        offer: &ServerOffer,
    ) -> String {
        let tools = offer.tools.iter().map(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            let about = tool["description"].as_str().unwrap_or_default();
            let parameters = &tool["parameters"];
            match client {
                AgentClient::Claude => json!({
                    "name": format!("mcp__plugin_{}_{}__{name}", self.name, server.name),
                    "description": about,
                    "input_schema": parameters,
                }),
                AgentClient::Codex => json!({
                    "type": "function",
                    "name": name,
                    "description": format!("{about} This tool is part of plugin `{}`.", self.name),
                    "strict": false,
                    "parameters": parameters,
                }),
                AgentClient::Copilot | AgentClient::OpenCode | AgentClient::Cursor => json!({
                    "type": "function",
                    "function": {
                        "name": format!("{}-{name}", server.name),
                        "description": about,
                        "parameters": parameters,
                    },
                }),
                AgentClient::Gemini => json!({
                    "name": format!("mcp_{}_{name}", server.name),
                    "description": about,
                    "parametersJsonSchema": parameters,
                }),
            }
        });
        let lines: Vec<String> = tools.map(|tool| tool.to_string()).collect();
        lines.join("\n")
    }

    /// Returns name and text of the file that an extension of Gemini CLI always
    /// loads.
    fn context_file(&self) -> Option<(String, String)> {
        let name = self.manifest["contextFileName"].as_str();
        let name = name.unwrap_or("GEMINI.md").to_owned();
        let text = read_beyond_workspace(&self.folder.join(&name), MAX_PLUGIN_FILE_BYTES)?;
        Some((name, text))
    }
}

/// Text that a client takes from a server at every start.
struct ServerLines {
    tools: String,
    instructions: String,
}

impl PluginPage {
    fn read_page(path: &Path, name: String) -> Option<PluginPage> {
        Some(PluginPage {
            name,
            document: document::parse_document(read_beyond_workspace(path, MAX_PLUGIN_FILE_BYTES)?),
            hidden_in_codex: false,
        })
    }

    fn read_skill(path: &Path) -> Option<PluginPage> {
        let folder = path.parent()?;
        let policy =
            read_beyond_workspace(&folder.join("agents/openai.yaml"), MAX_PLUGIN_FILE_BYTES);
        let hidden = policy.is_some_and(|text| {
            let mut lines = text.lines().map(str::trim);
            lines.any(|line| line == "allow_implicit_invocation: false")
        });
        let mut page = PluginPage::read_page(path, folder_name(folder))?;
        page.hidden_in_codex = hidden;
        Some(page)
    }

    fn skill_header(&self) -> SkillHeader {
        let mut skill = SkillHeader::from_document(&self.document, &self.name);
        if skill.description.is_empty() {
            skill.description = first_paragraph(&self.document);
        }
        skill
    }
}

fn read_pages(files: &[PathBuf]) -> Vec<PluginPage> {
    let stem = |path: &Path| Some(path.file_stem()?.to_string_lossy().into_owned());
    files
        .iter()
        .filter_map(|path| PluginPage::read_page(path, stem(path)?))
        .collect()
}

fn folder_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}

fn read_json(path: &Path) -> Option<Json> {
    serde_json::from_str(&read_beyond_workspace(path, MAX_PLUGIN_FILE_BYTES)?).ok()
}

/// Parses the servers of a manifest or an `.mcp.json`, which may lack the outer
/// key.
fn parse_servers(value: &Json) -> Vec<PluginServer> {
    let named = value.get("mcpServers").unwrap_or(value).as_object();
    let server = |(name, server): (&String, &Json)| {
        let arguments = server["args"].as_array().into_iter().flatten();
        Some(PluginServer {
            name: name.clone(),
            command: server["command"]
                .as_str()
                .or(server["url"].as_str())?
                .to_owned(),
            arguments: arguments
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect(),
        })
    };
    named.into_iter().flatten().filter_map(server).collect()
}

fn parse_hooks(value: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let events = value["hooks"].as_object();
    for (event, groups) in events.into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            for handler in group["hooks"].as_array().into_iter().flatten() {
                let command = handler["command"].as_str().unwrap_or_default();
                found.push((event.clone(), command.to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("it has a folder")).expect("made");
        std::fs::write(file, text).expect("written");
    }

    fn sample() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let put = |name: &str, text: &str| write(dir.path(), name, text);
        put(
            ".claude-plugin/plugin.json",
            r#"{"name": "tide", "version": "2.0.0"}"#,
        );
        put(
            "skills/read/SKILL.md",
            "---\nname: read\ndescription: Reads tide tables.\n---\nBody of it.\n",
        );
        put(
            "skills/moor/SKILL.md",
            "---\nname: moor\ndescription: Moors.\ndisable-model-invocation: true\n---\nBody.\n",
        );
        put("skills/moor/notes.md", "Not a skill.\n");
        put(
            "skills/codex/SKILL.md",
            "---\nname: codex\ndescription: Hidden there.\n---\nBody.\n",
        );
        put(
            "skills/codex/agents/openai.yaml",
            "policy:\n  allow_implicit_invocation: false\n",
        );
        put("commands/sail.md", "Sets the sails.\n");
        put(
            "agents/diver.md",
            "---\nname: diver\ndescription: Dives.\ntools: Read\n---\nBody.\n",
        );
        put(
            ".mcp.json",
            r#"{"sonar": {"command": "sonar", "args": ["x"]}}"#,
        );
        put(
            "hooks/hooks.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "ring"}]}]}}"#,
        );
        dir
    }

    fn names(bill: &PluginBill) -> Vec<String> {
        let offered_lines = bill.costs.iter().filter(|cost| cost.always > 0);
        offered_lines
            .map(|cost| format!("{} {}", cost.component.id(), cost.name))
            .collect()
    }

    #[test]
    fn each_client_is_told_what_it_loads() {
        let dir = sample();
        let plugin = PluginFolder::read_folder(dir.path()).expect("it is a plugin");
        assert_eq!(
            (plugin.name.as_str(), plugin.version.as_deref()),
            ("tide", Some("2.0.0"))
        );
        assert_eq!(plugin.hooks, [("Stop".to_owned(), "ring".to_owned())]);
        let offer = |_: &PluginServer| {
            Some(ServerOffer {
                instructions: "Listen.".to_owned(),
                tools: vec![serde_json::json!({"name": "ping", "description": "Pings."})],
            })
        };
        let bill = |client| plugin.compute_bill(client, Tokenizer::O200k, &offer);
        assert_eq!(
            names(&bill(AgentClient::Claude)),
            [
                "skill codex",
                "skill read",
                "command sail",
                "agent diver",
                "tools sonar (1)",
                "instructions sonar"
            ]
        );
        assert_eq!(
            names(&bill(AgentClient::Codex)),
            [
                "skill moor",
                "skill read",
                "tools sonar (1)",
                "instructions sonar"
            ]
        );
        assert_eq!(
            names(&bill(AgentClient::Copilot)),
            [
                "skill codex",
                "skill read",
                "agent diver",
                "tools sonar (1)"
            ]
        );
        let claude = bill(AgentClient::Claude);
        let line = "- tide:read: Reads tide tables.\n";
        let read = claude.costs.iter().find(|cost| cost.name == "read");
        let read = read.expect("it is listed");
        assert_eq!(read.always, count_tokens(Tokenizer::O200k, line));
        assert_eq!(
            read.on_invoke,
            Some(count_tokens(Tokenizer::O200k, "Body of it.\n"))
        );
        let unknown = plugin
            .compute_bill(AgentClient::Claude, Tokenizer::O200k, &|_| None)
            .unknown;
        assert_eq!(unknown.len(), 1);
        assert_eq!(unknown[0].arguments, ["x"]);
    }

    #[test]
    fn a_folder_without_a_manifest_is_no_plugin() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        assert!(PluginFolder::read_folder(dir.path()).is_none());
        write(dir.path(), "plugin.json", "not JSON");
        assert!(PluginFolder::read_folder(dir.path()).is_none());
    }
}
