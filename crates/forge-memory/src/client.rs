//! The known agent clients and their properties, in one table. This module
//! never reads a client's files: `forge-clients` knows those.

/// An agent client. The variants are in the order in which clients are listed
/// and set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// OpenCode.
    OpenCode,
    /// Gemini CLI.
    Gemini,
    /// Copilot CLI.
    Copilot,
    /// Cursor.
    Cursor,
}

/// One row of the table of clients.
struct ClientProperties {
    client: AgentClient,
    name: &'static str,
    /// A second name that hooks may use.
    alias: Option<&'static str>,
    title: &'static str,
    is_audited: bool,
    skill_folder: Option<&'static str>,
}

const CLIENT_TABLE: [ClientProperties; 6] = [
    ClientProperties {
        client: AgentClient::Claude,
        name: "claude",
        alias: Some("claude-code"),
        title: "Claude Code",
        is_audited: true,
        skill_folder: Some(".claude/skills"),
    },
    ClientProperties {
        client: AgentClient::Codex,
        name: "codex",
        alias: None,
        title: "Codex",
        is_audited: true,
        skill_folder: Some(".codex/skills"),
    },
    ClientProperties {
        client: AgentClient::OpenCode,
        name: "opencode",
        alias: None,
        title: "OpenCode",
        is_audited: true,
        skill_folder: Some(".opencode/skill"),
    },
    ClientProperties {
        client: AgentClient::Gemini,
        name: "gemini",
        alias: None,
        title: "Gemini CLI",
        is_audited: true,
        skill_folder: Some(".agents/skills"),
    },
    ClientProperties {
        client: AgentClient::Copilot,
        name: "copilot",
        alias: None,
        title: "Copilot CLI",
        is_audited: true,
        skill_folder: Some(".agents/skills"),
    },
    ClientProperties {
        client: AgentClient::Cursor,
        name: "cursor",
        alias: None,
        title: "Cursor",
        // The audit does not know how it loads files.
        is_audited: false,
        skill_folder: None,
    },
];

impl AgentClient {
    /// Every client. All of them can be set up and have hooks.
    pub const ALL: [AgentClient; 6] = [
        AgentClient::Claude,
        AgentClient::Codex,
        AgentClient::OpenCode,
        AgentClient::Gemini,
        AgentClient::Copilot,
        AgentClient::Cursor,
    ];

    fn properties(self) -> &'static ClientProperties {
        // The rows are in the order of the variants; a test compares them.
        &CLIENT_TABLE[self as usize]
    }

    /// Returns the name for flags, settings and JSON.
    pub fn name(self) -> &'static str {
        self.properties().name
    }

    /// Returns the name as the client's makers write it.
    pub fn title(self) -> &'static str {
        self.properties().title
    }

    /// Returns the client of this name, in any case.
    pub fn from_name(name: &str) -> Option<AgentClient> {
        let is_meant = |row: &&ClientProperties| {
            let mut names = [Some(row.name), row.alias].into_iter().flatten();
            names.any(|known| known.eq_ignore_ascii_case(name))
        };
        CLIENT_TABLE.iter().find(is_meant).map(|row| row.client)
    }

    /// Returns the clients whose way of loading files is known.
    pub fn with_audit() -> impl Iterator<Item = AgentClient> {
        let rows = CLIENT_TABLE.iter().filter(|row| row.is_audited);
        rows.map(|row| row.client)
    }

    /// Returns the clients that load skills from a folder of the project.
    pub fn with_skills() -> impl Iterator<Item = AgentClient> {
        let rows = CLIENT_TABLE.iter().filter(|row| row.skill_folder.is_some());
        rows.map(|row| row.client)
    }

    /// Returns the folder of the project that it loads skills from.
    pub fn skill_folder(self) -> Option<&'static str> {
        self.properties().skill_folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_client_at_its_place() {
        for client in AgentClient::ALL {
            assert_eq!(client.properties().client, client);
            assert_eq!(AgentClient::from_name(client.name()), Some(client));
        }
        assert_eq!(
            AgentClient::from_name("Claude-Code"),
            Some(AgentClient::Claude)
        );
        assert_eq!(AgentClient::from_name(""), None);
    }
}
