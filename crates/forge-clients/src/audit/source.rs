//! Reads files for the audit: those of the workspace and the few outside it
//! that clients load from home and from the folders above. Each is read and
//! parsed once. Nothing here decides what is loaded.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::{Finding, Kind, Level, Origin};
use crate::document::{self, Document, LineNumbers};
use crate::quote;
use crate::secrets;
use crate::workspace::{
    Autoload, AutoloadFile, RelPath, ScanProblem, Workspace, list_beyond, read_beyond,
};

/// Location of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    Inside(RelPath),
    Beyond(PathBuf),
}

/// File that was read and parsed.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) place: Place,
    /// The target of a symlink, else the file itself.
    pub(super) real: Place,
    /// The path as people see it.
    pub(super) shown: String,
    pub(super) document: Document,
}

impl Source {
    pub(super) fn text(&self) -> &str {
        &self.document.text
    }
}

/// Reader that caches every file of an audit.
pub(super) struct Reader<'a> {
    workspace: &'a Workspace,
    home: Option<&'a Path>,
    listed: Autoload,
    cache: RefCell<HashMap<Place, Option<Rc<Source>>>>,
    findings: RefCell<Vec<Finding>>,
}

/// Upper bound for a file outside the workspace; no instructions are this long,
/// so something else is at that path.
const MOST_BEYOND: u64 = 8 << 20;

