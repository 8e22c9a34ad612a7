//! Collects the status of a workspace, in one way for every door: the state of
//! the work, what is stale, what memory costs and what is installed where. It
//! changes nothing; an error of one part is a part of the answer.

use crate::audit::{StartCost, measure_starts};
use crate::brief::{
    BriefBudget, BriefOccasion, BriefRequest, SessionStartReason, WorkspaceLook, build_brief,
};
use crate::client::AgentClient;
use crate::index::{self, Index};
use crate::knowledge::refresh;
use crate::mind::{self, MindStore, WorkState};
use crate::push::{PushSummary, summarize_pushes};
use crate::recall;
use crate::state_files::{self, MIND_FOLDER};
use crate::workspace::{DERIVED_FOLDER, Workspace, WorkspaceIdentity, git, workspace_identity};

pub use forge_clients::setup::found::{ClientPresence, OtherMemory};
pub use forge_clients::setup::git::DriverWiring;
use forge_clients::setup::{
    SetupScope, SetupSurroundings, found, git as merge_driver, stub_lines_for,
};

/// The status of a workspace.
#[derive(Debug)]
pub struct WorkspaceStatus {
    /// The file that the state is kept in.
    pub state_file: String,
    /// The state, none where there is no file, or why it cannot be read.
    pub state: Result<Option<WorkState>, String>,
    /// A warning about state files of the layout that is not in use.
    pub two_layouts: Option<String>,
    /// Age of the state in seconds, if it counts as stale.
    pub stale_seconds: Option<i64>,
    /// Tokens that memory costs a session.
    pub cost: SessionCost,
    /// What was brought to agents without a request, and what followed.
    pub pushes: PushSummary,
    /// The index, `None` before the first one, or the reason why it cannot be
    /// read.
    pub index: Result<Option<LocalIndexStatus>, index::IndexError>,
    /// Files of `.memory-forge/` that git tracks, and so others can replace.
    pub tracked_files: usize,
    /// What `setup` installed, by client and scope.
    pub installed: Vec<ClientInstallation>,
    /// Other memory tools that may be active.
    pub others: Vec<OtherMemory>,
    /// The path of the directory, if nothing in it is ours yet.
    pub unprepared: Option<String>,
    /// The identity of the workspace, which is the same in every checkout.
    pub identity: Option<WorkspaceIdentity>,
    /// Whether git merges memory entry by entry here.
    pub merge_driver: DriverWiring,
}

/// The parts that are installed for one client in one scope.
#[derive(Debug, Clone)]
pub struct ClientInstallation {
    /// The client.
    pub client: AgentClient,
    /// Where it is installed.
    pub scope: SetupScope,
    /// Hooks, server and lines.
    pub presence: ClientPresence,
}

/// The cost of memory for one session, in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCost {
    /// The briefing at its start, by estimate.
    pub briefing: usize,
    /// What each prompt gets, by estimate.
    pub nudge: usize,
    /// The lines about memory in a file, by estimate.
    pub stub: usize,
    /// What each client loads at a start, connected ones and those in use.
    pub always_on: Vec<StartCost>,
}

/// State of the index relative to the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalIndexStatus {
    /// Files in it.
    pub files: usize,
    /// Files that changed since the last update.
    pub changed: usize,
    /// When it was last brought up to date.
    pub last: Option<String>,
    /// Passages in it.
    pub passages: usize,
    /// Passages with a vector.
    pub embedded: usize,
}

impl LocalIndexStatus {
    /// Returns `true` if more vectors are missing than the next search adds.
    pub fn lacks_vectors(&self) -> bool {
        self.passages - self.embedded.min(self.passages) > recall::FEW_PASSAGES
    }
}

impl WorkspaceStatus {
    /// Collects all parts of the status.
    pub fn gather(around: &SetupSurroundings<'_>) -> WorkspaceStatus {
        let (workspace, now) = (around.workspace, around.now);
        let mind = MindStore::open(workspace).redact_for_display();
        let state = mind.read_state().map_err(|error| error.to_string());
        let modified = state.as_ref().ok().and_then(Option::as_ref);
        let age = modified
            .and_then(|state| state.modified)
            .map(|modified| now.as_second() - modified.as_second());
        let limit = i64::try_from(workspace.config().mind.stale_seconds).unwrap_or(i64::MAX);
        let installed = find_installations(around);
        WorkspaceStatus {
            state_file: mind.file_path(mind::MindFile::State).to_string(),
            state,
            two_layouts: mind.describe_layout_conflict(),
            stale_seconds: age.filter(|age| *age >= limit),
            cost: SessionCost::measure(around, &mind, &installed),
            pushes: summarize_pushes(workspace, now),
            index: read_index_status(workspace),
            tracked_files: git::count_tracked_below(workspace.root(), DERIVED_FOLDER).unwrap_or(0),
            installed,
            others: found::find_other_memories(around),
            unprepared: find_unprepared_folder(workspace),
            identity: workspace_identity(workspace),
            merge_driver: merge_driver::driver_wiring(workspace),
        }
    }

