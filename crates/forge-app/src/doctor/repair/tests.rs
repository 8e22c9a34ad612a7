use super::*;
use crate::document::LinkKind;
use proptest::prelude::*;
use testkit::TestWorkspace;

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z".parse().unwrap()
}

/// Repairs and gives what was left alone.
fn repair(ws: &TestWorkspace) -> Vec<String> {
    repair_named(ws, &[])
}

fn repair_named(ws: &TestWorkspace, named: &[&str]) -> Vec<String> {
    let workspace = Workspace::open(ws.root()).unwrap();
    let named: Vec<RelPath> = named.iter().map(|it| RelPath::new(it).unwrap()).collect();
    let repair = plan_repair(&workspace, &named, now());
    repair.proposal.apply(&workspace, "Repair", now()).unwrap();
    let left = repair.left_alone.into_iter();
    left.map(|one| format!("{}: {}", one.path, one.why))
        .collect()
}

fn prose(words: usize) -> String {
    "some words about the project that fill it up. ".repeat(words / 9)
}

/// D26: "Nested files are touched only when named."
#[test]
fn nested_files_are_touched_only_when_named() {
    let ws = TestWorkspace::empty();
    let nested = format!("# A\n\n{}", prose(900));
    ws.write("CLAUDE.md", format!("# Root\n\n{}", prose(900)));
    ws.write("packages/a/AGENTS.md", &nested);
    ws.write("small/CLAUDE.md", "# Small\n");
    ws.write("notes/plan.md", "# Plan\n");
    assert_eq!(repair(&ws), Vec::<String>::new());
    assert_eq!(ws.read("packages/a/AGENTS.md"), nested);
    assert!(!ws.exists("knowledge/legacy/packages-a-AGENTS.md"));
    let left = repair_named(&ws, &["packages/a/AGENTS.md", "notes/plan.md"]);
    assert!(
        left.len() == 1 && left[0].starts_with("notes/plan.md: "),
        "{left:?}"
    );
    assert!(
        ws.read("CLAUDE.md")
            .contains("`knowledge/legacy/CLAUDE.md`")
    );
    let legacy = ws.read("knowledge/legacy/packages-a-AGENTS.md");
    assert_eq!(
        legacy,
        format!(
            "---\nsource: packages/a/AGENTS.md\ndate: 2026-03-01\n---\n\n# A\n\n{}",
            prose(900)
        )
    );
    assert_eq!(ws.read("small/CLAUDE.md"), "# Small\n");
    let readme = ws.read("knowledge/README.md");
    assert!(
        readme.contains("- [Root](legacy/CLAUDE.md) — some words about"),
        "{readme}"
    );
}

