//! A stand-in for the model's side of the protocols that clients speak:
//! Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini. It
//! answers everything with one short sentence and keeps what it was asked.
//! A test can have it call tools first, where the client offers them.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

/// What every request is answered with.
pub(crate) const ANSWER: &str = "Understood, nothing else to do.";

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl Request {
    /// All text in the request, one string after another.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        collect(&self.body, &mut text);
        text
    }
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(part) => {
            text.push_str(part);
            text.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, text)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, text)),
        _ => {}
    }
}

/// Listens until the test ends.
pub(crate) struct StandIn {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    wishes: Arc<Mutex<Wishes>>,
}

/// The calls that the model wants to make, the next one first.
#[derive(Default)]
struct Wishes {
    waiting: VecDeque<Wish>,
    /// Calls that were made: clients tell calls apart by their ids.
    made: usize,
}

/// A tool that the model wants to call, and has not called yet.
struct Wish {
    /// As our server names it; clients put their own words before.
    name: &'static str,
    arguments: Value,
    /// Requests with these words do not get it.
    not_where: Option<&'static str>,
}

impl StandIn {
    pub(crate) fn start() -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let wishes = Arc::default();
        let (kept, wished) = (Arc::clone(&seen), Arc::clone(&wishes));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, wished) = (Arc::clone(&kept), Arc::clone(&wished));
                // A client that hangs up in the middle is its own affair.
                std::thread::spawn(move || drop(serve(stream, &kept, &wished)));
            }
        });
        StandIn {
            address,
            seen,
            wishes,
        }
    }

    /// The next answer that can be is a call of this tool.
    pub(crate) fn will_call(&self, name: &'static str, arguments: Value) {
        self.will_call_in_turn(name, [arguments]);
    }

    /// The next answers that can be are calls of this tool, one after another.
    pub(crate) fn will_call_in_turn(
        &self,
        name: &'static str,
        arguments: impl IntoIterator<Item = Value>,
    ) {
        let wishes = arguments.into_iter().map(|arguments| Wish {
            name,
            arguments,
            not_where: None,
        });
        lock(&self.wishes).waiting = wishes.collect();
    }

    /// After the calls so far, the model of a helper wants to call this tool:
    /// the one that was not asked with these words.
    pub(crate) fn will_call_in_a_helper(
        &self,
        name: &'static str,
        arguments: Value,
        words: &'static str,
    ) {
        lock(&self.wishes).waiting.push_back(Wish {
            name,
            arguments,
            not_where: Some(words),
        });
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The questions to a model so far, oldest first.
    pub(crate) fn questions(&self) -> Vec<Request> {
        let seen = lock(&self.seen);
        let asks = |request: &&Request| protocol(&request.path).is_some();
        seen.iter().filter(asks).cloned().collect()
    }

    /// Forgets what was asked before.
    pub(crate) fn forget(&self) {
        lock(&self.seen).clear();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("no thread panics while it holds this")
}

fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<Request>>,
    wishes: &Mutex<Wishes>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        match header.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(("transfer-encoding", value)) => chunked = value.contains("chunked"),
            Some(("expect", _)) => stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    if chunked {
        while let Some(chunk) = chunk(&mut reader)? {
            body.extend(chunk);
        }
    } else {
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
    }
    let length = body.len();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    lock(seen).push(Request {
        path: path.clone(),
        body: body.clone(),
    });
    let call = called(&path, &body, &mut lock(wishes));
    let (status, kind, text) = answer(&path, &body, length, call.as_ref());
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

/// The next part of a body that comes in parts; none after the last.
fn chunk(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut size = String::new();
    reader.read_line(&mut size)?;
    let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
    let mut data = vec![0; size + 2];
    reader.read_exact(&mut data)?;
    data.truncate(size);
    Ok((size > 0).then_some(data))
}

#[derive(Clone, Copy)]
enum Protocol {
    Messages,
    Responses,
    Chat,
    Gemini { stream: bool },
}

fn protocol(path: &str) -> Option<Protocol> {
    let path = path.split('?').next().unwrap_or(path);
    Some(match path.rsplit('/').next().unwrap_or(path) {
        "messages" => Protocol::Messages,
        "responses" => Protocol::Responses,
        "completions" => Protocol::Chat,
        last if last.ends_with(":streamGenerateContent") => Protocol::Gemini { stream: true },
        last if last.ends_with(":generateContent") => Protocol::Gemini { stream: false },
        _ => return None,
    })
}

type Answer = (&'static str, &'static str, String);

/// A call of a tool that the client offers, in the client's own words.
struct Call {
    name: String,
    /// Differs from that of every other call.
    id: String,
    /// The group that the tool is in, where the client has groups.
    group: Option<String>,
    arguments: Value,
}

/// The wished call, once the client offers its tool.
fn called(path: &str, body: &Value, wishes: &mut Wishes) -> Option<Call> {
    protocol(path)?;
    let wish = wishes.waiting.front()?;
    let mut text = String::new();
    collect(&body["messages"], &mut text);
    if wish.not_where.is_some_and(|words| text.contains(words)) {
        return None;
    }
    let wished = wish.name;
    let tools = body["tools"].as_array()?;
    // Plain tools, tools inside of a group, and Gemini's and Chat's wrappings.
    let inside = |tool: &Value| -> Vec<(Option<String>, Value)> {
        for key in ["tools", "functionDeclarations"] {
            if let Some(members) = tool[key].as_array() {
                let group = tool["name"].as_str().map(str::to_owned);
                let member = |member: &Value| (group.clone(), member.clone());
                return members.iter().map(member).collect();
            }
        }
        let function = tool.get("function").unwrap_or(tool);
        vec![(None, function.clone())]
    };
    let mut offered = tools.iter().flat_map(inside);
    let (group, name) = offered.find_map(|(group, tool)| {
        let name = tool["name"].as_str()?;
        name.ends_with(wished).then(|| (group, name.to_owned()))
    })?;
    let arguments = wishes.waiting.pop_front()?.arguments;
    wishes.made += 1;
    Some(Call {
        name,
        id: format!("call_{}", wishes.made),
        group,
        arguments,
    })
}

/// Tokens are counted by length, so that long conversations are told from
/// short ones: clients compact by what they are told here.
fn answer(path: &str, body: &Value, length: usize, call: Option<&Call>) -> Answer {
    let stream = body["stream"] == true;
    let tokens = length / 4;
    match protocol(path) {
        Some(Protocol::Messages) => messages(stream, tokens, call),
        Some(Protocol::Responses) => responses(stream, tokens, call),
        Some(Protocol::Chat) => chat(stream, tokens, call),
        Some(Protocol::Gemini { stream }) => gemini(stream, tokens, call),
        None if path.contains("count_tokens") => whole(&json!({"input_tokens": tokens})),
        None if path.contains(":countTokens") => whole(&json!({"totalTokens": tokens})),
        None => ("404 Not Found", "application/json", "{}".to_owned()),
    }
}

fn whole(value: &Value) -> Answer {
    ("200 OK", "application/json", value.to_string())
}

/// Server-sent events. Those that carry a `type` are also named by it.
fn events(events: &[Value]) -> Answer {
    let text = events.iter().map(|event| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    });
    ("200 OK", "text/event-stream", text.collect())
}

