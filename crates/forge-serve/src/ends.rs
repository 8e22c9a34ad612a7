//! Waits for the end: a signal, or the death of the process that started this
//! one. Both are awaited on a thread of their own, so that a busy handler
//! delays neither.

use std::io;
use std::time::Duration;

use tokio::sync::oneshot;

/// Time that pending answers may still take. Then the process ends as it is:
/// all files are written so that this is safe.
const ANSWER_GRACE: Duration = Duration::from_secs(2);

/// Resolves when it is time to stop. `with_parent` also watches the process
/// that started this one.
///
/// On Linux the kernel signals the parent's death. Elsewhere the parent's
/// number is checked every two seconds; on Windows only the end of input shows
/// it, which a dying parent leaves behind in nearly all cases.
pub(crate) fn watch_for_end(with_parent: bool) -> io::Result<oneshot::Receiver<()>> {
    let parent = with_parent.then(Parent::of_this_process);
    let (sender, receiver) = oneshot::channel();
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::Builder::new()
        .name("ends".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let waited = match runtime {
                Ok(runtime) => runtime.block_on(wait(parent, &ready)),
                Err(error) => Err(error),
            };
            match waited {
                // The receiver is gone if the server has ended without a
                // signal.
                Ok(()) => {
                    if sender.send(()).is_ok() {
                        std::thread::sleep(ANSWER_GRACE);
                        std::process::exit(0);
                    }
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        })?;
    // The handlers are installed before the first message is read.
    is_ready
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("the watching thread ended")))?;
    Ok(receiver)
}

type Ready = std::sync::mpsc::Sender<io::Result<()>>;

#[cfg(unix)]
async fn wait(parent: Option<Parent>, ready: &Ready) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let gone = async {
        match parent {
            Some(parent) => parent.gone(ready).await,
            None => {
                let _ = ready.send(Ok(()));
                std::future::pending().await
            }
        }
    };
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        _ = hang_up.recv() => Ok(()),
        gone = gone => gone,
    }
}

#[cfg(not(unix))]
async fn wait(_: Option<Parent>, ready: &Ready) -> io::Result<()> {
    let _ = ready.send(Ok(()));
    tokio::signal::ctrl_c().await
}

/// The process that started this one.
#[derive(Debug)]
struct Parent {
    #[cfg(unix)]
    number: u32,
}

impl Parent {
    fn of_this_process() -> Self {
        Self {
            #[cfg(unix)]
            number: std::os::unix::process::parent_id(),
        }
    }

    /// Resolves when the parent is gone.
    ///
    /// The signal comes whenever the *thread* that started us ends, which a
    /// client with a pool of threads causes all the time; so the parent's
    /// number decides.
    #[cfg(target_os = "linux")]
    async fn gone(self, ready: &Ready) -> io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};

        let mut signals = signal(SignalKind::user_defined2())?;
        // SAFETY: it takes two numbers and touches no memory of ours.
        let set = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGUSR2) };
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
        let _ = ready.send(Ok(()));
        // Checked before the first wait too: the parent may have died before
        // the signal was set.
        while std::os::unix::process::parent_id() == self.number {
            signals.recv().await;
        }
        Ok(())
    }

    /// Resolves when the parent is gone, which is checked every two seconds.
    #[cfg(all(unix, not(target_os = "linux")))]
    async fn gone(self, ready: &Ready) -> io::Result<()> {
        let _ = ready.send(Ok(()));
        let mut every = tokio::time::interval(Duration::from_secs(2));
        while std::os::unix::process::parent_id() == self.number {
            every.tick().await;
        }
        Ok(())
    }
}
