//! Starts a program and says how long it ran, what CPU time it took and how
//! much memory it held. It never interprets what the program printed.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// One run of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
    /// In bytes. The kernel counts from before the program was loaded, so this
    /// is never less than what this process itself holds, a few megabytes.
    pub(crate) max_rss: u64,
}

/// The same surroundings for every contestant.
pub(crate) struct Arena {
    home: PathBuf,
    path: OsString,
}

impl Arena {
    pub(crate) fn new(bench: &Path) -> Result<Arena> {
        let home = bench.join("home");
        std::fs::create_dir_all(&home)
            .with_context(|| format!("Cannot create {}", home.display()))?;
        Ok(Arena {
            home,
            path: std::env::var_os("PATH").unwrap_or_default(),
        })
    }

    /// Where the shell would find a program.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        std::env::split_paths(&self.path)
            .map(|directory| directory.join(&name))
            .find(|file| file.is_file())
    }

    pub(crate) fn command(
        &self,
        program: &Path,
        arguments: &[String],
        directory: &Path,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// Runs a program to its end. Output goes to files, not to a pipe that
    /// someone has to empty nor to a null device that programs may notice.
    pub(crate) fn time(
        &self,
        program: &Path,
        arguments: &[String],
        directory: &Path,
    ) -> Result<Sample> {
        let out = self.home.join("stdout");
        let err = self.home.join("stderr");
        let mut command = self.command(program, arguments, directory);
        command
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?);
        let (sample, status) =
            wait(command).with_context(|| format!("Cannot run {}", program.display()))?;
        if status != Some(0) {
            let stderr = std::fs::read_to_string(&err).unwrap_or_default();
            let line = stderr.lines().next().unwrap_or("it said nothing");
            bail!("{}", line.strip_prefix("error: ").unwrap_or(line));
        }
        Ok(sample)
    }
}

/// Starts a program and waits for its end; the second value is its exit code,
/// none where a signal ended it.
#[cfg(unix)]
pub(crate) fn wait(mut command: Command) -> Result<(Sample, Option<i32>)> {
    use std::time::Instant;

    let start = Instant::now();
    let child = command.spawn()?;
    let pid = libc::pid_t::try_from(child.id()).context("Process ids fit into pid_t")?;
    let mut status = 0;
    // SAFETY: rusage is plain old data for which all zeroes is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live values of the right type. Nobody
        // else waits for this child: `Child` does so only when asked.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
    let wall = start.elapsed();
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec.unsigned_abs())
            + Duration::from_micros(value.tv_usec as u64)
    };
    // Linux counts kibibytes, macOS bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let sample = Sample {
        wall,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        max_rss: usage.ru_maxrss.unsigned_abs() * unit,
    };
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    Ok((sample, code))
}

#[cfg(not(unix))]
pub(crate) fn wait(_: Command) -> Result<(Sample, Option<i32>)> {
    bail!("this benchmark needs wait4, which only Unix has")
}
