//! Builds what a tool answers: a text, the same as data, and the change if
//! something was written. Everything has a limit and reports what it left out,
//! and text of files is between marks that it cannot contain.

use forge_app::quote;
use forge_app::tokens::{Tokenizer, count_tokens};
use forge_app::workspace::FileChange;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};

use super::arguments::ToolArguments;
use crate::ui::unified_diff;
use forge_app::library::AnswerRemark;

/// Upper bound for an answer without `max_tokens`.
const DEFAULT_REPLY_BYTES: usize = 24_000;
/// Tokens of the JSON around a text that is sent as data.
const DATA_OVERHEAD_TOKENS: usize = 16;
/// Upper bound for a change that is shown.
const MAX_DIFF_BYTES: usize = 4_000;

/// Answer that is not an error.
#[derive(Debug)]
pub(crate) struct ToolReply {
    pub(crate) text: String,
    /// Answer as data; its fields are those of the tool's schema.
    pub(crate) data: Value,
    /// Change of a file, which follows the text in a block of its own.
    pub(crate) diff: Option<String>,
}

impl ToolReply {
    pub(crate) fn new(text: impl Into<String>, data: Value) -> ToolReply {
        ToolReply {
            text: text.into(),
            data,
            diff: None,
        }
    }

    /// Returns a message about something that was written, with the changes of
    /// its files.
    pub(crate) fn of_change(message: String, changes: &[ShownChange], nonce: &str) -> ToolReply {
        let mut reply = ToolReply::new(message.clone(), json!({ "message": message }));
        let written: Vec<&ShownChange> =
            changes.iter().filter(|it| it.before != it.after).collect();
        reply.data["files"] = written.iter().map(|it| it.path.as_str()).collect();
        let diffs: String = written.iter().map(|it| it.diff()).collect();
        // Lines around the change may hold secrets.
        let diffs = quote::sanitize_part(&diffs).text;
        let (shown, left_out) = first_lines(&diffs, |text| text.len() <= MAX_DIFF_BYTES);
        let mut shown = shown.to_owned();
        if left_out > 0 {
            shown.push_str(&format!("[… {left_out} more lines of the change]\n"));
        }
        if !shown.is_empty() {
            reply.data["diff"] = shown.clone().into();
            reply.diff = Some(fence_text(&shown, nonce));
        }
        reply
    }

    /// Adds remarks to the text and to the data.
    pub(crate) fn with_remarks(mut self, remarks: &[AnswerRemark]) -> ToolReply {
        let notes: Vec<String> = remarks.iter().map(|it| one_line(it.text())).collect();
        if notes.is_empty() {
            return self;
        }
        for line in &notes {
            self.text.push_str(&format!("\nNote: {line}"));
        }
        self.data["notes"] = json!(notes);
        self
    }

    /// Converts the answer for sending. Hidden characters of names and texts
    /// are written out here, for every tool.
    pub(crate) fn into_result(self) -> CallToolResult {
        let mut content = vec![ContentBlock::text(escape_hidden(self.text))];
        content.extend(self.diff.map(|it| ContentBlock::text(escape_hidden(it))));
        let mut result = CallToolResult::success(content);
        result.structured_content = Some(escape_hidden_in_data(self.data));
        result
    }
}

pub(crate) fn failure_result(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(escape_hidden(text))])
}

/// Returns a failure whose `_meta` names the kind of error for programs.
pub(crate) fn failure_with_code(text: String, code: Option<&str>) -> CallToolResult {
    let mut result = failure_result(text);
    if let Some(code) = code {
        let mut meta = MetaObject::default();
        meta.insert("memory-forge/code".to_owned(), code.into());
        result.meta = Some(meta);
    }
    result
}

/// Writes out the hidden characters of a text.
pub(crate) fn escape_hidden(text: String) -> String {
    match quote::hidden::escape_for_terminal(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(shown) => shown,
    }
}

/// Writes out the hidden characters in every text of a value.
fn escape_hidden_in_data(value: Value) -> Value {
    match value {
        Value::String(text) => escape_hidden(text).into(),
        Value::Array(all) => all.into_iter().map(escape_hidden_in_data).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(name, value)| (escape_hidden(name), escape_hidden_in_data(value)))
            .collect(),
        other => other,
    }
}

/// File before and after a call.
#[derive(Debug)]
pub(crate) struct ShownChange {
    pub(crate) path: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

impl ShownChange {
    /// Returns a file as the writer saw it, before and after.
    pub(crate) fn from_file_change(change: &FileChange) -> ShownChange {
        ShownChange {
            path: change.path.as_str().to_owned(),
            before: change.before_text().into_owned(),
            after: change.after_text().into_owned(),
        }
    }

    fn diff(&self) -> String {
        let styled = unified_diff(&self.path, &self.before, &self.after);
        anstream::adapter::strip_str(&styled).to_string()
    }
}

/// Limit for the size of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyBudget {
    Bytes(usize),
    /// The limit in tokens of the o200k vocabulary.
    Tokens(usize),
}