fn messages(stream: bool, tokens: usize, call: Option<&Call>) -> Answer {
    let mut message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": tokens, "output_tokens": 1},
    });
    let (block, empty, delta, reason) = match call {
        None => (
            json!({"type": "text", "text": ANSWER}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": ANSWER}),
            "end_turn",
        ),
        Some(call) => {
            let block = |input: &Value| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input});
            let json = call.arguments.to_string();
            (
                block(&call.arguments),
                block(&json!({})),
                json!({"type": "input_json_delta", "partial_json": json}),
                "tool_use",
            )
        }
    };
    if !stream {
        message["content"] = json!([block]);
        message["stop_reason"] = json!(reason);
        return whole(&message);
    }
    events(&[
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "usage": {"output_tokens": 5},
            "delta": {"stop_reason": reason, "stop_sequence": null}}),
        json!({"type": "message_stop"}),
    ])
}

fn responses(stream: bool, tokens: usize, call: Option<&Call>) -> Answer {
    let item = match call {
        None => json!({
            "type": "message", "id": "m1", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
        }),
        Some(call) => {
            let mut item = json!({
                "type": "function_call", "id": "f1", "status": "completed", "call_id": call.id,
                "name": call.name, "arguments": call.arguments.to_string(),
            });
            if let Some(group) = &call.group {
                item["namespace"] = json!(group);
            }
            item
        }
    };
    let response = json!({
        "id": "r1", "object": "response", "status": "completed", "model": "stand-in",
        "output": [item],
        "usage": {
            "input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 5,
        },
    });
    if !stream {
        return whole(&response);
    }
    let mut started = response.clone();
    started["status"] = json!("in_progress");
    started["output"] = json!([]);
    let mut parts = vec![json!({"type": "response.created", "response": started})];
    if call.is_none() {
        let mut empty = item.clone();
        empty["content"] = json!([]);
        parts.push(json!({"type": "response.output_item.added", "output_index": 0, "item": empty}));
        parts.push(
            json!({"type": "response.output_text.delta", "item_id": "m1", "output_index": 0,
                "content_index": 0, "delta": ANSWER}),
        );
    }
    parts.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    parts.push(json!({"type": "response.completed", "response": response}));
    events(&parts)
}

fn chat(stream: bool, tokens: usize, call: Option<&Call>) -> Answer {
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": 5,
        "total_tokens": tokens + 5});
    let part = |object: &str, choice: Value, usage: Value| {
        json!({"id": "c1", "object": object, "created": 1, "model": "stand-in",
            "choices": [choice], "usage": usage})
    };
    let (message, reason) = match call {
        None => (json!({"role": "assistant", "content": ANSWER}), "stop"),
        Some(call) => {
            let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
            let call = json!({"index": 0, "id": call.id, "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
    };
    if !stream {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        return whole(&part("chat.completion", choice, usage));
    }
    let first = json!({"index": 0, "delta": message, "finish_reason": null});
    let last = json!({"index": 0, "delta": {}, "finish_reason": reason});
    let (status, kind, text) = events(&[
        part("chat.completion.chunk", first, Value::Null),
        part("chat.completion.chunk", last, usage),
    ]);
    (status, kind, format!("{text}data: [DONE]\n\n"))
}

fn gemini(stream: bool, tokens: usize, call: Option<&Call>) -> Answer {
    let part = match call {
        None => json!({"text": ANSWER}),
        Some(call) => json!({"functionCall": {"name": call.name, "args": call.arguments}}),
    };
    let content = json!({"role": "model", "parts": [part]});
    let response = json!({
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": tokens, "candidatesTokenCount": 5,
            "totalTokenCount": tokens + 5,
        },
        "modelVersion": "stand-in",
    });
    if stream {
        events(&[response])
    } else {
        whole(&response)
    }
}
