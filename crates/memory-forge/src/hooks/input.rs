//! Reads standard input of a hook with a limited wait: some clients never close
//! their end. It knows nothing of what the bytes mean.

use std::io::Read;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use forge_clients::hooks::payload::{HookPayload, is_whole_json};

/// Upper bound for the input; no field that we use is that far in.
const MAX_INPUT_BYTES: usize = 8 << 20;
/// Time to wait for the next piece of input.
const INPUT_PATIENCE: Duration = Duration::from_millis(700);
/// Size of the first read, which takes in most inputs whole, and of the further
/// ones. A large buffer has to be cleared first, page by page.
const FIRST_READ_BYTES: usize = 8 * 1024;
const NEXT_READ_BYTES: usize = 64 * 1024;
/// Stack of the reading thread, enough for a JSON text as deep as the parser
/// goes.
const READER_STACK_BYTES: usize = 512 * 1024;

/// Standard input while it is read, on a thread of its own: some clients never
/// close their end, and only a thread can be left behind.
pub(super) struct InputReader {
    all: Arc<Mutex<Vec<u8>>>,
    /// Signal for each piece; closed at the end of the reading.
    pieces: mpsc::Receiver<()>,
}

impl InputReader {
    /// Starts to read until the end, until a whole object is there, or until
    /// the limit. The thread then runs `afterwards`.
    pub(super) fn start_reading(afterwards: impl FnOnce() + Send + 'static) -> InputReader {
        let all = Arc::new(Mutex::new(Vec::new()));
        let (sender, pieces) = mpsc::channel();
        let shared = Arc::clone(&all);
        // Without a thread there is no input, as if the client had sent
        // nothing.
        let _ = std::thread::Builder::new()
            .stack_size(READER_STACK_BYTES)
            .spawn(move || {
                let mut stdin = std::io::stdin().lock();
                let mut buffer = vec![0; FIRST_READ_BYTES];
                loop {
                    let read = stdin.read(&mut buffer).unwrap_or(0);
                    if read == 0 || append_piece(&mut lock_bytes(&shared), &buffer[..read]) {
                        break;
                    }
                    if sender.send(()).is_err() {
                        // The receiver has given up, and does not need what
                        // comes afterwards.
                        return;
                    }
                    buffer.resize(NEXT_READ_BYTES, 0);
                }
                drop(sender);
                afterwards();
            });
        InputReader { all, pieces }
    }

    /// Returns the payload when the input ends or pauses for too long, and
    /// whether the reading has ended.
    pub(super) fn wait_for_payload(self, deadline: Instant) -> (HookPayload, bool) {
        let ended = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(INPUT_PATIENCE.min(left)) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
        };
        (HookPayload::parse(&lock_bytes(&self.all)), ended)
    }
}

fn lock_bytes(all: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a piece. Returns `true` if the input is complete.
fn append_piece(all: &mut Vec<u8>, piece: &[u8]) -> bool {
    all.extend_from_slice(piece);
    if all.len() > MAX_INPUT_BYTES {
        all.truncate(MAX_INPUT_BYTES);
        return true;
    }
    is_whole_json(all)
}
