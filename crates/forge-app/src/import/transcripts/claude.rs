//! Reads Claude Code's transcripts: one record a line, each naming the one
//! before it.
//!
//! Records form a tree. Prompts that the user went back on are still there and
//! marked as abandoned; sub-agents' records (`isSidechain`) become one entry
//! each; the summary that replaces compacted text is marked as such.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use jiff::Timestamp;
use serde_json::Value;

use super::super::page::{EntryId, PageEntryKind};
use super::{TranscriptFormat, TranscriptSession, pluralize_count, tools};

/// The reader of a transcript.
pub(super) struct ClaudeReader {
    session: TranscriptSession,
    tree: RecordTree,
    helpers: HashMap<u32, SubAgentWork>,
    /// Whether the file is a sub-agent's own, whose records are all side
    /// chains.
    is_helper: bool,
}

/// The work of a sub-agent so far.
struct SubAgentWork {
    entry: EntryId,
    task: String,
    messages: usize,
    tools: usize,
    last: String,
}

impl ClaudeReader {
    pub(super) fn new(is_helper: bool) -> ClaudeReader {
        ClaudeReader {
            session: TranscriptSession::new(TranscriptFormat::Claude),
            tree: RecordTree::default(),
            helpers: HashMap::new(),
            is_helper,
        }
    }

    /// Reads one record.
    pub(super) fn read_record(&mut self, record: &Value) {
        let session = &mut self.session;
        let kind = record["type"].as_str().unwrap_or_default();
        let when = session.note_time(record);
        for key in ["sessionId", "session_id"] {
            session.learn_once(|session| &mut session.id, &record[key]);
        }
        session.learn_once(|session| &mut session.cwd, &record["cwd"]);
        session.learn_once(|session| &mut session.branch, &record["gitBranch"]);
        session.learn_once(|session| &mut session.version, &record["version"]);
        let aside = record["isSidechain"] == true && !self.is_helper;
        let node = self.tree.add_record(record, aside);
        // The newest answer marks the branch that the conversation took:
        // clients attach their own commands anywhere in the tree.
        if kind == "assistant" && !aside {
            self.tree.answered = node.or(self.tree.answered);
        }
        if session.first.is_none() && matches!(kind, "user" | "assistant") {
            // A record never changes, so its hash can identify a session
            // without an id.
            session.first = Some(record.to_string());
        }
        match kind {
            "user" | "assistant" if aside => self.read_helper_record(record, kind, when, node),
            "user" => self.read_user(record, when, node),
            "assistant" => self.read_assistant(record, when, node),
            "attachment" => self.read_attachment(record, when, node),
            "summary" => session.learn_once(|session| &mut session.title, &record["summary"]),
            // A title from the user replaces one from the client.
            "custom-title" => {
                session.title = None;
                session.learn_once(|session| &mut session.title, &record["customTitle"]);
            }
            _ => {}
        }
    }

    /// Completes the entries of sub-agents and the abandoned records, and
    /// returns the session.
    pub(super) fn finish(mut self) -> TranscriptSession {
        let mut helpers: Vec<SubAgentWork> = self.helpers.into_values().collect();
        helpers.sort_by_key(|helper| helper.entry);
        for helper in helpers {
            let text = format!(
                "{}\n\n({}, {})\n\n{}",
                helper.task,
                pluralize_count(helper.messages, "message"),
                pluralize_count(helper.tools, "tool call"),
                helper.last
            );
            self.session.page.replace_text(helper.entry, text.trim());
        }
        self.session.abandoned = self.tree.find_abandoned();
        self.session
    }

    /// Reads a record of the user: results of tools, and a prompt.
    fn read_user(&mut self, record: &Value, when: Option<Timestamp>, node: Option<u32>) {
        let content = &record["message"]["content"];
        for block in content_blocks(content) {
            if block["type"] == "tool_result" {
                let id = block["tool_use_id"].as_str();
                self.session
                    .add_result(id, &block["content"], block["is_error"] == true);
            }
        }
        let text = message_text(content);
        if text.is_empty() {
            return;
        }
        if record["isMeta"] == true {
            self.session
                .count_left_out("texts that clients and hooks put in");
            return;
        }
        if record["isCompactSummary"] == true {
            let entry = self.session.add_compacted(when, &text);
            return self.link_entry(Some(entry), node);
        }
        let entry = self.session.add_prompt(when, &text);
        // Commands of the client have arbitrary parents, so they begin no
        // branch.
        if let (Some(_), Some(node)) = (entry, node)
            && !text.trim_start().starts_with('<')
        {
            self.tree.mark_prompt(node);
        }
        self.link_entry(entry, node);
    }

