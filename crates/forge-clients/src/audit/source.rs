//! Reads files for the audit: those of the workspace and the few outside it
//! that clients load from home and from the folders above. Each is read and
//! parsed once. Nothing here decides what is loaded.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::{AuditFinding, AuditFindingKind, AuditLevel, FileOrigin};
use crate::document::{self, Document, LineNumbers};
use crate::quote;
use crate::secrets;
use crate::workspace::{
    AutoloadFile, AutoloadScan, RelPath, ScanProblem, Workspace, list_beyond_workspace,
    read_beyond_workspace,
};
use forge_store::system;

/// Location of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SourcePlace {
    Inside(RelPath),
    Beyond(PathBuf),
}

/// File that was read and parsed.
#[derive(Debug)]
pub(super) struct AuditSource {
    pub(super) place: SourcePlace,
    /// The target of a symlink, else the file itself.
    pub(super) real: SourcePlace,
    /// The path as people see it.
    pub(super) shown: String,
    pub(super) document: Document,
}

impl AuditSource {
    pub(super) fn text(&self) -> &str {
        &self.document.text
    }
}

/// Reader that caches every file of an audit.
pub(super) struct SourceReader<'a> {
    workspace: &'a Workspace,
    home: Option<&'a Path>,
    listed: AutoloadScan,
    cache: RefCell<HashMap<SourcePlace, Option<Rc<AuditSource>>>>,
    findings: RefCell<Vec<AuditFinding>>,
}

/// Upper bound for a file outside the workspace; no instructions are this long,
/// so something else is at that path.
const MAX_OUTSIDE_FILE_BYTES: u64 = 8 << 20;

impl<'a> SourceReader<'a> {
    pub(super) fn new(workspace: &'a Workspace, home: Option<&'a Path>) -> SourceReader<'a> {
        SourceReader {
            workspace,
            home,
            listed: workspace.find_autoload_files(),
            cache: RefCell::default(),
            findings: RefCell::default(),
        }
    }

    pub(super) fn workspace(&self) -> &Workspace {
        self.workspace
    }

    /// Returns the files of the workspace that some client may load, sorted by
    /// path.
    pub(super) fn autoload_files(&self) -> &[AutoloadFile] {
        &self.listed.files
    }

    pub(super) fn scan_problems(&self) -> &[ScanProblem] {
        &self.listed.problems
    }

    /// Returns the findings about files that could not be read.
    pub(super) fn read_findings(&self) -> Vec<AuditFinding> {
        self.findings.borrow().clone()
    }

    /// Reads a file of the workspace by its path.
    pub(super) fn read_inside(&self, path: &str) -> Option<Rc<AuditSource>> {
        self.read_source(&SourcePlace::Inside(RelPath::new(path).ok()?))
    }

    /// Reads a file of the user by its path below home.
    pub(super) fn read_home(&self, path: &str) -> Option<Rc<AuditSource>> {
        self.read_source(&self.place_of(&self.home?.join(path))?)
    }

    /// Reads the Markdown files below a folder of the user.
    pub(super) fn read_home_files(&self, folder: &str, depth: usize) -> Vec<Rc<AuditSource>> {
        let Some(home) = self.home else {
            return Vec::new();
        };
        let files = list_beyond_workspace(&home.join(folder), depth);
        let places = files.iter().filter_map(|path| self.place_of(path));
        places
            .filter_map(|place| self.read_source(&place))
            .collect()
    }

    /// Returns the text of a settings file: of the workspace, or with `~/` of
    /// the user.
    pub(super) fn settings_text(&self, path: &str) -> Option<String> {
        match path.strip_prefix("~/") {
            Some(below) => read_beyond_workspace(&self.home?.join(below), MAX_OUTSIDE_FILE_BYTES),
            None => self.workspace.read_text(&RelPath::new(path).ok()?).ok(),
        }
    }

    /// Reads and parses a file. Returns `None` if there is none, and records a
    /// finding if it cannot be used.
    pub(super) fn read_source(&self, place: &SourcePlace) -> Option<Rc<AuditSource>> {
        if let Some(known) = self.cache.borrow().get(place) {
            return known.clone();
        }
        let source = self.load_source(place).map(Rc::new);
        self.cache
            .borrow_mut()
            .insert(place.clone(), source.clone());
        source
    }

    fn load_source(&self, place: &SourcePlace) -> Option<AuditSource> {
        let shown = self.display_path(place);
        let text = match place {
            SourcePlace::Beyond(path) => read_beyond_workspace(path, MAX_OUTSIDE_FILE_BYTES)?,
            SourcePlace::Inside(path) => match self.workspace.read_text(path) {
                Ok(text) => text,
                Err(e) => {
                    let folder = self.workspace.absolute_path(path).is_dir();
                    if !e.is_not_found() && !folder {
                        let finding = AuditFinding::new(
                            AuditLevel::Warning,
                            AuditFindingKind::Unreadable,
                            &shown,
                            e.to_string(),
                        );
                        self.findings.borrow_mut().push(finding);
                    }
                    return None;
                }
            },
        };
        let real = match place {
            SourcePlace::Inside(path) => {
                let files = &self.listed.files;
                let at = files.binary_search_by(|file| file.path.cmp(path));
                let real = at.ok().and_then(|at| files[at].real.clone());
                SourcePlace::Inside(real.unwrap_or_else(|| path.clone()))
            }
            SourcePlace::Beyond(_) => place.clone(),
        };
        Some(AuditSource {
            place: place.clone(),
            real,
            shown,
            document: document::parse_document(text),
        })
    }

    /// Returns the location of an absolute path, with `..` resolved by names
    /// alone, without the disk.
    pub(super) fn place_of(&self, path: &Path) -> Option<SourcePlace> {
        let mut plain = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    plain.pop();
                }
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        match plain.strip_prefix(self.workspace.root()) {
            Ok(below) => {
                let below = below.to_str()?.replace('\\', "/");
                RelPath::new(&below).ok().map(SourcePlace::Inside)
            }
            Err(_) => Some(SourcePlace::Beyond(plain)),
        }
    }

    /// Resolves a path that a file contains.
    pub(super) fn resolve_target(&self, from: &SourcePlace, target: &str) -> Option<SourcePlace> {
        let path = if let Some(below) = target.strip_prefix("~/") {
            self.home?.join(below)
        } else if target.starts_with('/') {
            PathBuf::from(target)
        } else {
            let from = match from {
                SourcePlace::Inside(path) => self.workspace.absolute_path(path),
                SourcePlace::Beyond(path) => path.clone(),
            };
            from.parent()?.join(target)
        };
        self.place_of(&path)
    }

    pub(super) fn origin_of(&self, place: &SourcePlace) -> FileOrigin {
        match place {
            SourcePlace::Inside(_) => FileOrigin::Project,
            SourcePlace::Beyond(path) => {
                let folder = path.parent().unwrap_or(path);
                let special = folder.file_name().is_some_and(|name| name == ".claude");
                let owner = if special {
                    folder.parent()
                } else {
                    Some(folder)
                };
                let above = owner.is_some_and(|owner| {
                    self.workspace.root().starts_with(owner)
                        && !(special && self.home == Some(owner))
                });
                if above {
                    FileOrigin::Above
                } else {
                    FileOrigin::User
                }
            }
        }
    }

    /// Returns the folders above the root, the outermost first.
    pub(super) fn folders_above(&self) -> Vec<PathBuf> {
        let above = self.workspace.root().ancestors().skip(1);
        let mut folders: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
        folders.reverse();
        folders
    }

    /// Returns the folders of the repository above the root; none if the root
    /// is the repository's own, or if there is no repository.
    pub(super) fn repository_folders_above(&self) -> Vec<PathBuf> {
        let Some(top) = self.repository_root() else {
            return Vec::new();
        };
        let mut folders = self.folders_above();
        folders.retain(|folder| folder.starts_with(&top));
        folders
    }

    /// Returns the nearest folder with a `.git`, from the root upwards.
    pub(super) fn repository_root(&self) -> Option<PathBuf> {
        let mut folders = self.workspace.root().ancestors();
        let top = folders.find(|folder| folder.join(".git").exists())?;
        Some(top.to_path_buf())
    }

    fn display_path(&self, place: &SourcePlace) -> String {
        match place {
            SourcePlace::Inside(path) => path.to_string(),
            SourcePlace::Beyond(path) => {
                match self.home.and_then(|home| path.strip_prefix(home).ok()) {
                    Some(below) => format!("~/{}", system::with_slashes(below)),
                    None => system::with_slashes(path),
                }
            }
        }
    }
}

