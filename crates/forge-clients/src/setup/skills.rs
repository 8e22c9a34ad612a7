//! Compiles in the skills and agents of the plugin, and renders the files in
//! which `setup --skills` gives them to clients without it. Their text has one
//! home, the folder `plugin/`; here it only gets a client's form, and a mark by
//! which `uninstall` recognises a file that was not edited.

use super::{AgentClient, SetupScope};

/// Policy on who may start a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillPolicy {
    /// The model of its own accord, and people.
    Autonomous,
    /// People alone: the model is not shown it.
    Explicit,
}

/// Skill or agent of the plugin.
pub struct SkillSource {
    /// Its name in the plugin.
    pub name: &'static str,
    /// Who may start it.
    pub policy: SkillPolicy,
    /// The file as it is in the plugin.
    pub text: &'static str,
}

macro_rules! plugin {
    ($path:expr) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugin/", $path))
    };
}

macro_rules! skill {
    ($name:literal, $policy:ident) => {
        SkillSource {
            name: $name,
            policy: SkillPolicy::$policy,
            text: plugin!(concat!("skills/", $name, "/SKILL.md")),
        }
    };
}

macro_rules! agent {
    ($name:literal) => {
        SkillSource {
            name: $name,
            policy: SkillPolicy::Autonomous,
            text: plugin!(concat!("agents/", $name, ".md")),
        }
    };
}

/// The skills of the plugin.
pub const PLUGIN_SKILLS: [SkillSource; 18] = [
    skill!("memory-forge", Autonomous),
    skill!("session-start", Autonomous),
    skill!("session-end", Autonomous),
    skill!("update", Autonomous),
    skill!("idea", Autonomous),
    skill!("lint", Autonomous),
    skill!("cross-search", Autonomous),
    skill!("init", Explicit),
    skill!("upgrade", Explicit),
    skill!("add-domain", Explicit),
    skill!("archive", Explicit),
    skill!("wikilinks", Explicit),
    skill!("resummarize", Explicit),
    skill!("reindex", Explicit),
    skill!("consolidate", Explicit),
    skill!("search", Explicit),
    skill!("link-workspace", Explicit),
    skill!("unlink-workspace", Explicit),
];

/// The agents of the plugin.
pub const PLUGIN_AGENTS: [SkillSource; 3] =
    [agent!("mind"), agent!("orchestrator"), agent!("builder")];

/// File that a skill points to.
pub struct SkillReference {
    /// The skill that points to it.
    pub skill: &'static str,
    /// Its name in the skill's folder of references.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! reference {
    ($skill:literal, $name:literal) => {
        SkillReference {
            skill: $skill,
            name: $name,
            text: plugin!(concat!("skills/", $skill, "/references/", $name)),
        }
    };
}

/// Texts that are too long for the core of a skill.
pub const SKILL_REFERENCES: [SkillReference; 6] = [
    reference!("memory-forge", "agents.md"),
    reference!("memory-forge", "monorepo.md"),
    reference!("memory-forge", "workspace.md"),
    reference!("session-end", "closets-format.md"),
    reference!("session-end", "gotchas.md"),
    reference!("session-end", "summary-rules.md"),
];

/// Policy file by which Codex lets only people start a skill.
const CODEX_POLICY: &str = plugin!("skills/init/agents/openai.yaml");

/// File for a client: its name below the project or below the client's folder
/// in the home, and its text.
#[derive(Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Its name below the project or below the client's folder.
    pub name: String,
    /// Its text, with our mark.
    pub text: String,
}

/// Returns all files that a client is given; none if it has no place for them.
pub fn skill_files(client: AgentClient, scope: SetupScope) -> Vec<SkillFile> {
    let Some(top) = skills_folder(client, scope) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let mut add = |name: String, text: String| {
        files.push(SkillFile {
            name: format!("{top}{name}"),
            text,
        });
    };
    for skill in &PLUGIN_SKILLS {
        let own = installed_name(skill.name);
        // Gemini and OpenCode let the model start every skill, so one for
        // people alone becomes a command there.
        match (client, skill.policy) {
            (AgentClient::Gemini, SkillPolicy::Explicit) => add(
                format!("commands/memory-forge/{}.toml", skill.name),
                with_mark(&gemini_command(skill), MarkComment::Hash),
            ),
            (AgentClient::OpenCode, SkillPolicy::Explicit) => add(
                format!("command/{own}.md"),
                with_mark(&opencode_command(skill), MarkComment::FrontMatter),
            ),
            (_, policy) => {
                let text = with_name(skill.text, &own);
                add(
                    format!("skills/{own}/SKILL.md"),
                    with_mark(&text, MarkComment::FrontMatter),
                );
                if client == AgentClient::Codex && policy == SkillPolicy::Explicit {
                    let name = format!("skills/{own}/agents/openai.yaml");
                    add(name, with_mark(CODEX_POLICY, MarkComment::Hash));
                }
            }
        }
    }
    for it in &SKILL_REFERENCES {
        let name = format!("skills/{}/references/{}", installed_name(it.skill), it.name);
        add(name, with_mark(it.text, MarkComment::Html));
    }
    // Other clients have agents too, but other names for tools.
    if matches!(client, AgentClient::Claude | AgentClient::Copilot) {
        for agent in &PLUGIN_AGENTS {
            let own = installed_name(agent.name);
            let text = with_name(agent.text, &own);
            add(
                format!("agents/{own}.md"),
                with_mark(&text, MarkComment::FrontMatter),
            );
        }
    }
    files
}

