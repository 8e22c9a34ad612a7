//! Serves a handler on loopback HTTP, for clients that cannot start a process.
//! Every request shows the token; names that are not the loopback's are
//! refused, so that no page in a browser reaches it. It listens on 127.0.0.1
//! alone.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use crate::{MAX_MESSAGE_BYTES, ServeError, log_line};

/// Upper bound for sessions of the eras before 2026-07-28. A new one closes the
/// session that was used the longest ago.
const MAX_SESSIONS: usize = 64;

/// Time without a message after which a session is closed.
const SESSION_IDLE_TIME: Duration = Duration::from_secs(300);

/// Upper bound for connections at one time. A new one closes the one that has
/// been idle longest, or waits if all of them work.
const MAX_CONNECTIONS: usize = 128;

/// Interval at which a waiting connection looks for an idle one.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Time limit from a connection's start to the end of its headers.
const MAX_HEADER_TIME: Duration = Duration::from_secs(10);

/// Upper bounds for the headers of a request and their bytes: a client of the
/// protocol sends a dozen.
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 32 * 1024;

/// Time that pending answers may still take when the server ends.
const LAST_ANSWERS_TIME: Duration = Duration::from_millis(1_500);

/// Port and token of a server.
pub struct HttpOptions {
    /// The port; 0 takes any free one.
    pub port: u16,
    /// The token that clients show as `Authorization: Bearer …`; see
    /// [`crate::new_token`].
    pub token: String,
}

pub(crate) type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// Serves `/mcp` on 127.0.0.1 until a signal comes. `make` returns a handler
/// for each session, and for each request of the era without sessions; `ready`
/// is called with the address once connections are taken.
///
/// # Errors
///
/// Fails if the port is taken, the token is empty, or no runtime can be built.
pub fn serve_http<H, F>(
    make: F,
    options: HttpOptions,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError>
where
    F: Fn() -> H + Send + Sync + 'static,
    H: ServerHandler,
{
    let HttpOptions { port, token } = options;
    run_on_loopback(port, &token, ready, async |listener, _, stop| {
        let door = Arc::new(McpEndpoint::new(make, token.clone()));
        let answer = {
            let door = door.clone();
            move |request| {
                let door = door.clone();
                async move { door.answer_request(request).await }
            }
        };
        serve_connections(listener, answer, stop, door.close_sessions()).await;
    })
}

/// Takes the port, passes the address to `ready`, and runs `serving` until its
/// last argument resolves.
pub(crate) fn run_on_loopback(
    port: u16,
    token: &str,
    ready: impl FnOnce(SocketAddr),
    serving: impl AsyncFnOnce(TcpListener, SocketAddr, oneshot::Receiver<()>),
) -> Result<(), ServeError> {
    if token.is_empty() {
        return Err(ServeError::NoToken);
    }
    let stop = crate::ends::watch_for_end(false).map_err(ServeError::Start)?;
    let runtime = crate::build_runtime()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(|source| ServeError::Bind { port, source })?;
        let address = listener.local_addr().map_err(ServeError::Start)?;
        ready(address);
        serving(listener, address, stop).await;
        Ok(())
    });
    runtime.shutdown_background();
    served
}

