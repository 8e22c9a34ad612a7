use std::io::Cursor;
use std::time::Instant;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerConfig,
};
use rmcp::service::RequestContext;
use serde_json::json;

use super::*;

/// One tool that takes as many milliseconds as its name says.
struct Sleeper;

impl ServerHandler for Sleeper {
    fn get_info(&self) -> ServerConfig {
        let info = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "sleeper", "version": "0"},
        });
        serde_json::from_value(info).expect("it is the specification's shape")
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let time = request.name.parse().unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(time)).await;
        let slept = format!("slept {time}");
        Ok(CallToolResult::success(vec![ContentBlock::text(slept)]).into())
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("not poisoned")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All that is answered to this input until the server ends by itself.
fn answers(input: impl Read + Send + 'static) -> Vec<u8> {
    let output = Kept::default();
    let kept = output.clone();
    let runtime = crate::build_runtime().expect("a runtime can be had");
    let served = runtime.block_on(serve_pipes(Sleeper, input, output));
    served.expect("an end of input is no error");
    std::mem::take(&mut *kept.0.lock().expect("not poisoned"))
}

/// One answer a line, as JSON.
fn lines(input: impl Into<Vec<u8>>) -> Vec<Value> {
    let text = answers(Cursor::new(input.into()));
    let parsed = text.split_inclusive(|&byte| byte == b'\n').map(|line| {
        assert!(line.ends_with(b"\n"), "{}", String::from_utf8_lossy(line));
        serde_json::from_slice(line).expect("nothing but JSON comes out")
    });
    parsed.collect()
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn call(id: &str, time: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{time}","arguments":{{}}}}}}"#
    )
}

/// `id: code` of errors and `id: ok` of results, in the order of ids.
fn told(answers: &[Value]) -> Vec<String> {
    let mut told: Vec<String> = answers
        .iter()
        .map(|answer| match answer["error"]["code"].as_i64() {
            Some(code) => format!("{}: {code}", answer["id"]),
            None => format!("{}: ok", answer["id"]),
        })
        .collect();
    told.sort();
    told
}

#[track_caller]
fn check(messages: &[&str], expect: &[&str]) {
    let input = messages.join("\n") + "\n";
    assert_eq!(told(&lines(input)), expect, "{messages:?}");
}

#[test]
fn both_eras_are_answered() {
    let answers = lines(format!("{INITIALIZE}\n{INITIALIZED}\n{}\n", call("1", 0)));
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["content"][0]["text"], "slept 0");
    assert!(answers[1]["result"].get("resultType").is_none());

    let discover = format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{{"_meta":{META}}}}}"#
    );
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{{"name":"0","_meta":{META}}}}}"#
    );
    let answers = lines(format!("{discover}\n{call}\n{INITIALIZED}\n"));
    let versions = answers[0]["result"]["supportedVersions"].as_array();
    assert!(versions.is_some_and(|versions| versions.contains(&json!("2026-07-28"))));
    assert_eq!(answers[1]["result"]["resultType"], "complete");
}

/// The protocol: a known method whose parameters are missing is −32602, and
/// −32601 is for methods that do not exist.
#[test]
fn initialize_without_params_is_refused_as_invalid_and_may_be_repeated() {
    let bare = r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#;
    let empty = r#"{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}"#;
    let unknown = r#"{"jsonrpc":"2.0","id":9,"method":"initialise"}"#;
    check(
        &[bare, empty, unknown, INITIALIZE, INITIALIZED],
        &["0: ok", "7: -32602", "8: -32602", "9: -32601"],
    );
}

#[test]
fn a_probe_before_the_handshake_is_answered_and_life_goes_on() {
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#;
    let early = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":5,"result":{}}"#;
    let foreign = format!(
        r#"{{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{{"_meta":{}}}}}"#,
        META.replace("2026-07-28", "2099-01-01")
    );
    check(
        &[
            unknown,
            early,
            ping,
            cancel,
            answer,
            INITIALIZED,
            &foreign,
            cancel,
            INITIALIZE,
            unknown,
        ],
        &[
            "0: ok",
            "1: -32601",
            "1: -32601",
            "2: -32602",
            "3: ok",
            "6: -32022",
        ],
    );
}

