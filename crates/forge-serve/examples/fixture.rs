//! The server that the MCP project's conformance suite asks for, on the same
//! transports as the real one: tools, resources and prompts by the names and
//! with the answers that its scenarios expect. For tests only.
//!
//! `fixture` serves standard input and output; `fixture --http` serves HTTP,
//! prints its address and its token on standard output, and goes on.

#![expect(
    deprecated,
    reason = "the suite asks for logging and sampling in older eras"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, InitializeResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ReadResourceRequestParams,
    ReadResourceResponse, ServerRequest, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext, SubscriptionSink};
use rmcp::{ServerHandler, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV header without a sample.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

fn main() -> Result<(), forge_serve::ServeError> {
    let fixture = Fixture::default();
    if std::env::args().nth(1).as_deref() != Some("--http") {
        return forge_serve::serve_stdio(fixture);
    }
    let token = forge_serve::new_token();
    let options = forge_serve::HttpOptions {
        port: 0,
        token: token.clone(),
    };
    forge_serve::serve_http(
        move || fixture.clone(),
        options,
        |address| {
            println!("http://{address}/mcp {token}");
        },
    )
}

#[derive(Clone, Default)]
struct Fixture {
    listeners: Arc<Mutex<Vec<SubscriptionSink>>>,
}

type Context = RequestContext<RoleServer>;

impl ServerHandler for Fixture {
    fn get_info(&self) -> InitializeResult {
        made(json!({
            "protocolVersion": "2025-11-25",
            "serverInfo": {"name": "fixture", "version": "0.0.0"},
            "capabilities": {
                "completions": {},
                "logging": {},
                "prompts": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "tools": {"listChanged": true},
            },
        }))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(listed("tools", json!(tools())))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = tools().into_iter().find(|tool| tool["name"] == name)?;
        Some(made(tool))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call {
            arguments: json!(request.arguments),
            responses: json!(request.input_responses),
            state: request.request_state,
            context,
        };
        let answer = match &*request.name {
            "test_trigger_tool_change" => self.tell(true).await,
            "test_trigger_prompt_change" => self.tell(false).await,
            name => call.tool(name).await?,
        };
        Ok(match answer["resultType"].as_str() {
            Some("input_required") => made::<InputRequiredResult>(answer).into(),
            _ => CallToolResponse::Complete(made(answer)),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |uri: &str, mime: &str| json!({"uri": uri, "name": uri, "description": "A resource", "mimeType": mime});
        let all = [
            resource("test://static-text", "text/plain"),
            resource("test://static-binary", "image/png"),
            resource("test://watched-resource", "text/plain"),
        ];
        Ok(listed("resources", json!(all)))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = json!({
            "uriTemplate": "test://template/{id}/data",
            "name": "template",
            "description": "Data of an id",
            "mimeType": "application/json",
        });
        Ok(listed("resourceTemplates", json!([template])))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let text = |mime: &str, text: &str| json!({"uri": uri, "mimeType": mime, "text": text});
        let id = uri.strip_prefix("test://template/");
        let contents = match (uri, id.and_then(|rest| rest.strip_suffix("/data"))) {
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                text("application/json", &data.to_string())
            }
            ("test://static-text", _) => text(
                "text/plain",
                "This is the content of the static text resource.",
            ),
            ("test://static-binary", _) => {
                json!({"uri": uri, "mimeType": "image/png", "blob": PNG})
            }
            ("test://watched-resource", _) => text("text/plain", "Watched."),
            _ => {
                let data = json!({"uri": uri});
                return Err(ErrorData::resource_not_found(
                    "Resource not found",
                    Some(data),
                ));
            }
        };
        Ok(ReadResourceResponse::Complete(listed(
            "contents",
            json!([contents]),
        )))
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        self.listeners.lock().expect("not poisoned").push(sink);
        context.cancelled().await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = |name: &str| json!({"name": name, "description": name, "required": true});
        let prompt = |name: &str, arguments: Value| json!({"name": name, "description": "A prompt", "arguments": arguments});
        let all = [
            prompt("test_simple_prompt", json!([])),
            prompt(
                "test_prompt_with_arguments",
                json!([argument("arg1"), argument("arg2")]),
            ),
            prompt(
                "test_prompt_with_embedded_resource",
                json!([argument("resourceUri")]),
            ),
            prompt("test_prompt_with_image", json!([])),
            prompt("test_input_required_result_prompt", json!([])),
        ];
        Ok(listed("prompts", json!(all)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = json!(request.arguments);
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let responses = json!(request.input_responses);
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            ))],
            "test_prompt_with_embedded_resource" => vec![
                embedded(
                    &argument("resourceUri"),
                    "text/plain",
                    "Embedded resource content for testing.",
                ),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
            "test_input_required_result_prompt" => match accepted(&responses, "user_context") {
                Some(content) => vec![text(&format!("Context: {}", content["context"]))],
                None => {
                    let ask = elicit("What context should the prompt use?", "context", "string");
                    let answer = input_required(json!({"user_context": ask}), None);
                    return Ok(made::<InputRequiredResult>(answer).into());
                }
            },
            name => {
                let why = format!("Unknown prompt: {name}");
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        let messages: Vec<Value> = contents
            .into_iter()
            .map(|content| json!({"role": "user", "content": content}))
            .collect();
        Ok(GetPromptResponse::Complete(made(
            json!({"resultType": "complete", "messages": messages}),
        )))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(made(
            json!({"resultType": "complete", "completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}),
        ))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}

impl Fixture {
    async fn tell(&self, of_tools: bool) -> Value {
        let listeners = self.listeners.lock().expect("not poisoned").clone();
        for listener in listeners {
            // Those that have gone or did not ask for this refuse it.
            let _ = if of_tools {
                listener.notify_tool_list_changed().await
            } else {
                listener.notify_prompt_list_changed().await
            };
        }
        content([text("Told.")])
    }
}

/// One call of a tool, with what the client sent along.
struct Call {
    arguments: Value,
    responses: Value,
    state: Option<String>,
    context: Context,
}

impl Call {
    async fn tool(&self, name: &str) -> Result<Value, ErrorData> {
        Ok(match name {
            "test_simple_text" => content([text("This is a simple text response for testing.")]),
            "test_image_content" => content([image()]),
            "test_audio_content" => {
                content([json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})])
            }
            "test_embedded_resource" => content([embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )]),
            "test_multiple_content_types" => content([
                text("Multiple content types test:"),
                image(),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ]),
            "test_error_handling" => json!({
                "resultType": "complete",
                "isError": true,
                "content": [text("This tool intentionally returns an error for testing")],
            }),
            "test_tool_with_logging" => self.with_logging().await?,
            "test_tool_with_progress" => self.with_progress().await?,
            // Says nothing, as nobody asked for a log.
            "test_logging_tool" => content([text("Nothing was logged.")]),
            "test_custom_headers" | "json_schema_2020_12_tool" => {
                content([text(&self.arguments.to_string())])
            }
            "test_sampling" => self.sampling().await?,
            "test_elicitation" => self.elicitation().await?,
            "test_elicitation_sep1034_defaults" => self.elicit_fields(defaults()).await?,
            "test_elicitation_sep1330_enums" => self.elicit_fields(enums()).await?,
            "test_reconnection" => self.reconnection().await,
            "test_missing_capability" => {
                let needed = made(json!({"sampling": {}}));
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            "test_streaming_elicitation" => input_required(
                json!({"user_name": elicit("What is your name?", "name", "string")}),
                None,
            ),
            _ => self.with_input(name)?,
        })
    }

    async fn with_logging(&self) -> Result<Value, ErrorData> {
        let lines = [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
        ];
        for line in lines {
            let message = json!({"level": "info", "data": line});
            let told = self.peer().notify_logging_message(made(message)).await;
            told.map_err(failed)?;
            pause().await;
        }
        Ok(content([text("Logged.")]))
    }

    async fn with_progress(&self) -> Result<Value, ErrorData> {
        let token: Option<ProgressToken> = self.context.meta.get_progress_token();
        for progress in [0.0, 50.0, 100.0] {
            if let Some(token) = &token {
                let progress = ProgressNotificationParam::new(token.clone(), progress);
                let told = self
                    .peer()
                    .notify_progress(progress.with_total(100.0))
                    .await;
                told.map_err(failed)?;
            }
            pause().await;
        }
        Ok(content([text("Done.")]))
    }

    async fn sampling(&self) -> Result<Value, ErrorData> {
        let request = sample(self.arguments["prompt"].as_str().unwrap_or_default(), 100);
        let answer = self
            .peer()
            .create_message(made(request["params"].clone()))
            .await;
        let answer = json!(answer.map_err(failed)?);
        let said = &answer["content"]["text"];
        Ok(content([text(&format!(
            "LLM response: {}",
            said.as_str().unwrap_or_default()
        ))]))
    }

    async fn elicitation(&self) -> Result<Value, ErrorData> {
        let message = self.arguments["message"].as_str().unwrap_or_default();
        let fields = json!({
            "type": "object",
            "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            },
            "required": ["username", "email"],
        });
        let answer = self.elicit(message, fields).await?;
        let said = format!(
            "User response: action: {}, content: {}",
            answer["action"], answer["content"]
        );
        Ok(content([text(&said)]))
    }

    async fn elicit_fields(&self, properties: Value) -> Result<Value, ErrorData> {
        let fields = json!({"type": "object", "properties": properties});
        let answer = self.elicit("Please fill this in", fields).await?;
        let action = answer["action"].as_str().unwrap_or_default();
        let said = format!(
            "Elicitation completed: action={action}, content={}",
            answer["content"]
        );
        Ok(content([text(&said)]))
    }

    async fn elicit(&self, message: &str, fields: Value) -> Result<Value, ErrorData> {
        let request = json!({"mode": "form", "message": message, "requestedSchema": fields});
        let request = ServerRequest::ElicitRequest(made(json!({
            "method": "elicitation/create",
            "params": request,
        })));
        let answer = self.peer().send_request(request).await;
        Ok(json!(answer.map_err(failed)?))
    }

    /// Long enough that a client that lost its stream has to come back.
    async fn reconnection(&self) -> Value {
        pause().await;
        content([text("The stream went on.")])
    }

    /// Tools that answer only after the client has been asked in turn.
    fn with_input(&self, name: &str) -> Result<Value, ErrorData> {
        let responses = &self.responses;
        let named = || elicit("What is your name?", "name", "string");
        let confirm = || json!({"confirm": elicit("Please confirm", "ok", "boolean")});
        Ok(match name {
            "test_input_required_result_elicitation" => match accepted(responses, "user_name") {
                Some(answer) if answer["name"].is_string() => {
                    let name = answer["name"].as_str().unwrap_or_default();
                    content([text(&format!("Hello, {name}!"))])
                }
                _ => input_required(json!({"user_name": named()}), None),
            },
            "test_input_required_result_sampling" => match responses.get("capital_question") {
                Some(answer) => content([text(&answer["content"]["text"].to_string())]),
                None => {
                    let ask = sample("What is the capital of France?", 100);
                    input_required(json!({"capital_question": ask}), None)
                }
            },
            "test_input_required_result_list_roots" => match responses.get("client_roots") {
                Some(answer) => content([text(&answer["roots"].to_string())]),
                None => input_required(json!({"client_roots": roots()}), None),
            },
            "test_input_required_result_request_state"
            | "test_input_required_result_tampered_state" => match &self.state {
                Some(state) if accepted(responses, "confirm").is_some() => {
                    opened(state)?;
                    content([text("state-ok")])
                }
                _ => input_required(confirm(), Some(sealed("confirm"))),
            },
            "test_input_required_result_multiple_inputs" => {
                let asked = json!({
                    "user_name": named(),
                    "greeting": sample("Generate a greeting", 50),
                    "client_roots": roots(),
                });
                let keys = ["user_name", "greeting", "client_roots"];
                if keys.iter().all(|key| responses.get(key).is_some()) {
                    content([text("All three came.")])
                } else {
                    input_required(asked, Some(sealed("three")))
                }
            }
            "test_input_required_result_multi_round" => {
                let round = self.state.as_deref().map(opened).transpose()?;
                match round.as_deref() {
                    Some("round-2") if accepted(responses, "step2").is_some() => {
                        content([text("Both steps are done.")])
                    }
                    Some("round-1") if accepted(responses, "step1").is_some() => {
                        let ask = elicit("Step 2: What is your favorite color?", "color", "string");
                        input_required(json!({"step2": ask}), Some(sealed("round-2")))
                    }
                    _ => {
                        let ask = elicit("Step 1: What is your name?", "name", "string");
                        input_required(json!({"step1": ask}), Some(sealed("round-1")))
                    }
                }
            }
            "test_input_required_result_capabilities" => {
                let can = json!(self.context.client_capabilities());
                let mut asked = json!({});
                if can["sampling"].is_object() {
                    asked["greeting"] = sample("Generate a greeting", 50);
                }
                if can["elicitation"].is_object() {
                    asked["user_name"] = named();
                }
                input_required(asked, None)
            }
            _ => {
                let why = format!("Unknown tool: {name}");
                return Err(ErrorData::invalid_params(why, None));
            }
        })
    }

    fn peer(&self) -> &Peer<RoleServer> {
        &self.context.peer
    }
}

fn tools() -> Vec<Value> {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_logging",
        "test_tool_with_progress",
        "test_logging_tool",
        "test_reconnection",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_tampered_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_capabilities",
    ];
    let tool = |name: &str, schema: Value| json!({"name": name, "description": format!("The suite's {name}"), "inputSchema": schema});
    let with = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let mut tools: Vec<Value> = plain
        .iter()
        .map(|name| tool(name, json!({"type": "object", "properties": {}})))
        .collect();
    tools.push(tool("test_sampling", with("prompt")));
    tools.push(tool("test_elicitation", with("message")));
    tools.push(tool(
        "test_custom_headers",
        json!({
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "priority": {"type": "integer", "x-mcp-header": "Priority"},
            },
        }),
    ));
    tools.push(tool("json_schema_2020_12_tool", full_schema()));
    tools
}

fn full_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn enums() -> Value {
    let titled = |ordinals: [&str; 3], noun: &str| -> Vec<Value> {
        (1..)
            .zip(ordinals)
            .map(|(at, ordinal)| json!({"const": format!("value{at}"), "title": format!("{ordinal} {noun}")}))
            .collect()
    };
    let ordinals = ["First", "Second", "Third"];
    let options = ["option1", "option2", "option3"];
    json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled(ordinals, "Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(ordinals, "Choice")}},
    })
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn embedded(uri: &str, mime: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}})
}