/// Accepts connections and answers their requests until `stop`; then waits for
/// `end`, and a limited time for pending answers.
pub(crate) async fn serve_connections<F, A>(
    listener: TcpListener,
    answer: F,
    stop: impl Future,
    end: impl Future<Output = ()>,
) where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = HttpAnswer> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut peers = OpenConnections::default();
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accept = async {
            let (stream, _) = listener.accept().await?;
            let place = loop {
                if places.available_permits() == 0 {
                    peers.close_idle();
                }
                // If none was idle, one may be after this wait.
                let place = places.clone().acquire_owned();
                if let Ok(place) = tokio::time::timeout(IDLE_CHECK_INTERVAL, place).await {
                    break place;
                }
            };
            Ok::<_, std::io::Error>((stream, place))
        };
        let accepted = tokio::select! {
            accepted = accept => accepted,
            _ = &mut stop => break,
        };
        match accepted {
            Ok((stream, place)) => {
                let peer = peers.add_connection();
                let connection = answer_connection(stream, peer, answer.clone(), ended.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
                while connections.try_join_next().is_some() {}
            }
            // Too many open files and the like pass; a busy loop would not
            // help.
            Err(error) => {
                log_line(format_args!("Cannot accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    let _ = ending.send(true);
    end.await;
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_ANSWERS_TIME, all).await;
}

async fn answer_connection<F, A>(
    stream: TcpStream,
    peer: Arc<ConnectionHandle>,
    answer: F,
    mut ended: watch::Receiver<bool>,
) where
    F: Fn(Request<Incoming>) -> A,
    A: Future<Output = HttpAnswer>,
{
    // Small answers would otherwise wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let requester = peer.clone();
    let service = service_fn(move |request| {
        let work = RequestGuard::begin(&requester);
        let answer = answer(request);
        async move { Ok::<_, Infallible>(work.until_sent(answer.await)) }
    });
    let mut connection = std::pin::pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(MAX_HEADER_TIME)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEADER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        // Protocol errors of a client concern its own connection alone.
        _ = connection.as_mut() => return,
        () = peer.close.notified() => return,
        _ = ended.wait_for(|ended| *ended) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Open connections, the oldest first.
///
/// Any program on this machine can open connections and send nothing; without a
/// way to close them, they would block users until their headers are overdue.
#[derive(Default)]
struct OpenConnections {
    all: Vec<std::sync::Weak<ConnectionHandle>>,
}

/// Connection, as seen from outside of it.
#[derive(Default)]
struct ConnectionHandle {
    state: Mutex<ConnectionState>,
    close: Notify,
}

#[derive(Default)]
struct ConnectionState {
    /// Requests whose answers are not yet sent.
    working: usize,
    /// Moment at which the last answer was sent; `None` before the first.
    idle_since: Option<std::time::Instant>,
    closing: bool,
}

impl OpenConnections {
    fn add_connection(&mut self) -> Arc<ConnectionHandle> {
        self.all.retain(|peer| peer.strong_count() > 0);
        let peer = Arc::new(ConnectionHandle::default());
        self.all.push(Arc::downgrade(&peer));
        peer
    }

    /// Closes the least useful connection: the oldest that never sent a
    /// request, else the one whose last answer is the oldest.
    fn close_idle(&self) {
        let open: Vec<Arc<ConnectionHandle>> =
            self.all.iter().filter_map(|it| it.upgrade()).collect();
        let idle = |peer: &&Arc<ConnectionHandle>| {
            let state = peer.state();
            state.working == 0 && !state.closing
        };
        let longest = open
            .iter()
            .filter(idle)
            .min_by_key(|peer| peer.state().idle_since);
        if let Some(peer) = longest {
            peer.state().closing = true;
            peer.close.notify_one();
        }
    }
}

impl ConnectionHandle {
    fn state(&self) -> std::sync::MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard of a request, from its headers to the last byte of its answer.
struct RequestGuard(Arc<ConnectionHandle>);

impl RequestGuard {
    fn begin(peer: &Arc<ConnectionHandle>) -> RequestGuard {
        peer.state().working += 1;
        RequestGuard(peer.clone())
    }

    fn until_sent(self, answer: HttpAnswer) -> Response<SendingBody> {
        answer.map(|body| SendingBody { body, _work: self })
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.working -= 1;
        state.idle_since = Some(std::time::Instant::now());
    }
}

/// Body of an answer; its connection counts as working until it is sent.
struct SendingBody {
    body: BoxBody<Bytes, Infallible>,
    _work: RequestGuard,
}

impl hyper::body::Body for SendingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Checks in front of the SDK, which sees no request that fails one.
struct McpEndpoint<H> {
    token: String,
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Sessions by use, the latest last.
    used: Mutex<VecDeque<SessionId>>,
}

impl<H: ServerHandler> McpEndpoint<H> {
    fn new(make: impl Fn() -> H + Send + Sync + 'static, token: String) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(SESSION_IDLE_TIME);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        let config =
            StreamableHttpServerConfig::default().with_max_request_body_bytes(MAX_MESSAGE_BYTES);
        Self {
            token,
            service: StreamableHttpService::new(move || Ok(make()), sessions.clone(), config),
            sessions,
            used: Mutex::default(),
        }
    }

    async fn answer_request(&self, request: Request<Incoming>) -> HttpAnswer {
        if let Some(refused) = self.refuse_request(&request) {
            return refused;
        }
        if let Some(session) = session_id(request.headers()) {
            self.note_session_use(session, false);
        }
        let answer = self.service.handle(request).await;
        if let Some(session) = session_id(answer.headers()) {
            let surplus = self.note_session_use(session, true);
            if let Some(oldest) = surplus {
                let _ = self.sessions.close_session(&oldest).await;
            }
        }
        answer
    }

    /// Returns the answer to a request that fails a check.
    fn refuse_request<B>(&self, request: &Request<B>) -> Option<HttpAnswer> {
        let headers = request.headers();
        if let Some(refused) = refuse_foreign_host(request.uri(), headers) {
            return Some(refused);
        }
        if !origin_is_loopback(headers) {
            return Some(plain_answer(
                StatusCode::FORBIDDEN,
                "Origin is not a loopback name",
            ));
        }
        if request.uri().path() != "/mcp" {
            return Some(plain_answer(StatusCode::NOT_FOUND, "Only /mcp is served"));
        }
        if !has_token(headers, &self.token) {
            let mut refused = plain_answer(StatusCode::UNAUTHORIZED, "A bearer token is needed");
            let challenge = HeaderValue::from_static("Bearer realm=\"memory-forge\"");
            refused.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return Some(refused);
        }
        refuse_too_long(headers, MAX_MESSAGE_BYTES)
    }

    /// Notes the use of a session. Returns the one that has to be closed for
    /// it.
    fn note_session_use(&self, session: SessionId, may_be_new: bool) -> Option<SessionId> {
        let mut used = self.used.lock().expect("nothing panics with it locked");
        let known = used.iter().position(|other| *other == session);
        if let Some(at) = known {
            used.remove(at);
        } else if !may_be_new {
            // A client can name any session; only an answer of the SDK makes
            // one known.
            return None;
        }
        used.push_back(session);
        if used.len() > MAX_SESSIONS {
            used.pop_front()
        } else {
            None
        }
    }

    /// Closes all sessions, since streams that wait for news would keep their
    /// connections open.
    async fn close_sessions(&self) {
        let open: Vec<SessionId> = self
            .sessions
            .sessions
            .read()
            .await
            .keys()
            .cloned()
            .collect();
        for session in open {
            let _ = self.sessions.close_session(&session).await;
        }
    }
}

fn session_id(headers: &HeaderMap) -> Option<SessionId> {
    let id = headers.get("mcp-session-id")?.to_str().ok()?;
    Some(id.into())
}

/// Returns a refusal for a request that called us by another name. Without this
/// check, a page whose name resolves to 127.0.0.1 could reach the server.
pub(crate) fn refuse_foreign_host(uri: &Uri, headers: &HeaderMap) -> Option<HttpAnswer> {
    let why = "Host is not a loopback name";
    (!host_is_loopback(uri, headers)).then(|| plain_answer(StatusCode::FORBIDDEN, why))
}

/// Returns a refusal for a request that announces too long a body, before it is
/// read.
pub(crate) fn refuse_too_long(headers: &HeaderMap, most: usize) -> Option<HttpAnswer> {
    let length = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    let length = length.and_then(|it| it.trim().parse::<u128>().ok())?;
    let why = "The message is too long";
    (length > most as u128).then(|| plain_answer(StatusCode::PAYLOAD_TOO_LARGE, why))
}

pub(crate) fn plain_answer(status: StatusCode, why: &'static str) -> HttpAnswer {
    let body = Full::new(Bytes::from_static(why.as_bytes())).boxed();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

/// Returns `true` if the client used a loopback name for us, in the one `Host`
/// header and in the address.
fn host_is_loopback(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let by_uri = uri.authority().map(|authority| authority.as_str());
    host.to_str().is_ok_and(authority_is_loopback) && by_uri.is_none_or(authority_is_loopback)
}

/// Returns `true` unless a page of another origin sent the request. Browsers
/// always send the header with requests of pages; programs rarely do.
fn origin_is_loopback(headers: &HeaderMap) -> bool {
    headers.get_all(ORIGIN).iter().all(|origin| {
        let authority = origin.to_str().ok().and_then(|origin| {
            let rest = origin.strip_prefix("http://");
            rest.or_else(|| origin.strip_prefix("https://"))
        });
        authority.is_some_and(authority_is_loopback)
    })
}

fn authority_is_loopback(authority: &str) -> bool {
    let (name, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some(("::1", rest)) => (
                "localhost",
                rest.strip_prefix(':').or(rest.is_empty().then_some("0")),
            ),
            _ => return false,
        },
        None => match authority.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (authority, Some("0")),
        },
    };
    let name_fits = name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1";
    name_fits && port.is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Returns `true` if the one `Authorization` header has the token.
pub(crate) fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let value = value.as_bytes();
    match value.split_at_checked(7) {
        Some((scheme, shown)) if scheme.eq_ignore_ascii_case(b"bearer ") => {
            is_same_secret(shown.trim_ascii(), token.as_bytes())
        }
        _ => false,
    }
}

/// Compares in the same time for a near miss and a far one. The length is no
/// secret.
fn is_same_secret(shown: &[u8], token: &[u8]) -> bool {
    let mut differ = u8::from(shown.len() != token.len());
    for (at, byte) in token.iter().enumerate() {
        differ |= std::hint::black_box(byte ^ shown.get(at).unwrap_or(&0));
    }
    std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests;