#[test]
fn what_is_no_message_is_answered_as_json_rpc_has_it() {
    let deep = "[".repeat(100_000);
    let cases = [
        ("hello", "null: -32700"),
        ("{\"id\":1", "null: -32700"),
        ("{\"a\":\"\u{0}\"}", "null: -32700"),
        (&deep, "null: -32700"),
        ("7", "null: -32600"),
        ("{}", "null: -32600"),
        (r#"{"id":4,"method":7}"#, "4: -32600"),
        (r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#, "4: -32600"),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            "null: -32600",
        ),
        ("[]", "null: -32600"),
    ];
    for (line, expect) in cases {
        let expect = [INITIALIZE_TOLD, expect];
        let found = told(&lines(format!("{line}\n{INITIALIZE}\n")));
        assert_eq!(found, expect, "{:.80}", line);
    }
    // A parse error has no id, as the protocol has it.
    let answers = lines("hello\n");
    assert!(answers[0].get("id").is_none(), "{answers:?}");
}

const INITIALIZE_TOLD: &str = "0: ok";

#[test]
fn bytes_that_are_no_text_are_survived() {
    let mut input = b"\xff\xfe{\"id\":1}\x80\n\0\0\0\n".to_vec();
    input.extend(INITIALIZE.as_bytes());
    input.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}\n");
    input.extend(call("2", 0).as_bytes());
    let found = told(&lines(input));
    assert_eq!(
        found,
        [
            "0: ok",
            "2: ok",
            "null: -32700",
            "null: -32700",
            "null: -32700"
        ]
    );
}

#[test]
fn wrong_notifications_are_not_answered() {
    check(
        &[
            INITIALIZE,
            r#"{"jsonrpc":"2.0","method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","method":7}"#,
        ],
        &["0: ok"],
    );
}

