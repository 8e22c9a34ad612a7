//! Reads standard input of a hook with a limited wait: some clients never close
//! their end. It knows nothing of what the bytes mean.

use std::io::Read;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use forge_clients::hooks::payload::{Payload, is_whole_json};

/// Upper bound for the input; no field that we use is that far in.
const MOST_BYTES: usize = 8 << 20;
/// Time to wait for the next piece of input.
const PATIENCE: Duration = Duration::from_millis(700);
/// Stack of the reading thread, enough for a JSON text as deep as the parser
/// goes.
const STACK: usize = 512 * 1024;

/// Standard input while it is read, on a thread of its own: some clients never
/// close their end, and only a thread can be left behind.
pub(super) struct Reading {
    all: Arc<Mutex<Vec<u8>>>,
    /// Signal for each piece; closed at the end of the reading.
    pieces: mpsc::Receiver<()>,
}

impl Reading {
    /// Starts to read until the end, until a whole object is there, or until
    /// the limit. The thread then runs `afterwards`.
    pub(super) fn start(afterwards: impl FnOnce() + Send + 'static) -> Reading {
        let all = Arc::new(Mutex::new(Vec::new()));
        let (sender, pieces) = mpsc::channel();
        let shared = Arc::clone(&all);
        // Without a thread there is no input, as if the client had sent
        // nothing.
        let _ = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || {
                let mut stdin = std::io::stdin().lock();
                let mut buffer = vec![0; 64 * 1024];
                loop {
                    let read = stdin.read(&mut buffer).unwrap_or(0);
                    if read == 0 || add(&mut locked(&shared), &buffer[..read]) {
                        break;
                    }
                    if sender.send(()).is_err() {
                        // The receiver has given up, and does not need what
                        // comes afterwards.
                        return;
                    }
                }
                drop(sender);
                afterwards();
            });
        Reading { all, pieces }
    }

    /// Returns the payload when the input ends or pauses for too long, and
    /// whether the reading has ended.
    pub(super) fn wait(self, deadline: Instant) -> (Payload, bool) {
        let ended = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(PATIENCE.min(left)) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
        };
        (Payload::parse(&locked(&self.all)), ended)
    }
}

fn locked(all: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a piece. Returns `true` if the input is complete.
fn add(all: &mut Vec<u8>, piece: &[u8]) -> bool {
    all.extend_from_slice(piece);
    if all.len() > MOST_BYTES {
        all.truncate(MOST_BYTES);
        return true;
    }
    is_whole_json(all)
}
