//! Serves a handler on standard input and output. The SDK's own transport for
//! them has one framing, is silent about what it cannot read, and gives up if
//! the first message is not the one it expects; this one answers and continues.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
    JsonRpcRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ServerHandler, ServiceExt};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::framing::{FrameReader, MessageFrame, MessageFraming};
use crate::{MAX_MESSAGE_BYTES, ServeError, log_line};

/// Upper bound for pending requests; more wait in the pipe.
const MAX_REQUESTS_IN_FLIGHT: usize = 64;

/// Upper bound for the elements of one batch.
const MAX_BATCH_ELEMENTS: usize = MAX_REQUESTS_IN_FLIGHT;

/// Time that pending answers may take after the end of input.
const LAST_ANSWERS_TIME: Duration = Duration::from_secs(60);

/// Serves until the input ends, a signal comes, the parent dies or the output
/// is closed. Requests from before the end of input are answered first.
///
/// # Errors
///
/// Fails if no thread, signal handler or runtime can be had.
pub fn serve_stdio<H: ServerHandler>(handler: H) -> Result<(), ServeError> {
    let stop = crate::ends::watch_for_end(true).map_err(ServeError::Start)?;
    let runtime = crate::build_runtime()?;
    let served = runtime.block_on(async {
        tokio::select! {
            served = serve_pipes(handler, io::stdin(), io::stdout()) => served,
            _ = stop => Ok(()),
        }
    });
    // A read of standard input may still be blocked, and need not end.
    runtime.shutdown_background();
    served
}

/// Serves on any two pipes, as [`serve_stdio`] does.
pub(crate) async fn serve_pipes<H: ServerHandler>(
    handler: H,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), ServeError> {
    let frames = read_frames(input, MAX_MESSAGE_BYTES).map_err(ServeError::Start)?;
    let owed = Arc::new(OwedAnswers::default());
    let writer = write_frames(output, owed.clone()).map_err(ServeError::Start)?;
    let versions = handler.supported_protocol_versions().into_owned();
    let (end_sender, over) = oneshot::channel();
    let wire = StdioTransport::new(frames, writer, owed, versions, end_sender);
    let served = async {
        match handler.serve(wire).await {
            Ok(running) => match running.waiting().await {
                Ok(_) => Ok(()),
                Err(error) => Err(ServeError::Handshake(error.to_string())),
            },
            // Both end a connection on which little was sent.
            Err(
                ServerInitializeError::ConnectionClosed(_)
                | ServerInitializeError::TransportError { .. },
            ) => Ok(()),
            Err(error) => Err(ServeError::Handshake(error.to_string())),
        }
    };
    // The SDK would wait five more seconds for handlers that owe nothing, such
    // as those of open subscriptions, and clients count every second as ours.
    tokio::select! {
        served = served => served,
        Ok(()) = over => Ok(()),
    }
}

/// Reads frames on a thread, as not every system can wait for a pipe without
/// blocking. The channel is short, so that a flood stays in the pipe.
fn read_frames(
    mut input: impl Read + Send + 'static,
    limit: usize,
) -> io::Result<mpsc::Receiver<Vec<MessageFrame>>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            let mut framer = FrameReader::new(limit);
            let mut piece = vec![0; 64 * 1024];
            loop {
                let mut frames = Vec::new();
                let length = match input.read(&mut piece) {
                    Ok(length) => length,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => {
                        log_line(format_args!("Cannot read the input: {error}"));
                        0
                    }
                };
                match length {
                    0 => framer.finish(&mut frames),
                    _ => framer.feed_bytes(&piece[..length], &mut frames),
                }
                let delivered = frames.is_empty() || sender.blocking_send(frames).is_ok();
                if length == 0 || !delivered {
                    return;
                }
            }
        })?;
    Ok(receiver)
}

/// Writes frames on a thread, so that a client that does not read stops nothing
/// but its own answers.
fn write_frames(
    mut output: impl Write + Send + 'static,
    owed: Arc<OwedAnswers>,
) -> io::Result<mpsc::Sender<Vec<u8>>> {
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(1);
    std::thread::Builder::new()
        .name("output".to_owned())
        .spawn(move || {
            // A closed output ends the connection: the channel closes with it.
            while let Some(bytes) = receiver.blocking_recv() {
                let written = output.write_all(&bytes).and_then(|()| output.flush());
                if written.is_err() {
                    break;
                }
                owed.note_written();
            }
        })?;
    Ok(sender)
}