    /// Returns the clients with hooks in both scopes, where each event fires
    /// twice.
    pub fn clients_hooked_twice(&self) -> Vec<AgentClient> {
        let has_hooks = |it: &&ClientInstallation| !it.presence.hooks.is_empty();
        let scopes = |client: AgentClient| {
            let mine = self.installed.iter().filter(|it| it.client == client);
            mine.filter(has_hooks).count()
        };
        let clients = AgentClient::ALL.into_iter();
        clients.filter(|&client| scopes(client) > 1).collect()
    }

    /// Returns `true` if a client runs our hooks, its own or shared ones.
    pub fn is_hooked(&self, client: AgentClient) -> bool {
        let mut mine = self.installed.iter().filter(|it| it.client == client);
        mine.any(|it| !it.presence.hooks.is_empty() || it.presence.shares_hooks)
    }
}

/// Lists what is installed for each client in each scope.
fn find_installations(around: &SetupSurroundings<'_>) -> Vec<ClientInstallation> {
    let in_use = found::detect_clients(around);
    let mut installed = Vec::new();
    for client in AgentClient::ALL {
        for scope in SetupScope::ALL {
            let presence = found::client_presence(around, client, scope);
            // Lines in a shared file say nothing about a client that is not
            // used here.
            let used = in_use.iter().any(|(used, _)| *used == client);
            let reads = used && (presence.stub.is_some() || presence.shares_hooks);
            if !presence.is_empty_but_for_stub() || reads {
                installed.push(ClientInstallation {
                    client,
                    scope,
                    presence,
                });
            }
        }
    }
    installed
}

impl SessionCost {
    /// Measures the cost of memory for one session.
    fn measure(
        around: &SetupSurroundings<'_>,
        mind: &MindStore<'_>,
        installed: &[ClientInstallation],
    ) -> SessionCost {
        let (workspace, now) = (around.workspace, around.now);
        let request = BriefRequest {
            occasion: BriefOccasion::Start {
                reason: SessionStartReason::Startup,
                events: &[],
                look: WorkspaceLook::Skip,
            },
            budget: BRIEFING_BUDGET,
            nonce: "00000000",
            now,
        };
        let nudge = BriefRequest {
            occasion: BriefOccasion::Prompt,
            ..request
        };
        let tokens = |request: &BriefRequest<'_>| {
            let made = build_brief(mind, request).ok().flatten();
            made.map_or(0, |it| it.estimate_tokens())
        };
        let briefing = if mind.has_state_files() {
            tokens(&request)
        } else {
            0
        };
        let has_stub = installed.iter().any(|it| it.presence.stub.is_some());
        SessionCost {
            briefing,
            nudge: tokens(&nudge),
            stub: if has_stub {
                stub_lines_for(workspace, SetupScope::Project).tokens()
            } else {
                0
            },
            always_on: measure_starts(around),
        }
    }
}

/// Budget of the measured briefing, one byte below that of a hook.
const BRIEFING_BUDGET: BriefBudget = BriefBudget::of_text(2_500, 9_999);

/// Returns the path of a directory without any sign of a workspace.
fn find_unprepared_folder(workspace: &Workspace) -> Option<String> {
    const WORKSPACE_SIGNS: [&str; 6] = [
        "knowledge",
        MIND_FOLDER,
        "_MANIFEST.md",
        state_files::STATE_FILE.manifest,
        "memory-forge.toml",
        ".agents/memory",
    ];
    let root = workspace.root();
    let bare = WORKSPACE_SIGNS.iter().all(|sign| !root.join(sign).exists());
    bare.then(|| root.display().to_string())
}

/// Returns the state of an existing index.
fn read_index_status(workspace: &Workspace) -> Result<Option<LocalIndexStatus>, index::IndexError> {
    let Some(index) = Index::open_existing(&workspace.derived_folder())? else {
        return Ok(None);
    };
    let catalogue = index.catalogue()?;
    let scan = workspace.scan();
    let counts = index.counts()?;
    Ok(Some(LocalIndexStatus {
        files: counts.files,
        passages: counts.chunks,
        embedded: counts.embedded,
        changed: refresh::count_behind(workspace, &scan, &index, &catalogue)?,
        last: index.stored_value("last_indexed")?,
    }))
}
