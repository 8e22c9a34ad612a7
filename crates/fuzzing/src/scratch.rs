//! A folder that a target may fill. On Linux it lies in memory, where a sync
//! costs nothing; a run makes thousands.

use std::path::Path;

use tempfile::TempDir;

pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir())
    } else {
        tempfile::tempdir()
    };
    made.expect("a temporary folder can be made")
}

pub(crate) fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    let folder = path.parent().expect("a file lies in a folder");
    std::fs::create_dir_all(folder).expect("a folder can be made");
    std::fs::write(path, text).expect("a file can be written");
}