/// Transport of the SDK over frames.
struct StdioTransport {
    frames: mpsc::Receiver<Vec<MessageFrame>>,
    unread: VecDeque<MessageFrame>,
    /// Messages of a batch that the SDK has not received yet.
    messages: VecDeque<ClientJsonRpcMessage>,
    /// Our own answers, to input that is no message.
    answers: VecDeque<Vec<u8>>,
    writer: mpsc::Sender<Vec<u8>>,
    owed: Arc<OwedAnswers>,
    /// Whether the SDK has taken up one of the two lives of a connection.
    /// Before that, a notification would end it.
    started: bool,
    versions: Vec<ProtocolVersion>,
    /// Moment at which to give up on pending answers, once the input is over.
    give_up: Option<Instant>,
    /// Signal that the input is over and everything is answered.
    over: Option<oneshot::Sender<()>>,
}

impl StdioTransport {
    fn new(
        frames: mpsc::Receiver<Vec<MessageFrame>>,
        writer: mpsc::Sender<Vec<u8>>,
        owed: Arc<OwedAnswers>,
        versions: Vec<ProtocolVersion>,
        over: oneshot::Sender<()>,
    ) -> Self {
        Self {
            frames,
            unread: VecDeque::new(),
            messages: VecDeque::new(),
            answers: VecDeque::new(),
            writer,
            owed,
            started: false,
            versions,
            give_up: None,
            over: Some(over),
        }
    }

    /// Returns the message that the SDK receives for a frame, if any.
    fn take_frame(&mut self, frame: MessageFrame) -> Option<ClientJsonRpcMessage> {
        match frame {
            MessageFrame::Message { text, framing } => {
                self.owed.lock().framing = framing;
                match serde_json::from_slice(&text) {
                    Ok(message) => self.admit_message(message, None),
                    Err(_) => self.take_unparsed(&text),
                }
            }
            MessageFrame::TooLong { id, framing } => {
                self.owed.lock().framing = framing;
                let why = format!("The message is longer than {MAX_MESSAGE_BYTES} bytes");
                log_line(format_args!("{why}, it was left out"));
                self.queue_refusal(ErrorData::invalid_request(why, None), id, None);
                None
            }
            MessageFrame::BadHeader => {
                log_line(format_args!("Headers without a usable Content-Length"));
                None
            }
        }
    }

    /// Handles input that is no single message: a batch, or text that cannot be
    /// understood.
    fn take_unparsed(&mut self, text: &[u8]) -> Option<ClientJsonRpcMessage> {
        match serde_json::from_slice::<Value>(text) {
            Ok(Value::Array(elements)) => {
                self.take_batch(elements);
                self.messages.pop_front()
            }
            Ok(value) => {
                self.refuse_non_message(value, None);
                None
            }
            Err(error) => {
                let why = format!("Parse error: {error}");
                self.queue_refusal(ErrorData::parse_error(why, None), None, None);
                None
            }
        }
    }

    /// Takes the elements of a batch, up to the limit of pending requests.
    fn take_batch(&mut self, elements: Vec<Value>) {
        let refused = match elements.len() {
            0 => Some("A batch needs an element".to_owned()),
            length if length > MAX_BATCH_ELEMENTS => {
                Some(format!("A batch has at most {MAX_BATCH_ELEMENTS} elements"))
            }
            _ => None,
        };
        if let Some(why) = refused {
            return self.queue_refusal(ErrorData::invalid_request(why, None), None, None);
        }
        let batch = self.owed.lock().open_batch();
        for element in elements {
            match serde_json::from_value::<ClientJsonRpcMessage>(element.clone()) {
                Ok(message) => {
                    if let Some(message) = self.admit_message(message, Some(batch)) {
                        self.messages.push_back(message);
                    }
                }
                Err(_) => self.refuse_non_message(element, Some(batch)),
            }
        }
        // Held open until here, so that early answers do not close it.
        let whole = self.owed.lock().leave_batch(batch, None);
        self.answers.extend(whole);
    }

    fn refuse_non_message(&mut self, value: Value, batch: Option<u64>) {
        // A notification is never answered, not even a wrong one.
        if value.get("method").is_some() && value.get("id").is_none() {
            return;
        }
        let id = value.get("id").cloned();
        let id = id.and_then(|id| serde_json::from_value(id).ok());
        let error = ErrorData::invalid_request("Invalid request", None);
        self.queue_refusal(error, id, batch);
    }

