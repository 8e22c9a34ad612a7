//! Selects the model that turns text into vectors: the one that the user's
//! environment names, else the one in the workspace's settings, else the
//! built-in one. A model that cannot be used is a warning, and searches use
//! full text; it never falls back to another model, because all vectors would
//! be recomputed each time the file disappears and returns.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use crate::embed::{self, Embedder};
use crate::workspace::Workspace;
use forge_store::regular::{self, FileReadError, LinkPolicy};

/// Maximum number of model files that a process reads. A model stays in memory
/// once it was read, so a process that is given more files has to be restarted.
const MAX_LOADED_MODELS: usize = 4;

/// The environment variable that names the user's model file.
pub const MODEL_VARIABLE: &str = "MEMORY_FORGE_MODEL";

/// Identity of a model file when it was read; a changed file is read again.
#[derive(Clone, PartialEq)]
struct ModelFileStamp {
    path: PathBuf,
    size: u64,
    changed: Option<SystemTime>,
}

/// A loaded model, or the reason why it cannot be used.
type ModelResult = Result<&'static dyn Embedder, String>;

static LOADED_MODELS: Mutex<Vec<(ModelFileStamp, ModelResult)>> = Mutex::new(Vec::new());

/// Returns the model of a workspace, or why none can be used.
pub fn model_for_workspace(workspace: &Workspace, by_user: Option<&Path>) -> ModelResult {
    match (by_user, &workspace.config().search.model) {
        // The user may name any file; a repository only a file of its own.
        (Some(path), _) => {
            let read_error =
                |why: String| format!("`{MODEL_VARIABLE}` names `{}`: {why}", path.display());
            if !path.is_absolute() {
                return Err(read_error("it must be an absolute path".to_owned()));
            }
            load_cached(path, || read_model_file(path)).map_err(read_error)
        }
        (None, Some(file)) => {
            let path = workspace.absolute_path(file);
            let bytes = || {
                let bytes = workspace.read_up_to_limit(file, embed::MAX_MODEL_BYTES);
                bytes.map_err(|error| error.to_string())
            };
            load_cached(&path, bytes).map_err(|why| {
                format!("`search.model` in `memory-forge.toml` names `{file}`: {why}")
            })
        }
        (None, None) => Ok(embed::builtin_embedder()),
    }
}

/// Returns the model of a file, and reads it only if the file changed since.
fn load_cached(path: &Path, bytes: impl FnOnce() -> Result<Vec<u8>, String>) -> ModelResult {
    let about = fs::metadata(path).map_err(|error| format!("cannot read it: {error}"))?;
    let seen = ModelFileStamp {
        path: path.to_owned(),
        size: about.len(),
        changed: about.modified().ok(),
    };
    // The list is only appended to, so it is valid even if a thread panicked
    // while it held the lock.
    let mut loaded = LOADED_MODELS.lock().unwrap_or_else(|it| it.into_inner());
    if let Some((_, model)) = loaded.iter().find(|(before, _)| *before == seen) {
        return model.clone();
    }
    if loaded.len() == MAX_LOADED_MODELS {
        return Err(format!(
            "this process has read {MAX_LOADED_MODELS} model files; start it again"
        ));
    }
    let model =
        bytes().and_then(|bytes| embed::embedder_from_file(&bytes).map_err(|it| it.to_string()));
    loaded.push((seen, model.clone()));
    model
}

fn read_model_file(path: &Path) -> Result<Vec<u8>, String> {
    regular::read_regular(path, LinkPolicy::Follow, embed::MAX_MODEL_BYTES).map_err(|error| {
        match error {
            FileReadError::TooLarge { limit, .. } => format!("it has more than {limit} bytes"),
            other => format!("cannot read it: {other}"),
        }
    })
}
