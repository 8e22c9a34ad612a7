//! What holds for files that nobody would write.

use proptest::prelude::*;

use super::*;

/// Lines that might mean something, and others.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z $|#>*`~\\[\\]()!-]{0,40}",
        1 => Just(String::new()),
        1 => Just("```".to_owned()),
        1 => Just("~~~".to_owned()),
        1 => Just("<!-- c -->".to_owned()),
        1 => Just("---".to_owned()),
        1 => "- \\[[ x]\\] [a-z日本é ]{1,20}",
        1 => "#{1,4} [A-Za-z ]{1,20}",
        1 => Just("## Active Work".to_owned()),
        1 => Just("## Next Action".to_owned()),
        1 => Just("### In Progress".to_owned()),
        1 => "## DEC-[0-9]{1,3}: [a-z]{1,9}",
        1 => "## Session [0-9]{1,2} — 2026-01-0[1-9]",
        1 => "日本語 [é-ü]{0,30}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(line(), 0..40),
        prop_oneof![Just("\n"), Just("\r\n")],
    )
        .prop_map(|(lines, end)| lines.join(end) + end)
}

/// Every line of `before` is in `after`, in the same order.
fn keeps_lines(before: &str, after: &str) -> Result<(), TestCaseError> {
    let mut rest = after.lines();
    for line in before.lines().filter(|it| !it.trim().is_empty()) {
        prop_assert!(rest.any(|it| it == line), "{line:?} is gone from\n{after}");
    }
    Ok(())
}

/// What a person wrote, in words that no command writes.
const BY_HAND: &str = "Zebrafinch seven";

/// A line with those words, in a form that may mean something to a reader.
fn line_by_hand() -> impl Strategy<Value = String> {
    let forms = [
        "{}",
        "- {}",
        "1. {}",
        "> {}",
        "[{}]",
        "{}:",
        "    {}",
        "```{}",
        "<!-- {} -->",
        "| {} |",
        "- [ ] {}",
        "- [x] {} (completed 2025-01-01)",
        "## {}",
        "## Session 9 — 2025-01-01 {}",
        "**Phase:** {}",
        "2026-01-01 {}",
        "Last updated: 2026-01-01 {}",
    ];
    prop::sample::select(forms.to_vec()).prop_map(|form| form.replace("{}", BY_HAND))
}