    fn admit_message(
        &mut self,
        message: ClientJsonRpcMessage,
        batch: Option<u64>,
    ) -> Option<ClientJsonRpcMessage> {
        match message {
            JsonRpcMessage::Request(request) => self.admit_request(request, batch),
            _ if !self.started => None,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    let whole = self.owed.settle_request(id, None);
                    self.answers.extend(whole);
                }
                Some(JsonRpcMessage::Notification(notification))
            }
            answer => Some(answer),
        }
    }

    fn admit_request(
        &mut self,
        request: JsonRpcRequest<ClientRequest>,
        batch: Option<u64>,
    ) -> Option<ClientJsonRpcMessage> {
        let id = request.id.clone();
        let meta = request.request.get_meta();
        let complete = meta
            .missing_required_keys(&ProtocolVersion::V_2026_07_28)
            .is_empty();
        let served = meta
            .protocol_version()
            .is_some_and(|version| self.versions.contains(&version));
        let mut answered = true;
        match &request.request {
            ClientRequest::InitializeRequest(_) if batch.is_some() => {
                let error = ErrorData::invalid_request("initialize cannot be in a batch", None);
                self.queue_refusal(error, Some(id), batch);
                return None;
            }
            ClientRequest::InitializeRequest(_) => self.started = true,
            ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => {}
            // The SDK would find fault with its metadata, and a client that
            // probes for a method wants to know about the method.
            ClientRequest::CustomRequest(custom) if !self.started && !complete => {
                let error = crate::unhandled_error(&custom.method, custom.get_meta());
                self.queue_refusal(error, Some(id), batch);
                return None;
            }
            // A subscription stays open until the client ends it.
            ClientRequest::SubscriptionsListenRequest(_) => {
                answered = false;
                self.started |= complete && served;
            }
            _ => self.started |= complete && served,
        }
        if answered && !self.owed.lock().add_request(id.clone(), batch) {
            let error = ErrorData::invalid_request("A request with this id is under way", None);
            self.queue_refusal(error, Some(id), batch);
            return None;
        }
        Some(JsonRpcMessage::Request(request))
    }

    fn queue_refusal(&mut self, error: ErrorData, id: Option<RequestId>, batch: Option<u64>) {
        let answer = ServerJsonRpcMessage::error(error, id);
        let mut owed = self.owed.lock();
        let answer = match batch {
            Some(batch) => owed.answer_in_batch(batch, &answer),
            None => Some(owed.encode_message(&answer)),
        };
        drop(owed);
        self.answers.extend(answer);
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let owed = self.owed.clone();
        let writer = self.writer.clone();
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let bytes = match id {
                Some(id) => owed.settle_request(&id, Some(&message)),
                None => Some(owed.lock().encode_message(&message)),
            };
            match bytes {
                Some(bytes) => writer
                    .send(bytes)
                    .await
                    .map_err(|_| io::ErrorKind::BrokenPipe.into()),
                None => Ok(()),
            }
        }
    }

    /// Receives the next message. The SDK drops this future and calls again
    /// whenever something else happens first, so it keeps everything in `self`
    /// and awaits only what can be dropped without loss.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if !self.answers.is_empty() {
                // Reserves first: if this future is dropped here, no answer is
                // lost.
                let place = self.writer.reserve().await.ok()?;
                let answer = self.answers.pop_front().expect("it was just seen");
                place.send(answer);
                continue;
            }
            if let Some(message) = self.messages.pop_front() {
                return Some(message);
            }
            if !self.unread.is_empty() {
                // Waits before it takes the frame, for the same reason.
                self.owed.wait_for_room(&self.writer).await?;
                let frame = self.unread.pop_front().expect("it was just seen");
                if let Some(message) = self.take_frame(frame) {
                    return Some(message);
                }
                continue;
            }
            let frames = tokio::select! {
                frames = self.frames.recv() => frames,
                () = self.writer.closed() => return None,
            };
            match frames {
                Some(frames) => self.unread.extend(frames),
                None => {
                    // Kept across calls, since this future may be dropped and
                    // called again.
                    let give_up = *self
                        .give_up
                        .get_or_insert_with(|| Instant::now() + LAST_ANSWERS_TIME);
                    let all = self.owed.wait_all_written(&self.writer);
                    let _ = tokio::time::timeout_at(give_up, all).await;
                    if let Some(over) = self.over.take() {
                        let _ = over.send(());
                    }
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}

/// Requests without an answer so far.
#[derive(Default)]
struct OwedAnswers {
    book: Mutex<AnswerBook>,
    fewer: Notify,
}

struct AnswerBook {
    requests: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, OpenBatch>,
    next_batch: u64,
    /// Answers that are not written yet.
    unwritten: usize,
    /// The framing of the client's last message.
    framing: MessageFraming,
}

#[derive(Default)]
struct OpenBatch {
    open: usize,
    answers: Vec<Value>,
}

impl Default for AnswerBook {
    fn default() -> Self {
        Self {
            requests: HashMap::new(),
            batches: HashMap::new(),
            next_batch: 0,
            unwritten: 0,
            framing: MessageFraming::Lines,
        }
    }
}

impl OwedAnswers {
    fn lock(&self) -> MutexGuard<'_, AnswerBook> {
        self.book.lock().expect("nothing panics with the book open")
    }

    /// Removes a request. Returns the bytes that can be written then: none for
    /// an answer that has to wait for others of its batch.
    fn settle_request(
        &self,
        id: &RequestId,
        answer: Option<&ServerJsonRpcMessage>,
    ) -> Option<Vec<u8>> {
        let mut book = self.lock();
        let bytes = match book.requests.remove(id) {
            Some(Some(batch)) => book.leave_batch(batch, answer),
            _ => answer.map(|answer| book.encode_message(answer)),
        };
        drop(book);
        self.fewer.notify_waiters();
        bytes
    }

    fn note_written(&self) {
        self.lock().unwritten -= 1;
        self.fewer.notify_waiters();
    }

    /// Waits until another request can be taken. Unread answers count like
    /// requests: they would pile up without bound.
    async fn wait_for_room(&self, writer: &mpsc::Sender<Vec<u8>>) -> Option<()> {
        self.wait_until(writer, |book| {
            book.requests.len() + book.unwritten < MAX_REQUESTS_IN_FLIGHT
        })
        .await
    }

    async fn wait_all_written(&self, writer: &mpsc::Sender<Vec<u8>>) -> Option<()> {
        self.wait_until(writer, |book| {
            book.requests.is_empty() && book.unwritten == 0
        })
        .await
    }

    /// Waits until the condition holds. Returns `None` if the output has
    /// closed.
    async fn wait_until(
        &self,
        writer: &mpsc::Sender<Vec<u8>>,
        reached: impl Fn(&AnswerBook) -> bool,
    ) -> Option<()> {
        loop {
            // Created before the check, so that a change in between is not
            // missed.
            let fewer = self.fewer.notified();
            if reached(&self.lock()) {
                return Some(());
            }
            tokio::select! {
                () = fewer => {}
                () = writer.closed() => return None,
            }
        }
    }
}