/// Reports text that gives orders to the agent.
///
/// Files that clients load at every start consist of instructions: there, only
/// orders that no honest author writes are reported.
pub(super) fn check_agent_orders(
    shown: &str,
    text: &str,
    instructs: bool,
    findings: &mut Vec<AuditFinding>,
) {
    for order in quote::find_orders(text) {
        let level = if order.grave {
            AuditLevel::Warning
        } else if instructs {
            continue;
        } else {
            AuditLevel::Notice
        };
        let message = format!(
            "{shown}:{}: text that {} ({})",
            order.line, order.about, order.rule
        );
        let advice = match (order.grave, instructs) {
            (true, false) => "Find out who wrote it; briefings leave the line out",
            (true, true) => "Find out who wrote it: clients load it at every start",
            (false, _) => "Say it as a fact, unless it is meant for agents",
        };
        let finding = AuditFinding::new(level, AuditFindingKind::Order, shown, message);
        findings.push(finding.at_line(order.line).with_advice(advice));
    }
}

/// Reports secrets by rule and line; the value itself is never repeated.
pub(super) fn check_secrets(shown: &str, text: &str, findings: &mut Vec<AuditFinding>) {
    let found = secrets::find_secrets(text);
    if found.is_empty() {
        return;
    }
    let lines = LineNumbers::of(text);
    for secret in found {
        let line = lines.line_number_at(secret.span.start);
        let message = format!("{shown}:{line}: looks like a secret ({})", secret.rule);
        let finding = AuditFinding::new(
            AuditLevel::Critical,
            AuditFindingKind::Secret,
            shown,
            message,
        );
        findings.push(
            finding
                .at_line(line)
                .with_advice("Revoke it, then take it out of the file and of git's history"),
        );
    }
}
