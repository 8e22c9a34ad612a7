//! Provides what checks read. Everything is read at most once, when the first
//! check needs it, so that a view pays for its own checks alone.

use std::cell::OnceCell;

use forge_clients::setup::Surroundings;
use forge_clients::setup::found::{self, Missing};
use jiff::Timestamp;

use super::duplicates::{self, Candidate};
use crate::agents::claude::{self, Checked};
use crate::agents::pointers::{self, Indexed};
use crate::agents::{self, Home};
use crate::doctor;
use crate::finding::{CheckId, CheckOutcome};
use crate::graph::{self, Graph};
use crate::links::{self, Vault};
use crate::mind::{Health, Mind};
use crate::routing::closets::build;
use crate::routing::closets::check::{self, ClosetMismatch};
use crate::routing::hubs::{Hub, hubs_of};
use crate::routing::manifest::{Manifest, Mode};
use crate::workspace::{Error, Tree, Workspace};

/// The parts of a workspace that checks read, each loaded on first use.
pub struct Survey<'a> {
    pub workspace: &'a Workspace,
    pub now: Timestamp,
    pub mind: Mind<'a>,
    around: Option<Surroundings<'a>>,
    depth: doctor::ReadingDepth,
    missing_programs: OnceCell<Option<Vec<Missing>>>,
    manifest: OnceCell<Option<Manifest>>,
    hubs: OnceCell<Vec<Hub>>,
    tree: OnceCell<Tree>,
    vault: OnceCell<Vault>,
    graph: OnceCell<Graph>,
    links: OnceCell<links::Report>,
    duplicates: OnceCell<Vec<Candidate>>,
    closets: OnceCell<Result<Vec<ClosetMismatch>, String>>,
    has_closets: OnceCell<bool>,
    health: OnceCell<Health>,
    memories: OnceCell<Result<Vec<(Home, Indexed)>, String>>,
    claude: OnceCell<Option<Checked>>,
    diagnosis: OnceCell<Vec<(CheckId, CheckOutcome)>>,
}