impl<'a> Reader<'a> {
    pub(super) fn new(workspace: &'a Workspace, home: Option<&'a Path>) -> Reader<'a> {
        Reader {
            workspace,
            home,
            listed: workspace.autoload(),
            cache: RefCell::default(),
            findings: RefCell::default(),
        }
    }

    pub(super) fn workspace(&self) -> &Workspace {
        self.workspace
    }

    /// Returns the files of the workspace that some client may load, sorted by
    /// path.
    pub(super) fn files(&self) -> &[AutoloadFile] {
        &self.listed.files
    }

    pub(super) fn problems(&self) -> &[ScanProblem] {
        &self.listed.problems
    }

    /// Returns the findings about files that could not be read.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.findings.borrow().clone()
    }

    /// Reads a file of the workspace by its path.
    pub(super) fn inside(&self, path: &str) -> Option<Rc<Source>> {
        self.read(&Place::Inside(RelPath::new(path).ok()?))
    }

    /// Reads a file of the user by its path below home.
    pub(super) fn home(&self, path: &str) -> Option<Rc<Source>> {
        self.read(&self.place(&self.home?.join(path))?)
    }

    /// Reads the Markdown files below a folder of the user.
    pub(super) fn home_files(&self, folder: &str, depth: usize) -> Vec<Rc<Source>> {
        let Some(home) = self.home else {
            return Vec::new();
        };
        let files = list_beyond(&home.join(folder), depth);
        let places = files.iter().filter_map(|path| self.place(path));
        places.filter_map(|place| self.read(&place)).collect()
    }

    /// Returns the text of a settings file: of the workspace, or with `~/` of
    /// the user.
    pub(super) fn settings(&self, path: &str) -> Option<String> {
        match path.strip_prefix("~/") {
            Some(below) => read_beyond(&self.home?.join(below), MOST_BEYOND),
            None => self.workspace.read_text(&RelPath::new(path).ok()?).ok(),
        }
    }

    /// Reads and parses a file. Returns `None` if there is none, and records a
    /// finding if it cannot be used.
    pub(super) fn read(&self, place: &Place) -> Option<Rc<Source>> {
        if let Some(known) = self.cache.borrow().get(place) {
            return known.clone();
        }
        let source = self.load(place).map(Rc::new);
        self.cache
            .borrow_mut()
            .insert(place.clone(), source.clone());
        source
    }

    fn load(&self, place: &Place) -> Option<Source> {
        let shown = self.shown(place);
        let text = match place {
            Place::Beyond(path) => read_beyond(path, MOST_BEYOND)?,
            Place::Inside(path) => match self.workspace.read_text(path) {
                Ok(text) => text,
                Err(e) => {
                    let folder = self.workspace.absolute(path).is_dir();
                    if !e.is_not_found() && !folder {
                        let finding =
                            Finding::new(Level::Warning, Kind::Unreadable, &shown, e.to_string());
                        self.findings.borrow_mut().push(finding);
                    }
                    return None;
                }
            },
        };
        let real = match place {
            Place::Inside(path) => {
                let files = &self.listed.files;
                let at = files.binary_search_by(|file| file.path.cmp(path));
                let real = at.ok().and_then(|at| files[at].real.clone());
                Place::Inside(real.unwrap_or_else(|| path.clone()))
            }
            Place::Beyond(_) => place.clone(),
        };
        Some(Source {
            place: place.clone(),
            real,
            shown,
            document: document::parse(text),
        })
    }

    /// Returns the location of an absolute path, with `..` resolved by names
    /// alone, without the disk.
    pub(super) fn place(&self, path: &Path) -> Option<Place> {
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
                RelPath::new(&below).ok().map(Place::Inside)
            }
            Err(_) => Some(Place::Beyond(plain)),
        }
    }

    /// Resolves a path that a file contains.
    pub(super) fn resolve(&self, from: &Place, target: &str) -> Option<Place> {
        let path = if let Some(below) = target.strip_prefix("~/") {
            self.home?.join(below)
        } else if target.starts_with('/') {
            PathBuf::from(target)
        } else {
            let from = match from {
                Place::Inside(path) => self.workspace.absolute(path),
                Place::Beyond(path) => path.clone(),
            };
            from.parent()?.join(target)
        };
        self.place(&path)
    }

    pub(super) fn origin(&self, place: &Place) -> Origin {
        match place {
            Place::Inside(_) => Origin::Project,
            Place::Beyond(path) => {
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
                if above { Origin::Above } else { Origin::User }
            }
        }
    }

    /// Returns the folders above the root, the outermost first.
    pub(super) fn above(&self) -> Vec<PathBuf> {
        let above = self.workspace.root().ancestors().skip(1);
        let mut folders: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
        folders.reverse();
        folders
    }

    /// Returns the folders of the repository above the root; none if the root
    /// is the repository's own, or if there is no repository.
    pub(super) fn above_in_repository(&self) -> Vec<PathBuf> {
        let Some(top) = self.repository() else {
            return Vec::new();
        };
        let mut folders = self.above();
        folders.retain(|folder| folder.starts_with(&top));
        folders
    }

    /// Returns the nearest folder with a `.git`, from the root upwards.
    pub(super) fn repository(&self) -> Option<PathBuf> {
        let mut folders = self.workspace.root().ancestors();
        let top = folders.find(|folder| folder.join(".git").exists())?;
        Some(top.to_path_buf())
    }

    fn shown(&self, place: &Place) -> String {
        match place {
            Place::Inside(path) => path.to_string(),
            Place::Beyond(path) => match self.home.and_then(|home| path.strip_prefix(home).ok()) {
                Some(below) => format!("~/{}", below.display()),
                None => path.display().to_string(),
            },
        }
    }
}

/// Reports text that gives orders to the agent.
///
/// Files that clients load at every start consist of instructions: there, only
/// orders that no honest author writes are reported.
pub(super) fn orders(shown: &str, text: &str, instructs: bool, findings: &mut Vec<Finding>) {
    for order in quote::orders(text) {
        let level = match order.grave {
            true => Level::Warning,
            false if instructs => continue,
            false => Level::Notice,
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
        let finding = Finding::new(level, Kind::Order, shown, message);
        findings.push(finding.line(order.line).advice(advice));
    }
}

/// Reports secrets by rule and line; the value itself is never repeated.
pub(super) fn secrets(shown: &str, text: &str, findings: &mut Vec<Finding>) {
    let found = secrets::find(text);
    if found.is_empty() {
        return;
    }
    let lines = LineNumbers::of(text);
    for secret in found {
        let line = lines.at(secret.span.start);
        let message = format!("{shown}:{line}: looks like a secret ({})", secret.rule);
        let finding = Finding::new(Level::Critical, Kind::Secret, shown, message);
        findings.push(
            finding
                .line(line)
                .advice("Revoke it, then take it out of the file and of git's history"),
        );
    }
}