impl ReplyBudget {
    pub(crate) fn from_arguments(arguments: &ToolArguments) -> ReplyBudget {
        match arguments.count("max_tokens") {
            Some(tokens) => ReplyBudget::Tokens(tokens),
            None => ReplyBudget::Bytes(DEFAULT_REPLY_BYTES),
        }
    }

    pub(crate) fn limit(self) -> usize {
        match self {
            ReplyBudget::Bytes(limit) | ReplyBudget::Tokens(limit) => limit,
        }
    }

    pub(crate) fn cost(self, text: &str) -> usize {
        match self {
            ReplyBudget::Bytes(_) => text.len(),
            // A client may show the text or the same text as data, where each
            // line end is an escape: the larger one counts.
            ReplyBudget::Tokens(limit) => {
                let sent = json!({ "message": text }).to_string();
                if sent.len() <= limit {
                    // A token has at least one byte, so a short text needs no
                    // vocabulary.
                    sent.len()
                } else {
                    count_tokens(Tokenizer::O200k, &sent) + DATA_OVERHEAD_TOKENS
                }
            }
        }
    }

    pub(crate) fn holds(self, text: &str) -> bool {
        self.cost(text) <= self.limit()
    }
}

/// Fits as many lines of a file's text as possible into the budget, with what
/// `around` adds. Returns the result and the number of lines that were left
/// out.
pub(crate) fn fit_lines(
    text: &str,
    budget: ReplyBudget,
    around: impl Fn(&str, usize) -> String,
) -> (String, usize) {
    let all = text.lines().count();
    let whole = around(text, 0);
    if budget.holds(&whole) {
        return (whole, 0);
    }
    let rest = |part: &str| all - part.lines().count();
    let (part, _) = first_lines(text, |part| budget.holds(&around(part, rest(part))));
    (around(part, rest(part)), rest(part))
}

/// Returns as many lines from the beginning as `accept` allows, and the number
/// of lines left.
fn first_lines(text: &str, accept: impl Fn(&str) -> bool) -> (&str, usize) {
    if accept(text) {
        return (text, 0);
    }
    let ends: Vec<usize> = text
        .split_inclusive('\n')
        .scan(0, |at, line| {
            *at += line.len();
            Some(*at)
        })
        .collect();
    // More lines never cost less, so the end can be found by bisection.
    let count = ends.partition_point(|end| accept(&text[..*end]));
    let end = if count == 0 { 0 } else { ends[count - 1] };
    (&text[..end], ends.len() - count)
}

/// Quotes a text between marks that it cannot contain.
pub(crate) fn fence_text(text: &str, nonce: &str) -> String {
    let mark = quote::fence_mark(nonce, std::iter::once(text));
    format!(
        "<data {mark}>\n{}\n</data {mark}>",
        text.trim_end_matches('\n')
    )
}

/// Returns names and messages on one line, whatever characters they have.
pub(crate) fn one_line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    crate::ui::escape_hidden(line.trim()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let text = "one\ntwo\nthree\n";
        let around = |part: &str, left: usize| format!("{part}({left} left)");
        let check = |bytes, expect: &str| {
            assert_eq!(fit_lines(text, ReplyBudget::Bytes(bytes), around).0, expect);
        };
        check(100, "one\ntwo\nthree\n(0 left)");
        check(16, "one\ntwo\n(1 left)");
        check(15, "one\n(2 left)");
        check(1, "(3 left)");
    }

    #[test]
    fn a_text_cannot_close_its_own_fence() {
        let inner = fence_text("x", "n");
        let mark = &inner[6..22];
        assert!(!fence_text(&inner, "n").starts_with(&format!("<data {mark}>")));
        assert_ne!(fence_text("x", "n"), fence_text("x", "m"));
    }

    #[test]
    fn tokens_are_never_exceeded() {
        let text = "words and more words, again and again\n".repeat(200);
        for limit in [100, 199, 400] {
            let (shown, left) = fit_lines(&text, ReplyBudget::Tokens(limit), |part, left| {
                format!("{}[{left}]", fence_text(part, "n"))
            });
            assert!(count_tokens(Tokenizer::O200k, &shown) <= limit, "{limit}");
            assert!(left > 0);
        }
    }

    #[test]
    fn a_change_is_shown_as_a_diff() {
        let change = ShownChange {
            path: "a.md".to_owned(),
            before: "a\n".to_owned(),
            after: "a\nb\n".to_owned(),
        };
        let reply = ToolReply::of_change("Saved".to_owned(), &[change], "n");
        let diff = reply.data["diff"].as_str().expect("there is a diff");
        assert_eq!(diff, "--- a/a.md\n+++ b/a.md\n@@ -1 +1,2 @@\n a\n+b\n");
        assert_eq!(reply.text, "Saved");
    }
}
