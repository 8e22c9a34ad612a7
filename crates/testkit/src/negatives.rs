//! Events of a session to which a memory has nothing to add: small talk,
//! questions about the world, and calls of tools in another project. They come
//! from small lists, always the same ones in the same order.

use serde_json::{Value, json};

/// Answers and remarks that are no request.
const REMARKS: [&str; 40] = [
    "yes",
    "no",
    "ok",
    "okay",
    "sure",
    "proceed",
    "go on",
    "continue",
    "go ahead",
    "do it",
    "yup",
    "nope",
    "thanks",
    "thank you",
    "great",
    "perfect",
    "nice",
    "cool",
    "wow",
    "hmm",
    "stop",
    "wait",
    "again",
    "next",
    "done",
    "good",
    "right",
    "exactly",
    "agreed",
    "hello",
    "hi there",
    "good morning",
    "see you tomorrow",
    "never mind",
    "my mistake",
    "sounds good",
    "looks good to me",
    "that works",
    "not now",
    "later",
];

/// What people put after a remark.
const ENDINGS: [&str; 5] = ["", "!", " please", ", thanks", " 👍"];

/// Forms of questions, with a place for what they are about.
const QUESTIONS: [&str; 14] = [
    "How old is [x]?",
    "Who invented [x]?",
    "What is the best season for [x]?",
    "Is [x] good for children?",
    "Why do people like [x] so much?",
    "Can you explain [x] to my grandmother?",
    "Where can I learn more about [x]?",
    "How do I say \"[x]\" in Italian?",
    "What does [x] cost in Lisbon?",
    "Write a short poem about [x].",
    "Which books about [x] would you give to a friend?",
    "Does [x] need a permit in Norway?",
    "Compare [x] with what it was a hundred years ago.",
    "What should I know about [x] before my trip?",
];

const TOPICS: [&str; 18] = [
    "sourdough bread",
    "sailing at night",
    "the trumpet",
    "wild mushrooms",
    "opera",
    "rain in April",
    "chess",
    "olive trees",
    "the tides",
    "mountain huts",
    "bicycle repair",
    "beekeeping",
    "watercolours",
    "a marathon",
    "ice skating",
    "lighthouses",
    "honey",
    "old maps",
];

/// Calls of another project, in another language and with other tools.
const COMMANDS: [&str; 14] = [
    "python -m pytest -q [x]",
    "ruff check [x]",
    "mypy --strict [x]",
    "uv run python [x]",
    "black --check [x]",
    "git diff --stat -- [x]",
    "git log -3 --oneline -- [x]",
    "wc -l [x]",
    "grep -n 'def ' [x] | head -20",
    "sed -n '1,40p' [x]",
    "test -f [x] && echo there",
    "ls -la [x] 2>/dev/null",
    "docker compose run web python [x]",
    "coverage report --include=[x]",
];

const FILES: [&str; 14] = [
    "shop/models.py",
    "shop/views/basket.py",
    "shop/tests/test_basket.py",
    "shop/urls.py",
    "payments/refunds.py",
    "payments/tests/test_refunds.py",
    "manage.py",
    "settings/local.py",
    "templates/basket.html",
    "static/basket.css",
    "pyproject.toml",
    "scripts/seed.py",
    "locale/pt/django.po",
    "README.rst",
];

/// Returns remarks as people type them.
pub fn small_talk() -> Vec<String> {
    let with_ending = |remark: &&str| ENDINGS.map(|ending| format!("{remark}{ending}"));
    REMARKS.iter().flat_map(with_ending).collect()
}

/// Returns questions that no project has an answer to.
pub fn unrelated_questions() -> Vec<String> {
    let about = |form: &&str| TOPICS.map(|topic| form.replace("[x]", topic));
    QUESTIONS.iter().flat_map(about).collect()
}

/// Returns calls of tools in another project: the tool and its arguments.
pub fn other_project_calls() -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    for file in FILES {
        for command in COMMANDS {
            calls.push(("Bash", json!({ "command": command.replace("[x]", file) })));
        }
        calls.push(("Write", json!({ "file_path": file, "content": "x" })));
        calls.push(("Grep", json!({ "pattern": "basket", "path": "." })));
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_than_five_hundred_different_ones() {
        let mut all = small_talk();
        all.extend(unrelated_questions());
        all.extend(
            other_project_calls()
                .iter()
                .map(|(tool, it)| format!("{tool}{it}")),
        );
        all.sort();
        all.dedup();
        assert!(all.len() > 600, "{}", all.len());
    }
}
