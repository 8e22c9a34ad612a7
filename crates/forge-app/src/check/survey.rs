//! Provides what checks read. Everything is read at most once, when the first
//! check needs it, so that a view pays for its own checks alone.

use std::cell::OnceCell;

use forge_clients::setup::SetupSurroundings;
use forge_clients::setup::found::{self, MissingProgram};
use jiff::Timestamp;

use super::applies_to::{self, StatedPatterns};
use super::duplicates::{self, DuplicateCandidate};
use crate::agents::claude::{self, ClaudeIndexReport};
use crate::agents::pointers::{self, PointerReport};
use crate::agents::{self, MemoryHome};
use crate::doctor;
use crate::finding::{CheckId, CheckOutcome};
use crate::graph::{self, WorkspaceGraph};
use crate::links::{self, NoteVault};
use crate::mind::{MindStore, StateHealth};
use crate::routing::closets::build;
use crate::routing::closets::check::{self, ClosetMismatch};
use crate::routing::hubs::{Hub, hubs_of_manifest};
use crate::routing::manifest::{Manifest, ManifestMode};
use crate::workspace::{Workspace, WorkspaceError, WorkspaceTree};

/// The parts of a workspace that checks read, each loaded on first use.
pub struct WorkspaceSurvey<'a> {
    /// The workspace that is checked.
    pub workspace: &'a Workspace,
    /// The time of the check.
    pub now: Timestamp,
    /// The state of the work.
    pub mind: MindStore<'a>,
    around: Option<SetupSurroundings<'a>>,
    depth: doctor::ReadingDepth,
    missing_programs: OnceCell<Option<Vec<MissingProgram>>>,
    manifest: OnceCell<Option<Manifest>>,
    hubs: OnceCell<Vec<Hub>>,
    tree: OnceCell<WorkspaceTree>,
    vault: OnceCell<NoteVault>,
    graph: OnceCell<WorkspaceGraph>,
    links: OnceCell<links::LinkReport>,
    duplicates: OnceCell<Vec<DuplicateCandidate>>,
    closets: OnceCell<Result<Vec<ClosetMismatch>, String>>,
    has_closets: OnceCell<bool>,
    health: OnceCell<StateHealth>,
    memories: OnceCell<Result<Vec<(MemoryHome, PointerReport)>, String>>,
    claude: OnceCell<Option<ClaudeIndexReport>>,
    diagnosis: OnceCell<Vec<(CheckId, CheckOutcome)>>,
    patterns: OnceCell<Vec<StatedPatterns>>,
}

