//! Writes documents of another workspace to `org/<its name>/`, a folder that is
//! neither indexed nor published again. Files that were edited there are kept,
//! and no path leads out of the folder.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;

use crate::document::{content_hash, escape_markdown_line};
use crate::quote;
use crate::workspace::{RelPath, Workspace, WorkspaceError};

/// The folder for pulled documents.
pub const FOLDER: &str = "org";
/// The list of pulled documents, next to them.
const PULLED_LIST_FILE: &str = "_PULLED.md";
/// A `.gitignore` that excludes the whole folder, this file included. One with
/// other content belongs to the user and stays.
const GITIGNORE_TEXT: &str =
    "# What `memory-forge engine pull` brings; `--tracked` takes this file away.\n*\n";

/// Outcome of a pull, by document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LandedDocuments {
    /// The documents that were written.
    pub written: Vec<RelPath>,
    /// The documents that are gone.
    pub removed: Vec<RelPath>,
    /// Number of documents that were the same.
    pub unchanged: usize,
    /// Files that were edited here after they were pulled, and were left alone.
    pub kept: Vec<RelPath>,
    /// Names that are not Markdown files inside the folder.
    pub refused: Vec<String>,
    /// The change id for undo; none if nothing changed.
    pub change: Option<String>,
}

/// Writes the documents of `name` as one change; idempotent. Unless `tracked`,
/// git ignores the folder: the text belongs to others, and a commit would
/// publish it to every reader of this repository.
pub fn land_documents(
    workspace: &Workspace,
    name: &str,
    commit: Option<&str>,
    documents: &[(String, String)],
    tracked: bool,
    now: Timestamp,
) -> Result<LandedDocuments, WorkspaceError> {
    // A name is one folder: `a/b` would create two.
    let folder = RelPath::new(FOLDER)?.join(&name.replace(['/', '\\'], "-"))?;
    let list = folder.join(PULLED_LIST_FILE)?;
    let ignore = RelPath::new(FOLDER)?.join(".gitignore")?;
    let mut landed = LandedDocuments::default();
    let receipt = workspace.change(&format!("Pulled `{name}`"), now, |change| {
        let before = change.read_text(&list)?.unwrap_or_default();
        let mut known = parse_pulled_list(&before);
        let mut record: BTreeMap<String, String> = BTreeMap::new();
        let mut taken = HashSet::new();
        for (path, text) in documents {
            let Some(to) = landing_path(&folder, path).filter(|it| taken.insert(it.clone())) else {
                landed.refused.push(path.clone());
                continue;
            };
            let text = quote::sanitize_text(text);
            let hash = content_hash(&text);
            let here = change.read_text(&to)?;
            let as_pulled = known.remove(path);
            match &here {
                Some(here) if *here == *text => landed.unchanged += 1,
                Some(here) if as_pulled.as_ref() != Some(&content_hash(here)) => {
                    landed.kept.push(to);
                    // Keep the hash of the pulled text, so that the file still
                    // counts as edited next time.
                    record.insert(path.clone(), as_pulled.unwrap_or(hash));
                    continue;
                }
                _ => {
                    change.write(&to, text.as_bytes());
                    landed.written.push(to);
                }
            }
            record.insert(path.clone(), hash);
        }
        for (path, hash) in known {
            let Some(to) = landing_path(&folder, &path) else {
                continue;
            };
            match change.read_text(&to)? {
                Some(here) if content_hash(&here) == hash => {
                    change.remove(&to);
                    landed.removed.push(to);
                }
                Some(_) => landed.kept.push(to),
                None => {}
            }
        }
        let here = change.read_text(&ignore)?;
        if tracked && here.as_deref() == Some(GITIGNORE_TEXT) {
            change.remove(&ignore);
        } else if !tracked && here.is_none() {
            change.write(&ignore, GITIGNORE_TEXT.as_bytes());
        }
        let after = render_pulled_list(name, commit, &record);
        if after != before {
            change.write(&list, after.as_bytes());
        }
        Ok(())
    })?;
    landed.change = receipt.id;
    Ok(landed)
}

/// Returns the target path if it is a Markdown file inside the folder.
fn landing_path(folder: &RelPath, path: &str) -> Option<RelPath> {
    let path = RelPath::new(path).ok()?;
    // Hidden folders hold settings of tools, except `.agents`, whose documents
    // are published on request.
    let hidden = path
        .components()
        .any(|it| it.starts_with('.') && it != ".agents");
    let list = path.as_str() == PULLED_LIST_FILE;
    if path.as_str().ends_with(".md") && !hidden && !list {
        folder.join(path.as_str()).ok()
    } else {
        None
    }
}