    /// Reads a record of the agent: text, tool calls and thoughts.
    fn read_assistant(&mut self, record: &Value, when: Option<Timestamp>, node: Option<u32>) {
        let content = &record["message"]["content"];
        if let Some(text) = content.as_str() {
            let entry = self.session.add_answer(when, text);
            return self.link_entry(entry, node);
        }
        for block in content_blocks(content) {
            let entry = match block["type"].as_str() {
                Some("text") => self
                    .session
                    .add_answer(when, block["text"].as_str().unwrap_or_default()),
                Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                    let name = block["name"].as_str().unwrap_or_default();
                    Some(self.session.add_tool_call(
                        when,
                        block["id"].as_str(),
                        name,
                        &block["input"],
                    ))
                }
                Some("thinking" | "redacted_thinking") => {
                    self.session.count_left_out("thoughts");
                    None
                }
                None => self
                    .session
                    .add_answer(when, block.as_str().unwrap_or_default()),
                _ => None,
            };
            self.link_entry(entry, node);
        }
    }

    /// Reads an attachment. A prompt that was typed while the agent worked
    /// comes as one; all others were added by the client or by hooks.
    fn read_attachment(&mut self, record: &Value, when: Option<Timestamp>, node: Option<u32>) {
        let attachment = &record["attachment"];
        let typed = attachment["type"] == "queued_command" && attachment["commandMode"] == "prompt";
        match attachment["prompt"].as_str().filter(|_| typed) {
            Some(text) => {
                let entry = self.session.add_prompt(when, text);
                self.link_entry(entry, node);
            }
            None => self
                .session
                .count_left_out("texts that clients and hooks put in"),
        }
    }

    /// Adds a record of a sub-agent to its one entry.
    fn read_helper_record(
        &mut self,
        record: &Value,
        kind: &str,
        when: Option<Timestamp>,
        node: Option<u32>,
    ) {
        let root = node.map_or(0, |node| self.tree.root_of(node));
        let content = &record["message"]["content"];
        let text = message_text(content);
        let text = self.session.admit_text(text.trim());
        let session = &mut self.session;
        let helper = self.helpers.entry(root).or_insert_with(|| {
            let first = text.lines().next().filter(|_| kind == "user");
            let task: String = first.unwrap_or_default().chars().take(300).collect();
            SubAgentWork {
                entry: session.page.add_entry(PageEntryKind::SubAgent, when, &task),
                task,
                messages: 0,
                tools: 0,
                last: String::new(),
            }
        });
        helper.messages += 1;
        let calls = content_blocks(content).filter(|block| block["type"] == "tool_use");
        helper.tools += calls.count();
        if kind == "assistant" && !text.is_empty() {
            helper.last = text.chars().take(2_000).collect();
            if text.chars().nth(2_000).is_some() {
                helper.last.push('…');
            }
        }
    }

    /// Links an entry to its record in the tree.
    fn link_entry(&mut self, entry: Option<EntryId>, node: Option<u32>) {
        if let (Some(entry), Some(node)) = (entry, node) {
            self.session.page.set_record(entry, node);
        }
    }
}

/// Returns the blocks of a message.
fn content_blocks(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

/// Returns the text of a message, which is a string or blocks of which some are
/// text.
fn message_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let texts = content_blocks(content).filter_map(|block| match block["type"].as_str() {
        Some("text") => block["text"].as_str().map(str::to_owned),
        Some("image") => Some("(a picture)".to_owned()),
        Some("document") => Some("(a document)".to_owned()),
        Some(_) => None,
        None => Some(tools::result_text(block)),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The tree of records, with few bytes for each.
#[derive(Default)]
struct RecordTree {
    hasher: RandomState,
    nodes: Vec<RecordNode>,
    by_id: HashMap<u64, u32>,
    /// The newest record of the main conversation.
    last: Option<u32>,
    /// The newest answer to the user.
    answered: Option<u32>,
}

/// A record in the tree.
struct RecordNode {
    parent: Option<u32>,
    /// The first record of a sub-agent, for its records; otherwise the record
    /// itself.
    root: u32,
    prompt: bool,
}

impl RecordTree {
    /// Adds a record and returns its number.
    fn add_record(&mut self, record: &Value, aside: bool) -> Option<u32> {
        let id = self.hash_id(record["uuid"].as_str()?);
        let node = u32::try_from(self.nodes.len()).ok()?;
        let parents = ["parentUuid", "logicalParentUuid"];
        let mut parents = parents.iter().filter_map(|key| record[*key].as_str());
        let known = parents.find_map(|parent| self.by_id.get(&self.hash_id(parent)).copied());
        // After a compaction, or in a continued file, the named parent is
        // missing: the record follows the last one.
        let parent = known.or(self.last.filter(|_| !aside));
        let root = match parent {
            Some(parent) if aside => self.nodes[parent as usize].root,
            _ => node,
        };
        self.nodes.push(RecordNode {
            parent,
            root,
            prompt: false,
        });
        self.by_id.insert(id, node);
        if !aside {
            self.last = Some(node);
        }
        Some(node)
    }

    /// Hashes an id to eight bytes, with a random key, so that a file cannot
    /// provoke collisions.
    fn hash_id(&self, id: &str) -> u64 {
        self.hasher.hash_one(id)
    }

    /// Returns the root of a record.
    fn root_of(&self, node: u32) -> u32 {
        self.nodes[node as usize].root
    }

    /// Marks a record as a prompt.
    fn mark_prompt(&mut self, node: u32) {
        self.nodes[node as usize].prompt = true;
    }

    /// Returns the records that follow from a prompt which is not on the path
    /// to the last answer: the user went back and wrote something else. A side
    /// record without such a prompt is the result of one of several tools, and
    /// records after the last answer are undecided.
    fn find_abandoned(&self) -> Vec<bool> {
        let mut on_way = vec![false; self.nodes.len()];
        let mut next = self.answered;
        while let Some(node) = next {
            if std::mem::replace(&mut on_way[node as usize], true) {
                break;
            }
            next = self.nodes[node as usize].parent;
        }
        let mut abandoned = vec![false; self.nodes.len()];
        let answered_count = self.answered.map_or(0, |node| node as usize);
        // Parents come before their children, so one pass is enough.
        for (at, node) in self.nodes.iter().enumerate().take(answered_count) {
            let parent = node.parent.is_some_and(|parent| abandoned[parent as usize]);
            abandoned[at] = !on_way[at] && (parent || node.prompt);
        }
        abandoned
    }
}