/// One of the commands that write state files. One that refuses is fine: it
/// changes nothing then.
fn command(mind: &MindStore<'_>, which: usize, round: usize) {
    let value = format!("value {which} of round {round}");
    let list = Some(vec![value.clone(), "another".to_owned()]);
    let at = days_later(20 * round as i64);
    let set = |change: StateChange| drop(mind.set_state(&change, at));
    let new = StateChange::default;
    match which {
        0 => set(StateChange {
            phase: Some(value),
            ..new()
        }),
        1 => set(StateChange {
            status: Some(value),
            ..new()
        }),
        2 => set(StateChange {
            active: list,
            ..new()
        }),
        3 => set(StateChange {
            blocked: Some(Vec::new()),
            ..new()
        }),
        4 => set(StateChange {
            next: Some(value),
            ..new()
        }),
        5 => drop(mind.add_task(&value, "In Progress", at)),
        6 => drop(mind.complete_task("first task", at)),
        7 => drop(mind.add_decision(&decision(&value, &value), at)),
        8 => drop(mind.log_session(&session(&value), at)),
        9 => drop(mind.compress_state(false, at)),
        10 => drop(mind.write_checkpoint("manual", at)),
        _ => {
            let state = StateChange {
                priorities: list,
                blocked: Some(vec![value.clone()]),
                ..new()
            };
            let record = SessionRecord {
                state,
                decisions: vec![decision(&value, &value)],
                session: Some(session(&value)),
                annotate: true,
                ..SessionRecord::default()
            };
            drop(mind.write_record("Close the session", &record, at));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// "Any line added anywhere in any state file by hand survives any sequence
    /// of commands and stays findable."
    #[test]
    fn a_line_by_hand_survives_every_command(
        in_memory in any::<bool>(),
        file in 0usize..4,
        place in 0usize..40,
        line in line_by_hand(),
        before in prop::collection::vec(0usize..12, 0..4),
        after in prop::collection::vec(0usize..12, 1..7),
    ) {
        let config = "//- memory-forge.toml\n[mind]\nkeep_sessions = 1\nkeep_decisions = 1\n";
        let manifest = if in_memory {

             "//- _MANIFEST.md\n# Context Routing\n"

} else {

             ""
};
        let it = Fixture::new(&format!("{config}{manifest}"));
        let mind = it.mind();
        mind.add_task("first task", "In Progress", now()).unwrap();
        for (round, which) in [0, 1, 2, 4, 5, 7, 8].into_iter().chain(before).enumerate() {
            command(&mind, which, round);
        }
        let files = [MindFile::State, MindFile::Progress, MindFile::Decisions, MindFile::SessionLog];
        let path = mind.file_path(files[file]);
        let text = it.read(path.as_str());
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(place.min(lines.len()), &line);
        it.files.write(path.as_str(), lines.join("\n") + "\n");
        for (round, which) in after.into_iter().enumerate() {
            command(&mind, which, 20 + round);
            let all = MindStore::list_all_files(&it.workspace);
            let holds = |path: &RelPath| it.read(path.as_str()).contains(BY_HAND);
            prop_assert!(
                all.iter().filter(|it| !it.starts_with(".mind/checkpoints")).any(holds),
                "{line:?} in {path} did not survive command {which}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn writers_keep_what_they_do_not_change(before in text(), value in "(?s).{0,60}") {
        let it = Fixture::new("");
        for name in ["STATE", "PROGRESS", "DECISIONS", "SESSION-LOG"] {
            it.files.write(&format!(".mind/{name}.md"), &before);
        }
        let mind = it.mind();
        if mind.add_task(&value, "In Progress", now()).is_ok() {
            keeps_lines(&before, &it.read(".mind/PROGRESS.md"))?;
        }
        let decisions = mind.read_decisions().unwrap().len();
        if mind.add_decision(&decision(&value, &value), now()).is_ok() {
            keeps_lines(&before, &it.read(".mind/DECISIONS.md"))?;
            prop_assert_eq!(mind.read_decisions().unwrap().len(), decisions + 1);
        }
        let sessions = mind.read_sessions().unwrap().len();
        if mind.log_session(&session(&value), now()).is_ok() {
            keeps_lines(&before, &it.read(".mind/SESSION-LOG.md"))?;
            prop_assert_eq!(mind.read_sessions().unwrap().len(), sessions + 1);
        }
        // The parts that are set lose their old text, and nothing else does.
        let document = document::parse_document(before.clone());
        let owned: Vec<_> = [state::StatePart::Next, state::StatePart::Phase, state::StatePart::Updated]
            .iter()
            .filter_map(|part| part.find_section(&document))
            .map(|index| document.sections[index].own.clone())
            .collect();
        let kept: String = document
            .text
            .split_inclusive('\n')
            .scan(0, |at, line| {
                let start = *at;
                *at += line.len();
                Some((start, line))
            })
            .filter(|(start, _)| !owned.iter().any(|own| own.contains(start)))
            .map(|(_, line)| line)
            .collect();
        let change = StateChange {
            phase: Some(value.clone()),
            next: Some(value.clone()),
            ..StateChange::default()
        };
        mind.set_state(&change, now()).unwrap();
        let once = it.read(".mind/STATE.md");
        keeps_lines(&kept, &once)?;
        mind.set_state(&change, now()).unwrap();
        prop_assert_eq!(it.read(".mind/STATE.md"), once);
    }

    #[test]
    fn compression_keeps_every_line(log in text(), decisions in text(), progress in text()) {
        let it = Fixture::new("//- memory-forge.toml\n[mind]\nkeep_sessions = 1\nkeep_decisions = 1\n");
        it.files.write(".mind/SESSION-LOG.md", &log);
        it.files.write(".mind/DECISIONS.md", &decisions);
        it.files.write(".mind/PROGRESS.md", &progress);
        let mind = it.mind();
        let before = it.files.tree_of_sources();
        match mind.compress_state(false, now()) {
            Err(_) => prop_assert_eq!(it.files.tree_of_sources(), before),
            Ok(_) => {
                let all: String = ["SESSION-LOG", "DECISIONS", "PROGRESS", "ARCHIVE"]
                    .iter()
                    .filter_map(|name| std::fs::read_to_string(it.files.path(&format!(".mind/{name}.md"))).ok())
                    .collect();
                let lines = log.lines().chain(decisions.lines()).chain(progress.lines());
                for line in lines.filter(|it| !it.trim().is_empty()) {
                    prop_assert!(all.lines().any(|it| it == line), "{line:?} is gone from\n{all}");
                }
                let once = it.files.tree_of_sources();
                mind.compress_state(false, now()).unwrap();
                prop_assert_eq!(it.files.tree_of_sources(), once);
            }
        }
    }

    #[test]
    fn caps_hold_and_what_matters_is_in(
        filler in "(?s)[a-zA-Z0-9 .,;日本語é🦀\n-]{0,200}",
        repeat in 0usize..200,
        long in 0usize..3000,
        sessions in text(),
        compact in any::<bool>(),
        events in prop::collection::vec("(?s).{0,300}", 0..20),
    ) {
        let filler = filler.replace("##", "").repeat(repeat);
        let it = Fixture::new("");
        it.files.write(".mind/STATE.md", format!(
            "# Project State\n\n## Notes\n{filler}\n\n## Current Phase\nPHASE {}\n\n## Blocked Items\n- BLOCKER one {}\n- BLOCKER two\n\n## Next Action\nNEXTACTION {}\n",
            "p".repeat(long), "b ".repeat(long), "日".repeat(long),
        ));
        it.files.write(".mind/SESSION-LOG.md", &sessions);
        it.files.write(".mind/PROGRESS.md", format!("### In Progress\n{}", "- [ ] task and words\n".repeat(repeat)));
        for n in 1..4 {
            let text = format!("\n## DEC-{n:03}: title {n}\n- **Decision:** {filler}\n");
            let path = it.files.path(".mind/DECISIONS.md");
            let old = std::fs::read_to_string(&path).unwrap_or_default();
            it.files.write(".mind/DECISIONS.md", old + &text);
        }
        let mind = it.mind();
        mind.write_checkpoint("auto", now()).unwrap();
        let source = if compact { SessionStartReason::Compact } else { SessionStartReason::Startup };
        let briefing = brief_start(&mind, &ask(source, &events));
        let tokens = crate::tokens::estimate_tokens(&briefing.text);
        prop_assert!(tokens <= MAX_BRIEF_TOKENS, "{tokens}");
        prop_assert!(briefing.text.len() < MAX_BRIEF_BYTES, "{}", briefing.text.len());
        for part in ["NEXTACTION", "BLOCKER one", "PHASE", "## DEC-003: title 3"] {
            prop_assert!(briefing.text.contains(part), "{part}: {}", briefing.text);
        }
        let nudge = prompt_line(&mind, now()).unwrap();
        prop_assert!(nudge.chars().count() <= 200 && !nudge.contains('\n'));
    }
}