#[test]
fn what_grew_again_is_added_and_nothing_is_overwritten() {
    let ws = TestWorkspace::empty();
    ws.write("CLAUDE.md", format!("# One\n\n{}", prose(900)));
    repair(&ws);
    let first = ws.read("knowledge/legacy/CLAUDE.md");
    let grown = format!("{}\nnew {}\n", ws.read("CLAUDE.md"), prose(900));
    ws.write("CLAUDE.md", &grown);
    repair(&ws);
    let both = ws.read("knowledge/legacy/CLAUDE.md");
    assert_eq!(
        both,
        format!("{first}\n\n## From `CLAUDE.md` on 2026-03-01\n\n{grown}")
    );
    let before = ws.tree_of_sources();
    repair(&ws);
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn what_it_is_unsure_of_stays() {
    let ws = TestWorkspace::empty();
    let marked = format!(
        "<!-- memory-forge:keep -->\n{}\n<!-- /memory-forge:keep -->\nx\n",
        prose(900)
    );
    ws.write("a/CLAUDE.md", format!("{marked}{}", prose(100)));
    ws.write("b/AGENTS.md", b"\xff\xfe not text");
    ws.write("c/AGENTS.md", format!("# C\n\n{}", prose(900)));
    ws.write("knowledge/legacy/c-AGENTS.md", b"\xff");
    let before = ws.tree_of_sources();
    let left = repair_named(&ws, &["a/CLAUDE.md", "b/AGENTS.md", "c/AGENTS.md"]);
    assert_eq!(left.len(), 3, "{left:#?}");
    assert!(
        left[0].starts_with(
            "a/CLAUDE.md: What must stay (rules, imports, commands, marked lines) has"
        ),
        "{left:#?}"
    );
    assert!(
        left[1].starts_with("b/AGENTS.md: ") && left[1].contains("not UTF-8"),
        "{left:#?}"
    );
    assert!(
        left[2].starts_with("c/AGENTS.md: ") && left[2].contains("c-AGENTS.md"),
        "{left:#?}"
    );
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
#[cfg(unix)]
fn a_symlink_is_not_written_through() {
    use std::os::unix::fs::symlink;
    let ws = TestWorkspace::empty();
    ws.write("AGENTS.md", format!("# T\n\n{}", prose(900)));
    symlink("AGENTS.md", ws.path("CLAUDE.md")).unwrap();
    ws.write("docs/rules.md", prose(900));
    symlink("../docs/rules.md", ws.path("docs/AGENTS.md")).unwrap();
    assert_eq!(
        repair_named(&ws, &["AGENTS.md", "docs/AGENTS.md"]),
        ["docs/AGENTS.md: It is a symlink to `docs/rules.md`, and links are never written through"]
    );
    assert!(ws.path("CLAUDE.md").is_symlink());
    assert!(
        ws.read("CLAUDE.md")
            .contains("`knowledge/legacy/AGENTS.md`")
    );
    assert_eq!(ws.read("docs/rules.md"), prose(900));
}

/// Seed 000: "`SKILL.md` (each) | > 300 tokens | > 600 tokens", and what
/// `audit` says that `doctor --fix` does, it does.
#[test]
fn an_overgrown_skill_moves_its_explanations_to_references() {
    let ws = TestWorkspace::empty();
    let skill = ".claude/skills/pay/SKILL.md";
    let text = format!(
        "---\nname: pay\ndescription: Pay.\n---\n\n# Pay\n\nNever pay twice.\n\n## Why\n\n{}\n",
        prose(900)
    );
    ws.write(skill, &text);
    let nested = "packages/a/.claude/skills/pay/SKILL.md";
    ws.write(nested, &text);
    let before = ws.tree_of_sources();
    assert_eq!(repair(&ws), Vec::<String>::new());
    let core = ws.read(skill);
    assert!(count_tokens(Tokenizer::O200k, &core) <= 300, "{core}");
    assert!(core.contains("Never pay twice.") && core.contains("`references/details.md`"));
    let details = ws.read(".claude/skills/pay/references/details.md");
    assert_eq!(details, format!("# Pay\n\n## Why\n\n{}\n", prose(900)));
    assert_eq!(ws.read(nested), text, "nested files are left alone");
    // Twice is once.
    let repaired = ws.tree_of_sources();
    repair(&ws);
    assert_eq!(ws.tree_of_sources(), repaired);
    // Undo gives every byte back.
    let workspace = Workspace::open(ws.root()).unwrap();
    workspace.undo(None, now()).unwrap();
    assert_eq!(ws.tree_of_sources(), before);
    repair(&ws);
    assert_eq!(ws.tree_of_sources(), repaired);
    // What grew again is added to what is there.
    ws.write(skill, format!("{core}\n## More\n\n{}\n", prose(900)));
    repair(&ws);
    assert_eq!(ws.read(skill), core);
    let both = ws.read(".claude/skills/pay/references/details.md");
    assert!(
        both.starts_with(&details) && both.contains("## More"),
        "{both}"
    );
}

#[test]
fn a_skill_of_rules_alone_is_left_alone() {
    let ws = TestWorkspace::empty();
    let rules = "- Never call the provider twice with one key.\n".repeat(60);
    ws.write(
        ".opencode/skill/pay/SKILL.md",
        format!("---\nname: pay\n---\n\n{rules}"),
    );
    let before = ws.tree_of_sources();
    let left = repair(&ws);
    assert!(
        left[0].starts_with(".opencode/skill/pay/SKILL.md: "),
        "{left:?}"
    );
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn a_file_that_changes_after_the_diff_stops_all_of_it() {
    let ws = TestWorkspace::empty();
    ws.write("CLAUDE.md", format!("# T\n\n{}", prose(900)));
    let workspace = Workspace::open(ws.root()).unwrap();
    let shown = plan_repair(&workspace, &[], now());
    ws.write("CLAUDE.md", format!("# T\n\nedited\n\n{}", prose(900)));
    let before = ws.tree_of_sources();
    let refused = shown
        .proposal
        .apply(&workspace, "Repair", now())
        .unwrap_err();
    assert!(
        refused.to_string().contains("was edited in the meantime"),
        "{refused}"
    );
    assert_eq!(ws.tree_of_sources(), before);
}

/// Pieces of which people's files are made.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("# Title".to_owned()),
        Just("## Commands".to_owned()),
        Just("## Why".to_owned()),
        Just("Setext\n===".to_owned()),
        Just("```sh\nmake test\n```".to_owned()),
        Just("```rust\nfn main() {}\n```".to_owned()),
        Just("```\nnever closed".to_owned()),
        Just("<!-- memory-forge:keep -->\nkept\n<!-- /memory-forge:keep -->".to_owned()),
        Just("<!-- memory-forge:keep -->".to_owned()),
        Just("<!-- memory-forge:begin -->\nmine\n<!-- memory-forge:end -->".to_owned()),
        Just("a line <!-- keep -->".to_owned()),
        Just("- see @docs/a.md".to_owned()),
        Just("| a | b |\n|---|---|\n| 1 | 2 |".to_owned()),
        Just("---".to_owned()),
        Just("NEVER do it".to_owned()),
        Just("\u{c}\u{85}odd\u{2028}\u{0}".to_owned()),
        "[ -~]{0,60}",
        Just(prose(150)),
        Just(prose(700)),
    ]
}

fn file() -> impl Strategy<Value = String> {
    let front = prop::option::of(Just("---\nkey: value\n---\n".to_owned()));
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    (
        any::<bool>(),
        front,
        prop::collection::vec(piece(), 0..14),
        end,
        any::<bool>(),
    )
        .prop_map(|(bom, front, pieces, end, last)| {
            let mut text = front.unwrap_or_default();
            text.push_str(&pieces.join("\n\n"));
            if last {
                text.push('\n');
            }
            let text = text.replace('\n', end);
            if bom { format!("\u{feff}{text}") } else { text }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_is_lost_twice_is_once_and_undo_restores_the_bytes(
        claude in file(),
        agents in prop::option::of(file()),
        existing in prop::option::of(file()),
        readme in prop::option::of(file()),
    ) {
        let ws = TestWorkspace::empty();
        ws.write("CLAUDE.md", &claude);
        if let Some(text) = &agents {
            ws.write("AGENTS.md", text);
        }
        if let Some(text) = &existing {
            ws.write("knowledge/legacy/CLAUDE.md", text);
        }
        if let Some(text) = &readme {
            ws.write("knowledge/README.md", text);
        }
        let before = ws.tree_of_sources();
        let workspace = Workspace::open(ws.root()).unwrap();
        let first = plan_repair(&workspace, &[], now());
        let receipt = first.proposal.apply(&workspace, "Repair", now()).unwrap();

        for step in &first.steps {
            let RepairStep::Stub { path, legacy, before, after } = step else { continue };
            let original = if path.as_str() == "CLAUDE.md" { Some(&claude) } else { agents.as_ref() };
            let original = original.unwrap();
            let body = original.strip_prefix('\u{feff}').unwrap_or(original);
            prop_assert!(ws.read(legacy.as_str()).contains(body), "all of it is kept");
            let stub = ws.read(path.as_str());
            prop_assert_eq!(stub.starts_with('\u{feff}'), original.starts_with('\u{feff}'));
            prop_assert!(after < before);
            prop_assert_eq!(count_tokens(Tokenizer::O200k, &stub), *after);
            prop_assert!(stub.contains(legacy.as_str()));
            // What its author marked is still there, and so is what is imported.
            let mark = "a line <!-- keep -->";
            prop_assert_eq!(stub.contains(mark), original.contains(mark));
            let imports = |text: &str| {
                let links = crate::document::parse_document(text).links;
                links.iter().filter(|link| link.kind == LinkKind::Import).count()
            };
            prop_assert_eq!(imports(&stub), imports(original));
            let front = |text: &str| crate::document::parse_document(text).front_matter.map(|f| f.entries);
            prop_assert_eq!(front(&stub), front(original));
        }
        if let Some(text) = &existing {
            prop_assert!(ws.read("knowledge/legacy/CLAUDE.md").starts_with(text.as_str()));
        }

        let repaired = ws.tree_of_sources();
        let again = plan_repair(&workspace, &[], "2026-04-02T09:00:00Z".parse().unwrap());
        prop_assert!(again.proposal.is_empty(), "twice is once: {:?}", again.steps);
        prop_assert_eq!(ws.tree_of_sources(), repaired);

        if receipt.id.is_some() {
            workspace.undo(None, now()).unwrap();
        }
        prop_assert_eq!(ws.tree_of_sources(), before);
    }
}