#[test]
fn m18_answers_come_in_the_framing_of_the_question() {
    let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let input = [
        framed(INITIALIZE),
        framed(INITIALIZED),
        framed(&call("1", 0)),
    ]
    .concat();
    let output = answers(Cursor::new(input.into_bytes()));
    let mut framer = FrameReader::new(MAX_MESSAGE_BYTES);
    let mut frames = Vec::new();
    framer.feed_bytes(&output, &mut frames);
    let ids: Vec<Value> = frames
        .iter()
        .map(|frame| match frame {
            MessageFrame::Message {
                text,
                framing: MessageFraming::Headers,
            } => serde_json::from_slice::<Value>(text).expect("it is JSON")["id"].clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids, [0, 1]);
}

#[test]
fn a_message_over_the_limit_is_left_out_and_answered() {
    let filler = "x".repeat(MAX_MESSAGE_BYTES);
    let long =
        format!(r#"{{"method":"tools/call","params":{{"a":"{filler}"}},"jsonrpc":"2.0","id":7}}"#);
    check(
        &[INITIALIZE, &long, &call("8", 0)],
        &["0: ok", "7: -32600", "8: ok"],
    );
}

#[test]
fn what_was_asked_is_answered_before_the_end() {
    let begun = Instant::now();
    let slow = call("1", 300);
    check(
        &[INITIALIZE, &slow, &call("2", 0)],
        &["0: ok", "1: ok", "2: ok"],
    );
    assert!(begun.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_cancelled_request_and_a_subscription_do_not_keep_it() {
    let begun = Instant::now();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let listen =
        r#"{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{}}}"#;
    let found = told(&lines(
        [INITIALIZE, &call("1", 600_000), cancel, listen].join("\n"),
    ));
    assert_eq!(found[0], "0: ok");
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[test]
fn an_id_in_use_is_refused_and_the_first_request_answered() {
    let slow = call("1", 200);
    check(
        &[INITIALIZE, &slow, &call("1", 0)],
        &["0: ok", "1: -32600", "1: ok"],
    );
}

#[test]
fn more_requests_than_fit_are_all_answered() {
    let mut messages = vec![INITIALIZE.to_owned()];
    messages.extend((1..=500).map(|id| call(&id.to_string(), id % 3)));
    let answers = lines(messages.join("\n"));
    assert_eq!(answers.len(), 501);
    assert!(answers.iter().all(|answer| answer.get("error").is_none()));
}

#[test]
fn a_batch_is_answered_with_a_batch() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let batch = format!(
        "[{ping},{},{INITIALIZED},7,{}]",
        call("2", 50),
        call("2", 0)
    );
    let answers = lines([INITIALIZE, INITIALIZED, &batch, &call("3", 0)].join("\n"));
    assert_eq!(answers.len(), 3, "{answers:?}");
    let whole = answers
        .iter()
        .find_map(Value::as_array)
        .expect("one is a batch");
    assert_eq!(told(whole), ["1: ok", "2: -32600", "2: ok", "null: -32600"]);

    check(&[INITIALIZE, &format!("[{INITIALIZED}]")], &["0: ok"]);
    check(
        &[INITIALIZE, &format!("[{}]", [ping; 65].join(","))],
        &["0: ok", "null: -32600"],
    );
    let answers = lines([&format!("[{INITIALIZE}]"), INITIALIZE].join("\n"));
    assert_eq!(told(answers[0].as_array().expect("a batch")), ["0: -32600"]);
    assert_eq!(told(&answers[1..]), ["0: ok"]);
}

/// Takes so many bytes and then is closed.
struct Closing(usize);

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_output_ends_it_quietly_with_the_input_open() {
    let (reader, mut writer) = io::pipe().expect("a pipe can be had");
    let more = [INITIALIZE, &call("1", 0), &call("2", 0), "garbage\n"].join("\n");
    writer
        .write_all(more.as_bytes())
        .expect("the pipe has room");
    let runtime = crate::build_runtime().expect("a runtime can be had");
    let ended = runtime.block_on(async {
        let served = serve_pipes(Sleeper, reader, Closing(300));
        tokio::time::timeout(Duration::from_secs(20), served).await
    });
    ended
        .expect("it does not wait for more input")
        .expect("it is no error");
    drop(writer);
}

mod any_input {
    use proptest::prelude::*;

    use super::*;

    /// What clients send, cut up and mixed with what they do not.
    fn wire() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            3 => Just(INITIALIZE.as_bytes().to_vec()),
            1 => Just(INITIALIZED.as_bytes().to_vec()),
            3 => (0..4_u32).prop_map(|id| call(&id.to_string(), 0).into_bytes()),
            6 => Just(b"\n".to_vec()),
            1 => Just(b"Content-Length: 20\r\n\r\n".to_vec()),
            1 => Just(b"[".to_vec()),
            1 => Just(b"]".to_vec()),
            1 => Just(b",".to_vec()),
            2 => prop::collection::vec(any::<u8>(), 0..30),
            1 => "\\{\"jsonrpc\":\"2.0\",\"(id|method)\":[0-9\"a-z/]{0,8}\\}".prop_map(String::into_bytes),
        ];
        prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn ends_and_only_frames_come_out(bytes in wire()) {
            let output = answers(Cursor::new(bytes));
            let mut framer = FrameReader::new(MAX_MESSAGE_BYTES);
            let mut frames = Vec::new();
            framer.feed_bytes(&output, &mut frames);
            framer.finish(&mut frames);
            for frame in frames {
                let MessageFrame::Message { text, .. } = frame else { panic!("{frame:?}") };
                prop_assert!(serde_json::from_slice::<Value>(&text).is_ok());
            }
        }
    }
}
