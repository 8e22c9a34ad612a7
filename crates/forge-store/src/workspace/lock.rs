//! Locks between processes, kept by the operating system.
//!
//! A lock ends with the process that holds it, however that ends. The file it
//! is on is never deleted: two processes could then hold two different files of
//! the same name. Without a lock nothing is ever written.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use super::WorkspaceError;
use crate::system;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct ProcessLock {
    _file: File,
    taken_ns: i64,
}

impl ProcessLock {
    /// Takes the lock on `path`, or gives up after `wait`. `what` begins the
    /// message of the error.
    pub(super) fn take(
        path: &Path,
        what: &str,
        wait: Duration,
    ) -> Result<ProcessLock, WorkspaceError> {
        // The pauses are added up instead of reading a clock: time spent on
        // trying does not count as waiting.
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(lock) =
                ProcessLock::try_take(path).map_err(|e| WorkspaceError::from_io("lock", path, e))?
            {
                return Ok(lock);
            }
            if waited >= wait {
                return Err(WorkspaceError::Locked {
                    what: what.to_string(),
                    waited,
                });
            }
            let nap = pause.min(wait - waited);
            thread::sleep(nap);
            waited += nap;
            pause = (pause * 2).min(longest_pause(waited));
        }
    }

    /// Returns when the lock was taken, by the clock of the file system, in
    /// nanoseconds since 1970: comparable with the times of files, as no other
    /// clock is.
    pub fn taken_ns(&self) -> i64 {
        self.taken_ns
    }

    fn try_take(path: &Path) -> io::Result<Option<ProcessLock>> {
        match fs::symlink_metadata(path) {
            Ok(meta) if !meta.is_file() => {
                return Err(io::Error::other("it is not a regular file"));
            }
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let file = system::open_no_follow(&mut options, path)?;
        match file.try_lock() {
            // The whole folder may have been removed between the opening and
            // the locking; the next process would lock another file.
            Ok(()) if system::is_still_named(&file, path) => Ok(Some(ProcessLock {
                taken_ns: touch_and_read_mtime(&file)?,
                _file: file,
            })),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }
}

/// Writes a byte and returns the new time of the file in nanoseconds, by the
/// clock of the file system.
fn touch_and_read_mtime(mut file: &File) -> io::Result<i64> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(b"\n")?;
    let modified = file.metadata()?.modified()?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Returns the longest pause between two tries, which shrinks as the wait
/// grows. With one pause for all, newcomers would try most often and overtake
/// the others, who then give up although the lock is free many times a second.
fn longest_pause(waited: Duration) -> Duration {
    // With growing pauses, 198 of 6,598 attempts by 64 writers gave up after five
    // seconds, while the lock was free 56 times a second.
    Duration::from_millis(match waited.as_millis() {
        0..1_500 => 10,
        1_500..3_000 => 4,
        _ => 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_free_again_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let held = ProcessLock::take(&path, "The index", Duration::ZERO).unwrap();
        let refused = ProcessLock::take(&path, "The index", Duration::ZERO).unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("The index is in use by another process"),
            "{refused}"
        );
        drop(held);
        assert!(path.exists(), "the file stays");
        ProcessLock::take(&path, "The index", Duration::ZERO).unwrap();
    }

    #[test]
    fn whoever_waits_gets_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let held = ProcessLock::take(&path, "It", Duration::ZERO).unwrap();
        thread::scope(|scope| {
            let waiting =
                scope.spawn(|| ProcessLock::take(&path, "It", Duration::from_secs(60)).is_ok());
            drop(held);
            assert!(waiting.join().unwrap());
        });
    }

    /// Needs `flock` of util-linux, which holds the same kind of lock.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_dies_lets_go() {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let mut command = Command::new("flock");
        command
            .arg("-o")
            .arg(&path)
            .args(["sh", "-c", "echo held; cat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            return;
        };
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        assert!(ProcessLock::take(&path, "It", Duration::ZERO).is_err());
        child.kill().unwrap();
        child.wait().unwrap();
        ProcessLock::take(&path, "It", Duration::ZERO).unwrap();
    }

    #[test]
    fn what_cannot_be_locked_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(ProcessLock::take(dir.path(), "It", Duration::ZERO).is_err());
        assert!(ProcessLock::take(&dir.path().join("gone/x.lock"), "It", Duration::ZERO).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        std::os::unix::fs::symlink(&outside, dir.path().join("x.lock")).unwrap();
        assert!(ProcessLock::take(&dir.path().join("x.lock"), "It", Duration::ZERO).is_err());
        assert!(!outside.exists());
    }
}
