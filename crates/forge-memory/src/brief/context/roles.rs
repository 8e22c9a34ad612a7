//! The role of an agent: by its definition, else by its name. Words are
//! counted; no model is involved.

use super::ContextPolicy;

/// Words that indicate a role.
const ROLE_WORDS: [(&str, &[&str]); 5] = [
    (
        "scanner",
        &[
            "scanner", "scan", "scout", "monitor", "watch", "watcher", "crawler", "tracker",
            "discover", "intel",
        ],
    ),
    (
        "worker",
        &[
            "worker",
            "builder",
            "build",
            "engineer",
            "developer",
            "coder",
            "writer",
            "designer",
            "implement",
            "executor",
            "maker",
        ],
    ),
    (
        "lead",
        &[
            "lead",
            "leader",
            "manager",
            "head",
            "coordinator",
            "orchestrator",
            "director",
            "planner",
        ],
    ),
    (
        "coo",
        &["coo", "executive", "chief", "operations", "founder"],
    ),
    (
        "verifier",
        &[
            "verifier",
            "verify",
            "reviewer",
            "review",
            "tester",
            "test",
            "qa",
            "auditor",
            "audit",
            "critic",
            "validator",
        ],
    ),
];

/// Returns the role of an agent: a name that the policy has, else the role with
/// the most matching words, else `worker`.
pub fn resolve_role(stated_role: Option<&str>, agent: &str, policy: &ContextPolicy) -> String {
    let exact = |text: &str| {
        let name = text.trim().to_lowercase();
        match name.as_str() {
            "company-lead" => Some("coo".to_owned()),
            _ => policy.roles.contains_key(&name).then_some(name),
        }
    };
    for text in stated_role.into_iter().chain([agent]) {
        if let Some(role) = exact(text).or_else(|| guess_role(text)) {
            return role;
        }
    }
    "worker".to_owned()
}

/// Returns the role with the most matching words; `None` for a tie, and without
/// a match.
fn guess_role(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let count = |known: &[&str]| words.iter().filter(|word| known.contains(word)).count();
    let mut scores: Vec<(usize, &str)> = ROLE_WORDS
        .iter()
        .map(|(role, known)| (count(known), *role))
        .collect();
    scores.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let (best, second) = (scores[0], scores[1]);
    (best.0 > 0 && best.0 > second.0).then(|| best.1.to_owned())
}
