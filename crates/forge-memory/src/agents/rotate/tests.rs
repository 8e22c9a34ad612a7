use proptest::prelude::*;
use testkit::TestWorkspace;

use super::*;

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z"
        .parse()
        .expect("a constant that is a time")
}

const STATE: &str = ".agents/memory/eng/builder/state.md";
const ARCHIVE: &str = ".agents/memory/eng/builder/state-archive.md";

fn rotated(ws: &TestWorkspace, max_bytes: usize) -> RotationReport {
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let home = MemoryHome::for_agent("eng", "builder").expect("good names");
    let files = list_agent_files(&home).expect("good names");
    rotate_files(&workspace, &files, max_bytes, false, now()).expect("it can be written")
}

#[test]
fn the_oldest_entries_move_word_for_word() {
    let ws = TestWorkspace::empty();
    let entry = |day: u8| format!("## 2026-01-{day:02}: did it\r\n\r\nText  of {day}\r\n\r\n");
    let all: String = (1..=9).map(entry).collect();
    ws.write(STATE, format!("# State\r\n\r\nNow: busy\r\n\r\n{all}"));
    let done = rotated(&ws, 300);
    assert_eq!(done.files.len(), 1);
    let (state, archive) = (ws.read(STATE), ws.read(ARCHIVE));
    assert!(state.len() <= 300, "{state}");
    assert!(state.starts_with(
        "# State\r\n\r\nNow: busy\r\n\r\nOlder entries: [state-archive.md](state-archive.md)\r\n\r\n## 2026-01-"
    ), "{state}");
    assert!(state.ends_with(&entry(9)));
    for day in 1..=9 {
        let places = [&state, &archive].map(|it| it.matches(&entry(day)).count());
        assert_eq!(places.iter().sum::<usize>(), 1, "{day}: {places:?}");
    }
    let tree = ws.tree_of_sources();
    assert!(rotated(&ws, 300).files.is_empty(), "twice is once");
    assert_eq!(ws.tree_of_sources(), tree);
}

#[test]
fn the_order_of_the_file_is_understood() {
    let ws = TestWorkspace::empty();
    let entry = |day: u8| {
        format!(
            "---\n_2026-01-{day:02}_\n\n→ **Tip**: {}\n\n",
            "word ".repeat(20)
        )
    };
    let all: String = (1..=5).rev().map(entry).collect();
    ws.write(STATE, all);
    rotated(&ws, 400);
    let state = ws.read(STATE);
    assert!(
        state.contains("_2026-01-05_") && !state.contains("_2026-01-01_"),
        "{state}"
    );
    assert!(ws.read(ARCHIVE).contains("_2026-01-01_"));
}

#[test]
fn what_has_no_date_stays() {
    let ws = TestWorkspace::empty();
    ws.write(
        STATE,
        format!("# State\n\n## Now\n\n{}\n", "busy ".repeat(100)),
    );
    let tree = ws.tree_of_sources();
    let done = rotated(&ws, 100);
    assert!(done.files[0].is_too_long(100) && done.files[0].moved == 0);
    assert_eq!(ws.tree_of_sources(), tree);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_whatever_the_file(
        lines in prop::collection::vec(prop_oneof![
            2 => (1..28u8).prop_map(|day| format!("## 2026-01-{day:02}: x")),
            2 => (1..28u8).prop_map(|day| format!("---\n_2026-02-{day:02}_")),
            1 => Just("---".to_owned()),
            1 => Just("```".to_owned()),
            4 => "[a-z#*>` ]{0,40}",
            2 => Just(String::new()),
        ], 0..60),
        max in 0..600usize,
    ) {
        let ws = TestWorkspace::empty();
        let text = lines.join("\n");
        ws.write(STATE, &text);
        rotated(&ws, max);
        let after = ws.read(STATE);
        let archive = if ws.exists(ARCHIVE) { ws.read(ARCHIVE) } else { String::new() };
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().filter(|l| !l.trim().is_empty())
                .filter(|l| !l.starts_with("Older entries: [") && !l.starts_with("# Archive of"))
                .map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let wanted: Vec<String> = sorted(&text);
        prop_assert_eq!(sorted(&format!("{after}\n{archive}")), wanted);
        let tree = ws.tree_of_sources();
        rotated(&ws, max);
        prop_assert_eq!(ws.tree_of_sources(), tree, "twice is once");
    }
}