impl<'a> WorkspaceSurvey<'a> {
    /// Returns a survey that has not read anything yet.
    pub fn from_workspace(workspace: &'a Workspace, now: Timestamp) -> WorkspaceSurvey<'a> {
        WorkspaceSurvey {
            workspace,
            now,
            mind: MindStore::open(workspace),
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
            patterns: OnceCell::new(),
        }
    }

    /// Adds the places where clients keep their files; without them these are
    /// not read.
    pub fn with_surroundings(mut self, around: SetupSurroundings<'a>) -> WorkspaceSurvey<'a> {
        self.around = Some(around);
        self
    }

    /// Limits how many files the checks of the installation open.
    pub fn with_depth(mut self, depth: doctor::ReadingDepth) -> WorkspaceSurvey<'a> {
        self.depth = depth;
        self
    }

    /// Returns the missing programs that clients are configured to call; `None`
    /// if the places of clients' files are not known.
    pub fn missing_programs(&self) -> Option<&[MissingProgram]> {
        let look = || self.around.as_ref().map(found::find_missing_programs);
        self.missing_programs.get_or_init(look).as_deref()
    }

    /// Returns the manifest, if there is one.
    pub fn manifest(&self) -> Option<&Manifest> {
        // A file of this name without a marker and tiers is not a manifest.
        let read = || Manifest::read(self.workspace).filter(|it| it.mode() != ManifestMode::Absent);
        self.manifest.get_or_init(read).as_ref()
    }

    /// Returns `true` if the manifest has a marker, so that the program
    /// maintains all of it.
    pub fn is_fully_managed(&self) -> bool {
        self.manifest()
            .is_some_and(|it| it.mode() == ManifestMode::Full)
    }

    /// Returns the hubs of the manifest.
    pub fn hubs(&self) -> &[Hub] {
        self.hubs.get_or_init(|| {
            let manifest = self.manifest();
            manifest.map_or_else(Vec::new, |it| hubs_of_manifest(self.workspace, it))
        })
    }

    /// Returns every folder and file, with the manifest's domains.
    pub fn tree(&self) -> &WorkspaceTree {
        self.tree.get_or_init(|| self.workspace.tree())
    }

    /// Returns every file as links see it.
    pub fn vault(&self) -> &NoteVault {
        self.vault.get_or_init(|| NoteVault::read(self.workspace))
    }

    /// Returns the graph of the notes.
    pub fn graph(&self) -> &WorkspaceGraph {
        self.graph.get_or_init(|| graph::build_graph(self.vault()))
    }

    /// Returns the report about links to missing or other files.
    pub fn link_report(&self) -> &links::LinkReport {
        self.links.get_or_init(|| links::check_links(self.vault()))
    }

    /// Checks a part of the links: those that `keep` leaves in a report.
    pub fn check_links(&mut self, keep: impl FnOnce(&mut links::LinkReport)) {
        let mut report = links::check_links(self.vault());
        keep(&mut report);
        self.links = OnceCell::from(report);
    }

    /// Returns notes that may be the same.
    pub fn duplicate_notes(&self) -> &[DuplicateCandidate] {
        self.duplicates
            .get_or_init(|| duplicates::find_duplicates(self.vault()))
    }

    /// Returns the mismatches in the closets of all hubs, or why they cannot be
    /// read.
    pub fn closet_mismatches(&self) -> Result<&[ClosetMismatch], &str> {
        let closets = self.closets.get_or_init(|| {
            let hubs = build::closet_hubs(self.workspace);
            let found = hubs.and_then(|hubs| self.find_mismatches(&hubs));
            found.map_err(|error| error.to_string())
        });
        closets.as_deref().map_err(String::as_str)
    }

    /// Returns `true` if any hub has a file of closets.
    pub fn has_closets(&self) -> bool {
        *self.has_closets.get_or_init(|| {
            let hubs = build::closet_hubs(self.workspace).unwrap_or_default();
            let is_there = |hub: &Hub| self.workspace.absolute_path(&hub.closets_path()).is_file();
            hubs.iter().any(is_there)
        })
    }

    /// Checks the closets of these hubs alone.
    pub fn check_closets(&mut self, hubs: &[Hub]) -> Result<(), WorkspaceError> {
        let found = self.find_mismatches(hubs)?;
        self.closets = OnceCell::from(Ok(found));
        Ok(())
    }

    /// Checks the closets of some hubs against their files.
    fn find_mismatches(&self, hubs: &[Hub]) -> Result<Vec<ClosetMismatch>, WorkspaceError> {
        let each = hubs
            .iter()
            .map(|hub| check::check_closets(self.workspace, hub));
        Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns the health of the state files.
    pub fn health(&self) -> &StateHealth {
        self.health.get_or_init(|| self.mind.check_health(self.now))
    }

    /// Returns the pending changes of each agent's index, or why it cannot be
    /// read.
    pub fn agent_memories(&self) -> Result<&[(MemoryHome, PointerReport)], &str> {
        let memories = self.memories.get_or_init(|| {
            let homes = find_homes_with_index(self.workspace);
            let found = homes.and_then(|homes| self.check_homes(&homes));
            found.map_err(|error| error.to_string())
        });
        memories.as_deref().map_err(String::as_str)
    }

    /// Checks the memories of these agents alone.
    pub fn check_memories(&mut self, homes: &[MemoryHome]) -> Result<(), agents::AgentError> {
        let found = self.check_homes(homes)?;
        self.memories = OnceCell::from(Ok(found));
        Ok(())
    }

    /// Checks the indexes of some agents against their topics.
    fn check_homes(
        &self,
        homes: &[MemoryHome],
    ) -> Result<Vec<(MemoryHome, PointerReport)>, agents::AgentError> {
        let each = homes.iter().map(|home| {
            let indexed = pointers::check_pointer_indexes(self.workspace, home, self.now)?;
            Ok((home.clone(), indexed))
        });
        each.collect()
    }

    /// Returns Claude Code's own memory of this project, if it has one.
    pub fn claude_memory(&self) -> Option<&ClaudeIndexReport> {
        let look = || {
            let home = self.around?.places.home?;
            claude::check_claude_index(&claude::claude_memory_folder(self.workspace.root(), home))
        };
        self.claude.get_or_init(look).as_ref()
    }

    /// Returns the documents that state what they apply to.
    pub(super) fn stated_patterns(&self) -> &[StatedPatterns] {
        let look = || applies_to::find_stated_patterns(self.workspace);
        self.patterns.get_or_init(look)
    }

    #[cfg(test)]
    pub(super) fn has_read_notes(&self) -> bool {
        self.vault.get().is_some() || self.graph.get().is_some()
    }

    /// Returns the outcomes of the checks of the installation.
    pub(super) fn diagnosis(&self) -> &[(CheckId, CheckOutcome)] {
        self.diagnosis
            .get_or_init(|| doctor::diagnose_workspace(self.workspace, self.depth))
    }
}

/// Returns the memory folders of all agents, and `knowledge/` once it has an
/// index.
pub fn find_homes_with_index(workspace: &Workspace) -> Result<Vec<MemoryHome>, agents::AgentError> {
    let mut homes = MemoryHome::list_agent_homes(workspace);
    let knowledge = MemoryHome::for_knowledge();
    let index = knowledge.file_path(pointers::POINTER_INDEX_FILE)?;
    if workspace.absolute_path(&index).is_file() {
        homes.push(knowledge);
    }
    Ok(homes)
}