/// Returns the folder of a client that holds skills, with its slash.
fn skills_folder(client: AgentClient, scope: SetupScope) -> Option<&'static str> {
    match (client, scope) {
        (AgentClient::Cursor, _) => None,
        (_, SetupScope::User) => Some(""),
        (AgentClient::Claude, SetupScope::Project) => Some(".claude/"),
        (AgentClient::Codex, SetupScope::Project) => Some(".codex/"),
        (AgentClient::OpenCode, SetupScope::Project) => Some(".opencode/"),
        (AgentClient::Gemini, SetupScope::Project) => Some(".gemini/"),
        (AgentClient::Copilot, SetupScope::Project) => Some(".github/"),
    }
}

/// Returns the name outside the plugin, where names have no prefix and clients
/// have an `init` of their own.
fn installed_name(name: &str) -> String {
    match name {
        "memory-forge" => name.to_owned(),
        _ => format!("memory-forge-{name}"),
    }
}

fn with_name(text: &str, name: &str) -> String {
    let (before, rest) = text.split_once("\nname: ").expect("ours have a name");
    let (_, rest) = rest.split_once('\n').expect("the name is a line");
    format!("{before}\nname: {name}\n{rest}")
}

/// Returns a line of the front matter, and the body.
fn front_and_body<'a>(skill: &SkillSource, key: &str) -> (&'a str, &'a str) {
    let text: &'static str = skill.text;
    let (front, body) = text
        .strip_prefix("---\n")
        .and_then(|text| text.split_once("\n---\n"))
        .expect("ours have front matter");
    let value = front.lines().find_map(|line| line.strip_prefix(key));
    (value.expect("ours have this line"), body.trim_start())
}

/// Returns a command that only people start, for Gemini CLI.
pub fn gemini_command(skill: &SkillSource) -> String {
    let (description, body) = front_and_body(skill, "description: ");
    let quoted = |text: &str| toml_edit::Value::from(text).to_string();
    format!(
        "description = {}\nprompt = '''\n{body}\nWhat the user typed: {{{{args}}}}\n'''\n",
        quoted(description).trim()
    )
}

/// Returns a command that only people start, for OpenCode.
fn opencode_command(skill: &SkillSource) -> String {
    let (description, body) = front_and_body(skill, "description: ");
    format!("---\ndescription: {description}\n---\n\n{body}\nWhat the user typed: $ARGUMENTS\n")
}

/// Syntax of a comment that no client loads.
#[derive(Clone, Copy)]
enum MarkComment {
    /// `# …` as the first line of the front matter
    FrontMatter,
    /// `# …` as the first line
    Hash,
    /// `<!-- … -->` as the last line
    Html,
}

const SETUP_MARK: &str = "memory-forge setup ";

/// Adds a line with the checksum of the rest to a text.
fn with_mark(text: &str, comment: MarkComment) -> String {
    let mark = format!("{SETUP_MARK}{:016x}", fnv1a_sum(text));
    match comment {
        MarkComment::FrontMatter => {
            let rest = text.strip_prefix("---\n").unwrap_or(text);
            format!("---\n# {mark}\n{rest}")
        }
        MarkComment::Hash => format!("# {mark}\n{text}"),
        MarkComment::Html => format!("{text}<!-- {mark} -->\n"),
    }
}

/// Returns `true` if this is a file as some `setup` of any version wrote it.
pub fn is_our_skill_file(text: &str) -> bool {
    let Some(at) = text.find(SETUP_MARK) else {
        return false;
    };
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    let given = text[at + SETUP_MARK.len()..end].split_whitespace().next();
    let rest = format!("{}{}", &text[..start], &text[end..]);
    given == Some(format!("{:016x}", fnv1a_sum(&rest)).as_str())
}

/// Computes FNV-1a, which detects edits and protects against nothing: the file
/// belongs to the user.
fn fnv1a_sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
