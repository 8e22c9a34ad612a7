//! Serves a page for a person's browser on the loopback, and the data behind
//! it. Compiled files are sent to everyone who calls us by our own name, data
//! only to those who show the token; no cookie is set, since browsers send
//! cookies of one port to all others.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode};
use tokio::sync::Semaphore;

use crate::ServeError;
use crate::http::{
    HttpAnswer, has_token, plain_answer, refuse_foreign_host, refuse_too_long, run_on_loopback,
    serve_connections,
};

/// Upper bound for the body of a request: a document, as JSON.
const MAX_BODY_BYTES: usize = 8_000_000;

/// Upper bound for questions that are answered at one time; more wait.
const MAX_CONCURRENT_QUESTIONS: usize = 4;

/// Prefix of the paths that need the token.
const DATA_PATH: &str = "/api/";

/// Headers of every answer. A page may run our scripts and ask us, and nothing
/// else; text becomes HTML in the one place that has the policy `rendered`.
const ANSWER_HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types rendered",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    (
        "permissions-policy",
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
];

/// Port and token of a page.
pub struct PageOptions {
    /// The port; 0 takes any free one.
    pub port: u16,
    /// The token that the page shows as `Authorization: Bearer …`; see
    /// [`crate::new_token`].
    pub token: String,
}

/// File that is compiled in, with the path under which it is served.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Path of the request that it answers.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

/// Method of a request for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMethod {
    /// Request that changes nothing.
    Get,
    /// Request that may change files.
    Post,
}

/// Request for data.
#[derive(Debug)]
pub struct PageRequest {
    /// Method of the request.
    pub method: PageMethod,
    /// The part of the path behind `/api/`.
    pub name: String,
    /// The query as it was sent, without the question mark.
    pub query: String,
    /// Body of the request; empty where there is none.
    pub body: Vec<u8>,
}

/// Answer to a request for data.
#[derive(Debug)]
pub struct PageReply {
    /// Status code of HTTP.
    pub status: u16,
    /// Media type of the body.
    pub kind: &'static str,
    /// Body of the answer.
    pub body: Cow<'static, [u8]>,
}

