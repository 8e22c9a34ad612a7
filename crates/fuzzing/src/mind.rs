//! State files that anyone may have written: a briefing keeps its caps, a new
//! entry adds one, and compressing loses no line and is done once.

use forge_app::brief::{
    BriefInput, MAX_BRIEF_BYTES, SESSION_BUDGET, SessionStartReason, brief_helper, brief_prompt,
    brief_start,
};
use forge_app::mind::{MindStore, NewDecision};
use forge_app::workspace::Workspace;

use crate::input::texts;
use crate::scratch;

const FILES: [&str; 4] = ["STATE", "PROGRESS", "DECISIONS", "SESSION-LOG"];

/// `new text ␞ state ␞ progress ␞ decisions ␞ sessions`.
pub(crate) fn run(data: &[u8]) {
    let [new, files @ ..] = texts::<5>(data);
    let folder = scratch::folder();
    for (name, text) in FILES.iter().zip(&files) {
        scratch::write(folder.path(), &format!(".mind/{name}.md"), text);
    }
    let workspace = Workspace::open(folder.path()).expect("a folder can be opened");
    let mind = MindStore::open(&workspace);
    let now: jiff::Timestamp = "2026-11-15T12:00:00Z".parse().expect("a moment");
    let input = BriefInput {
        reason: SessionStartReason::Startup,
        budget: SESSION_BUDGET,
        nonce: "n0nce",
        now,
        events: &[],
        overview: &[],
        pointers: None,
    };
    let briefing = brief_start(&mind, &input);
    assert!(
        briefing.text.len() < MAX_BRIEF_BYTES,
        "{}",
        briefing.text.len()
    );
    let _ = (
        brief_prompt(&mind, now),
        mind.check_health(now),
        brief_helper(&mind, &input),
    );
    let _ = (mind.read_state(), mind.read_progress());

    let read = |name: &str| {
        let path = folder.path().join(format!(".mind/{name}.md"));
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let decisions = mind.read_decisions().expect("it can be read").len();
    if mind
        .add_decision(&NewDecision::from_statement(&new), now)
        .is_ok()
    {
        keeps(&files[2], &read("DECISIONS"));
        assert_eq!(
            mind.read_decisions().expect("it can be read").len(),
            decisions + 1
        );
    }
    if mind.add_task(&new, "In Progress", now).is_ok() {
        keeps(&files[1], &read("PROGRESS"));
    }
    let all = |names: &[&str]| {
        names
            .iter()
            .map(|name| read(name) + "\n")
            .collect::<String>()
    };
    let before = all(&FILES);
    if mind.compress_state(false, now).is_err() {
        return;
    }
    let everything = all(&["STATE", "PROGRESS", "DECISIONS", "SESSION-LOG", "ARCHIVE"]);
    // What moves gets the line ends of the file that it moves to.
    let lines = before.split(['\n', '\r']).map(str::trim);
    for line in lines.filter(|it| it.len() > 1) {
        assert!(
            everything.contains(line),
            "{line:?} is gone from {everything:?}"
        );
    }
    mind.compress_state(false, now)
        .expect("it went well before");
    let again = all(&["STATE", "PROGRESS", "DECISIONS", "SESSION-LOG", "ARCHIVE"]);
    assert_eq!(again, everything);
}

/// Every line of `before` is in `after`, in the same order, but for short ones
/// and those in brackets, which may stand for what nobody has set yet.
fn keeps(before: &str, after: &str) {
    let mut rest = after.split(['\n', '\r']);
    for line in before.split(['\n', '\r']) {
        let said = line.trim_start_matches(['-', '*', '+', ' ', '\t', '>']);
        if said.len() < 10 || said.starts_with(['[', '{', '(', '_', '<']) {
            continue;
        }
        assert!(rest.any(|it| it == line), "{line:?} is gone from {after:?}");
    }
}