fn render_pulled_list(
    name: &str,
    commit: Option<&str>,
    record: &BTreeMap<String, String>,
) -> String {
    let mut text = format!(
        "# Pulled: {}\n\nA copy to read of another workspace{}. `memory-forge engine pull` brings it up to date;\nfiles that were edited here are kept, and nothing here is pushed.\n\n",
        escape_markdown_line(name),
        commit.map_or_else(String::new, |it| format!(
            ", as of commit `{}`",
            escape_markdown_line(it)
        ))
    );
    for (path, hash) in record {
        text += &format!("- `{hash}` {path}\n");
    }
    text
}

fn parse_pulled_list(list: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (hash, path) = line.strip_prefix("- `")?.split_once("` ")?;
        Some((path.to_owned(), hash.to_owned()))
    };
    list.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::*;

    fn pull(ws: &TestWorkspace, documents: &[(&str, &str)]) -> LandedDocuments {
        let workspace = Workspace::open(ws.root()).expect("a folder");
        let documents: Vec<(String, String)> = documents
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let now = "2026-03-01T00:00:00Z".parse().expect("a time");
        land_documents(&workspace, "pay", Some("abc"), &documents, false, now).expect("it lands")
    }

    #[test]
    fn git_ignores_what_was_pulled_unless_asked_otherwise() {
        let ws = TestWorkspace::files("");
        ws.git_init();
        let ignored = || {
            let files = ws.git(&["ls-files", "--others", "--exclude-standard"]);
            !files.contains("org/")
        };
        pull(&ws, &[("knowledge/a.md", "# A\n")]);
        assert!(ignored());
        let workspace = Workspace::open(ws.root()).expect("a folder");
        let now = "2026-03-01T00:00:00Z".parse().expect("a time");
        let documents = [("knowledge/a.md".to_owned(), "# A\n".to_owned())];
        land_documents(&workspace, "pay", Some("abc"), &documents, true, now).expect("it lands");
        assert!(!ignored());
        // A rule of the user's own is not touched.
        ws.write("org/.gitignore", "drafts/\n");
        pull(&ws, &[("knowledge/a.md", "# A\n")]);
        assert_eq!(ws.read("org/.gitignore"), "drafts/\n");
    }

    #[test]
    fn twice_is_once_and_edits_are_kept() {
        let ws = TestWorkspace::files("");
        let first = pull(
            &ws,
            &[("knowledge/a.md", "# A\n"), ("knowledge/b.md", "# B\n")],
        );
        assert_eq!(first.written.len(), 2);
        let tree = ws.tree();
        let second = pull(
            &ws,
            &[("knowledge/a.md", "# A\n"), ("knowledge/b.md", "# B\n")],
        );
        assert_eq!((second.unchanged, second.change), (2, None));
        assert_eq!(ws.tree(), tree);
        ws.write("org/pay/knowledge/a.md", "# Mine\n");
        let third = pull(&ws, &[("knowledge/a.md", "# A2\n")]);
        assert_eq!(third.kept.len(), 1);
        assert_eq!(third.removed.len(), 1);
        assert_eq!(ws.read("org/pay/knowledge/a.md"), "# Mine\n");
        assert!(!ws.path("org/pay/knowledge/b.md").exists());
        assert_eq!(pull(&ws, &[("knowledge/a.md", "# A2\n")]).kept.len(), 1);
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let ws = TestWorkspace::files("");
        for path in [
            "../../evil.md",
            "/etc/evil.md",
            "a/../../../evil.md",
            ".git/hooks/evil.md",
            "knowledge/evil.sh",
            "CON/..\\evil.md",
            "_PULLED.md",
            "",
        ] {
            let landed = pull(&ws, &[(path, "x")]);
            assert_eq!(landed.refused, [path], "{path:?}");
        }
        assert!(!ws.root().with_file_name("evil.md").exists());
    }

    #[test]
    fn secrets_and_hidden_characters_do_not_come_in() {
        let ws = TestWorkspace::files("");
        pull(&ws, &[("a.md", "see\u{202e} this\n")]);
        assert!(!ws.read("org/pay/a.md").contains('\u{202e}'));
    }
}