/// Serves the page on 127.0.0.1 until a signal comes. `answer` may block;
/// `ready` is called with the address once connections are taken.
///
/// # Errors
///
/// Fails if the port is taken, the token is empty, or no runtime can be built.
pub fn serve_page<F>(
    assets: &'static [Asset],
    answer: F,
    options: PageOptions,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError>
where
    F: Fn(PageRequest) -> PageReply + Send + Sync + 'static,
{
    let PageOptions { port, token } = options;
    run_on_loopback(port, &token, ready, async |listener, address, stop| {
        let door = Arc::new(PageEndpoint {
            token: token.clone(),
            port: address.port(),
            assets,
            answer: Arc::new(answer),
            places: Semaphore::new(MAX_CONCURRENT_QUESTIONS),
        });
        let answer = move |request| {
            let door = door.clone();
            async move { door.answer_request(request).await }
        };
        serve_connections(listener, answer, stop, async {}).await;
    })
}

struct PageEndpoint<F> {
    token: String,
    port: u16,
    assets: &'static [Asset],
    answer: Arc<F>,
    places: Semaphore,
}

impl<F: Fn(PageRequest) -> PageReply + Send + Sync + 'static> PageEndpoint<F> {
    async fn answer_request(&self, request: Request<Incoming>) -> HttpAnswer {
        let mut answer = match self.refuse_request(&request) {
            Some(refused) => refused,
            None => self.answer_admitted(request).await,
        };
        for (name, value) in ANSWER_HEADERS {
            let name = HeaderName::from_static(name);
            answer
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        answer
    }

    /// Returns the answer to a request that fails a check.
    fn refuse_request<B>(&self, request: &Request<B>) -> Option<HttpAnswer> {
        let headers = request.headers();
        if let Some(refused) = refuse_foreign_host(request.uri(), headers) {
            return Some(refused);
        }
        if !is_from_our_page(headers, self.port) {
            let why = "Origin is not this page";
            return Some(plain_answer(StatusCode::FORBIDDEN, why));
        }
        if !request.uri().path().starts_with(DATA_PATH) {
            return None;
        }
        if !has_token(headers, &self.token) {
            let why = "The token of the address that `memory-forge view` printed is needed";
            let mut refused = plain_answer(StatusCode::UNAUTHORIZED, why);
            let challenge = HeaderValue::from_static("Bearer realm=\"memory-forge\"");
            refused.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return Some(refused);
        }
        refuse_too_long(headers, MAX_BODY_BYTES)
    }

    async fn answer_admitted(&self, request: Request<Incoming>) -> HttpAnswer {
        let method = match *request.method() {
            hyper::Method::GET => PageMethod::Get,
            hyper::Method::POST => PageMethod::Post,
            _ => return plain_answer(StatusCode::METHOD_NOT_ALLOWED, "Only GET and POST"),
        };
        let Some(name) = request
            .uri()
            .path()
            .strip_prefix(DATA_PATH)
            .map(str::to_owned)
        else {
            return match method {
                PageMethod::Get => self.asset_answer(request.uri().path()),
                PageMethod::Post => plain_answer(StatusCode::METHOD_NOT_ALLOWED, "Only GET"),
            };
        };
        let json = request.headers().get(CONTENT_TYPE).is_some_and(|kind| {
            let kind = kind.to_str().unwrap_or_default();
            kind.split(';').next().map(str::trim) == Some("application/json")
        });
        if method == PageMethod::Post && !json {
            let why = "A request that writes is application/json";
            return plain_answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
        }
        let query = request.uri().query().unwrap_or_default().to_owned();
        // A body without an announced length is cut off here.
        let Ok(body) = Limited::new(request.into_body(), MAX_BODY_BYTES)
            .collect()
            .await
        else {
            return plain_answer(StatusCode::PAYLOAD_TOO_LARGE, "The message is too long");
        };
        let page_request = PageRequest {
            method,
            name,
            query,
            body: body.to_bytes().to_vec(),
        };
        let _place = self.places.acquire().await;
        let work = self.answer.clone();
        match tokio::task::spawn_blocking(move || work(page_request)).await {
            Ok(reply) => to_answer(reply),
            Err(_) => plain_answer(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Memory Forge has a defect; its message is on standard error",
            ),
        }
    }

    fn asset_answer(&self, path: &str) -> HttpAnswer {
        let path = if path == "/" { "/index.html" } else { path };
        match self.assets.iter().find(|asset| asset.path == path) {
            Some(asset) => to_answer(PageReply {
                status: 200,
                kind: asset.kind,
                body: asset.bytes.into(),
            }),
            None => plain_answer(StatusCode::NOT_FOUND, "There is nothing here"),
        }
    }
}

fn to_answer(reply: PageReply) -> HttpAnswer {
    let body = match reply.body {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    };
    let mut answer = hyper::Response::new(Full::new(body).boxed());
    *answer.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static(reply.kind);
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// Returns `true` if our own page sent the request, or no page at all because a
/// person typed the address. Other servers on the loopback have pages too.
fn is_from_our_page(headers: &HeaderMap, port: u16) -> bool {
    let ours = ["127.0.0.1", "localhost"].map(|name| format!("http://{name}:{port}"));
    let origin = |origin: &HeaderValue| ours.iter().any(|it| it.as_bytes() == origin.as_bytes());
    let site = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
    // A missing header passes: older browsers do not send it, and data needs
    // the token anyway.
    headers.get_all(ORIGIN).iter().all(origin)
        && (headers.get_all("sec-fetch-site").iter().all(site) || is_navigation(headers))
}

/// Returns `true` for a person who follows a link to the page, which holds no
/// data itself.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &[u8]| headers.get(name).is_some_and(|it| it == value);
    is("sec-fetch-mode", b"navigate") && is("sec-fetch-dest", b"document")
}

#[cfg(test)]
mod tests;