fn content(parts: impl Into<Vec<Value>>) -> Value {
    json!({"resultType": "complete", "content": parts.into()})
}

fn elicit(message: &str, field: &str, kind: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

fn sample(prompt: &str, tokens: u32) -> Value {
    let messages = json!([{"role": "user", "content": text(prompt)}]);
    json!({"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

fn input_required(asked: Value, state: Option<String>) -> Value {
    let mut answer = json!({"resultType": "input_required", "inputRequests": asked});
    if let Some(state) = state {
        answer["requestState"] = json!(state);
    }
    answer
}

/// What the user entered, where the client says that the user did.
fn accepted(responses: &Value, key: &str) -> Option<Value> {
    let answer = responses.get(key)?;
    (answer["action"] == "accept").then(|| answer["content"].clone())
}

/// State that the client keeps and cannot change.
fn sealed(state: &str) -> String {
    format!("{state}.{}", seal(state))
}

fn opened(sealed: &str) -> Result<String, ErrorData> {
    match sealed.rsplit_once('.') {
        Some((state, found)) if found == seal(state) => Ok(state.to_owned()),
        _ => Err(ErrorData::invalid_params(
            "The request state was changed",
            None,
        )),
    }
}

fn seal(state: &str) -> String {
    let sum = Sha256::digest(format!("a key of the fixture's own {state}"));
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn listed<T: DeserializeOwned>(key: &str, items: Value) -> T {
    made(json!({"resultType": "complete", key: items, "ttlMs": 0, "cacheScope": "private"}))
}

/// The SDK's types from the JSON of the specification.
fn made<T: DeserializeOwned>(value: impl Serialize) -> T {
    let value = json!(value);
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"))
}

fn failed(error: ServiceError) -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, error.to_string(), None)
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