impl<'a> Survey<'a> {
    /// Returns a survey that has not read anything yet.
    pub fn of(workspace: &'a Workspace, now: Timestamp) -> Survey<'a> {
        Survey {
            workspace,
            now,
            mind: Mind::open(workspace),
            around: None,
            depth: doctor::ReadingDepth::Full,
            missing_programs: OnceCell::new(),
            manifest: OnceCell::new(),
            hubs: OnceCell::new(),
            tree: OnceCell::new(),
            vault: OnceCell::new(),
            graph: OnceCell::new(),
            links: OnceCell::new(),
            duplicates: OnceCell::new(),
            closets: OnceCell::new(),
            has_closets: OnceCell::new(),
            health: OnceCell::new(),
            memories: OnceCell::new(),
            claude: OnceCell::new(),
            diagnosis: OnceCell::new(),
        }
    }

    /// Adds the places where clients keep their files; without them these are
    /// not read.
    pub fn with_surroundings(mut self, around: Surroundings<'a>) -> Survey<'a> {
        self.around = Some(around);
        self
    }

    /// Limits how many files the checks of the installation open.
    pub fn with_depth(mut self, depth: doctor::ReadingDepth) -> Survey<'a> {
        self.depth = depth;
        self
    }

    /// Returns the missing programs that clients are configured to call; `None`
    /// if the places of clients' files are not known.
    pub fn missing_programs(&self) -> Option<&[Missing]> {
        let look = || self.around.as_ref().map(found::missing_programs);
        self.missing_programs.get_or_init(look).as_deref()
    }

    /// Returns the manifest, if there is one.
    pub fn manifest(&self) -> Option<&Manifest> {
        // A file of this name without a marker and tiers is not a manifest.
        let read = || Manifest::read(self.workspace).filter(|it| it.mode() != Mode::Absent);
        self.manifest.get_or_init(read).as_ref()
    }

    /// Returns `true` if the manifest has a marker, so that the program
    /// maintains all of it.
    pub fn is_full(&self) -> bool {
        self.manifest().is_some_and(|it| it.mode() == Mode::Full)
    }

    /// Returns the hubs of the manifest.
    pub fn hubs(&self) -> &[Hub] {
        self.hubs.get_or_init(|| {
            let manifest = self.manifest();
            manifest.map_or_else(Vec::new, |it| hubs_of(self.workspace, it))
        })
    }

    /// Returns every folder and file, with the manifest's domains.
    pub fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| self.workspace.tree())
    }

    /// Returns every file as links see it.
    pub fn vault(&self) -> &Vault {
        self.vault.get_or_init(|| Vault::read(self.workspace))
    }

    /// Returns the graph of the notes.
    pub fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| graph::build(self.vault()))
    }

    /// Returns the report about links to missing or other files.
    pub fn links(&self) -> &links::Report {
        self.links.get_or_init(|| links::check(self.vault()))
    }

    /// Checks a part of the links: those that `keep` leaves in a report.
    pub fn check_links(&mut self, keep: impl FnOnce(&mut links::Report)) {
        let mut report = links::check(self.vault());
        keep(&mut report);
        self.links = OnceCell::from(report);
    }

    /// Returns notes that may be the same.
    pub fn duplicates(&self) -> &[Candidate] {
        self.duplicates
            .get_or_init(|| duplicates::candidates(self.vault()))
    }

    /// Returns the mismatches in the closets of all hubs, or why they cannot be
    /// read.
    pub fn closets(&self) -> Result<&[ClosetMismatch], &str> {
        let closets = self.closets.get_or_init(|| {
            let hubs = build::hubs(self.workspace);
            let found = hubs.and_then(|hubs| self.closets_of(&hubs));
            found.map_err(|error| error.to_string())
        });
        closets.as_deref().map_err(String::as_str)
    }

    /// Returns `true` if any hub has a file of closets.
    pub fn has_closets(&self) -> bool {
        *self.has_closets.get_or_init(|| {
            let hubs = build::hubs(self.workspace).unwrap_or_default();
            let is_there = |hub: &Hub| self.workspace.absolute(&hub.closets()).is_file();
            hubs.iter().any(is_there)
        })
    }

    /// Checks the closets of these hubs alone.
    pub fn check_closets(&mut self, hubs: &[Hub]) -> Result<(), Error> {
        let found = self.closets_of(hubs)?;
        self.closets = OnceCell::from(Ok(found));
        Ok(())
    }

    /// Checks the closets of some hubs against their files.
    fn closets_of(&self, hubs: &[Hub]) -> Result<Vec<ClosetMismatch>, Error> {
        let each = hubs.iter().map(|hub| check::check(self.workspace, hub));
        Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns the health of the state files.
    pub fn health(&self) -> &Health {
        self.health.get_or_init(|| self.mind.health(self.now))
    }

    /// Returns the pending changes of each agent's index, or why it cannot be
    /// read.
    pub fn memories(&self) -> Result<&[(Home, Indexed)], &str> {
        let memories = self.memories.get_or_init(|| {
            let homes = homes_with_index(self.workspace);
            let found = homes.and_then(|homes| self.memories_of(&homes));
            found.map_err(|error| error.to_string())
        });
        memories.as_deref().map_err(String::as_str)
    }

    /// Checks the memories of these agents alone.
    pub fn check_memories(&mut self, homes: &[Home]) -> Result<(), agents::Error> {
        let found = self.memories_of(homes)?;
        self.memories = OnceCell::from(Ok(found));
        Ok(())
    }

    /// Checks the indexes of some agents against their topics.
    fn memories_of(&self, homes: &[Home]) -> Result<Vec<(Home, Indexed)>, agents::Error> {
        let each = homes.iter().map(|home| {
            let indexed = pointers::check(self.workspace, home, self.now)?;
            Ok((home.clone(), indexed))
        });
        each.collect()
    }

    /// Returns Claude Code's own memory of this project, if it has one.
    pub fn claude(&self) -> Option<&Checked> {
        let look = || {
            let home = self.around?.places.home?;
            claude::check(&claude::folder(self.workspace.root(), home))
        };
        self.claude.get_or_init(look).as_ref()
    }

    #[cfg(test)]
    pub(super) fn has_read_notes(&self) -> bool {
        self.vault.get().is_some() || self.graph.get().is_some()
    }

    /// Returns the outcomes of the checks of the installation.
    pub(super) fn diagnosis(&self) -> &[(CheckId, CheckOutcome)] {
        self.diagnosis
            .get_or_init(|| doctor::diagnose(self.workspace, self.depth))
    }
}

/// Returns the memory folders of all agents, and `knowledge/` once it has an
/// index.
pub fn homes_with_index(workspace: &Workspace) -> Result<Vec<Home>, agents::Error> {
    let mut homes = Home::all(workspace);
    let knowledge = Home::knowledge();
    let index = knowledge.file(pointers::FILE)?;
    if workspace.absolute(&index).is_file() {
        homes.push(knowledge);
    }
    Ok(homes)
}
