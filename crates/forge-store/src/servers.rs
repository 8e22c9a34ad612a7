//! Stores the servers that a person agreed to in
//! `~/.config/memory-forge/servers`. A cloned project may name one in its
//! settings, and would get its text and the person's password; so an address
//! that came with a project needs consent once, and one from the person's own
//! environment does not.

use std::path::Path;

use crate::workspace::{
    BackupAction, OutsideChange, OutsideFile, WorkspaceError, change_outside, lock_outside,
};

const FILE_HEADER: &str = "\
# Servers that memory-forge may connect to when the settings of a project name
# them, one a line. Delete a line to get the question again.
";

/// The servers that one person agreed to.
#[derive(Debug, Clone)]
pub struct ApprovedServers {
    file: OutsideFile,
}

impl ApprovedServers {
    /// Opens the list below `config`, the folder of the person's settings such
    /// as `~/.config`.
    pub fn in_config_folder(config: &Path) -> ApprovedServers {
        // A fresh home has no `~/.config` yet: folders are made below the first
        // one that is there.
        let base = config.ancestors().find(|it| it.is_dir()).unwrap_or(config);
        ApprovedServers {
            file: OutsideFile {
                base: base.to_owned(),
                path: config.join("memory-forge").join("servers"),
            },
        }
    }

    /// Returns the path of the list.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Returns `true` if the person agreed to `address`, given as
    /// `scheme://host:port` without names and passwords.
    pub fn is_approved(&self, address: &str) -> Result<bool, WorkspaceError> {
        let text = self.file.read_text()?.unwrap_or_default();
        Ok(contains_address(&text, address))
    }

    /// Adds an address to the list. Idempotent.
    pub fn add(&self, address: &str) -> Result<(), WorkspaceError> {
        if address.chars().any(|c| c.is_control() || c.is_whitespace()) || address.starts_with('#')
        {
            return Err(WorkspaceError::Refused(format!(
                "`{address:?}` is not an address"
            )));
        }
        let _lock = lock_outside(&self.file, "The list of servers")?;
        let before = self.file.read_text()?;
        let mut text = before.clone().unwrap_or_else(|| FILE_HEADER.to_owned());
        if contains_address(&text, address) {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(address);
        text.push('\n');
        let change = OutsideChange {
            file: self.file.clone(),
            backup: BackupAction::Leave,
            before: before.map(String::into_bytes),
            after: Some(text.into_bytes()),
        };
        change_outside(&[change], &[])
    }
}

fn contains_address(text: &str, address: &str) -> bool {
    text.lines().any(|line| line.trim() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_known_once_it_was_agreed_to() {
        let home = tempfile::tempdir().unwrap();
        let servers = ApprovedServers::in_config_folder(home.path());
        let address = "postgres://db.example.org:5432";
        assert!(!servers.is_approved(address).unwrap());
        servers.add(address).unwrap();
        servers.add(address).unwrap();
        assert!(servers.is_approved(address).unwrap());
        assert!(
            !servers
                .is_approved("postgres://db.example.org:5433")
                .unwrap()
        );
        assert!(!servers.is_approved("postgres://db.example.org").unwrap());
        let text = std::fs::read_to_string(servers.path()).unwrap();
        assert_eq!(text, format!("{FILE_HEADER}{address}\n"));
    }

    #[test]
    fn a_home_without_a_folder_for_settings_gets_one() {
        let home = tempfile::tempdir().unwrap();
        let servers = ApprovedServers::in_config_folder(&home.path().join(".config"));
        servers.add("bolt://a:1").unwrap();
        assert!(servers.is_approved("bolt://a:1").unwrap());
        assert!(home.path().join(".config/memory-forge/servers").is_file());
    }

    #[test]
    fn what_a_person_wrote_there_stays() {
        let home = tempfile::tempdir().unwrap();
        let servers = ApprovedServers::in_config_folder(home.path());
        std::fs::create_dir_all(servers.path().parent().unwrap()).unwrap();
        std::fs::write(servers.path(), "# mine\r\nbolt://a:1").unwrap();
        servers.add("bolt://b:2").unwrap();
        let text = std::fs::read_to_string(servers.path()).unwrap();
        assert_eq!(text, "# mine\r\nbolt://a:1\nbolt://b:2\n");
        assert!(servers.is_approved("bolt://a:1").unwrap());
    }

    #[test]
    fn a_name_cannot_bring_a_second_line() {
        let home = tempfile::tempdir().unwrap();
        let servers = ApprovedServers::in_config_folder(home.path());
        for address in ["bolt://a\nbolt://evil:1", "bolt://a b", "# bolt://a"] {
            assert!(servers.add(address).is_err(), "{address:?}");
        }
        assert!(!servers.path().exists());
    }
}