impl AnswerBook {
    /// Encodes a message for the output, and counts it as unwritten.
    fn encode_message(&mut self, message: &impl Serialize) -> Vec<u8> {
        self.unwritten += 1;
        let json = serde_json::to_vec(message).expect("messages are JSON");
        self.framing.wrap(json)
    }

    /// Adds a request. Returns `true` if its id was free.
    fn add_request(&mut self, id: RequestId, batch: Option<u64>) -> bool {
        if self.requests.contains_key(&id) {
            return false;
        }
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.open += 1;
        }
        self.requests.insert(id, batch);
        true
    }

    fn open_batch(&mut self) -> u64 {
        self.next_batch += 1;
        let batch = OpenBatch {
            open: 1,
            answers: Vec::new(),
        };
        self.batches.insert(self.next_batch, batch);
        self.next_batch
    }

    fn answer_in_batch(&mut self, batch: u64, answer: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
        self.batches.get_mut(&batch)?.open += 1;
        self.leave_batch(batch, Some(answer))
    }

    /// Takes one element off a batch. Returns all answers with the last one.
    fn leave_batch(
        &mut self,
        batch: u64,
        answer: Option<&ServerJsonRpcMessage>,
    ) -> Option<Vec<u8>> {
        let found = self.batches.get_mut(&batch)?;
        let answer = answer.map(|answer| serde_json::to_value(answer).expect("messages are JSON"));
        found.answers.extend(answer);
        found.open -= 1;
        if found.open > 0 {
            return None;
        }
        let answers = self.batches.remove(&batch)?.answers;
        (!answers.is_empty()).then(|| self.encode_message(&answers))
    }
}

#[cfg(test)]
mod tests;
