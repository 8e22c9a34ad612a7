//! Contexts as agents get them, and the defects of an earlier tool that must
//! not come back.

use testkit::TestWorkspace;

use super::*;

const SQUAD: &str = "
    //- .agents/SYSTEM.md
    # Protocol
    Report what you did.
    //- .agents/memory/company/strategy.md
    # Strategy
    Sell shovels.
    //- .agents/memory/company/founder-context.md
    Raise prices in May.
    //- .agents/memory/eng/goals.md
    ---
    squad: eng
    updated: 2026-11-10
    ---
    ## Active
    - Ship the billing page
    //- .agents/memory/eng/founder-alignment.md
    Billing comes first.
    //- .agents/squads/eng/SQUAD.md
    Metadata that is never shown.
    //- .agents/squads/eng/builder.md
    ---
    role: worker
    context_from: [sales, growth]
    ---
    # Builder
    You build.
    //- .agents/memory/eng/builder/MEMORY.md
    - [api](api.md) — revision 37 is deployed
    //- .agents/memory/eng/builder/state.md
    Old state.
    //- .agents/memory/eng/builder/feedback.md
    Write tests first.
    //- .agents/memory/eng/feedback.md
    The squad is slow.
    //- .agents/memory/daily-briefing.md
    Rain today.
    //- .agents/memory/growth/shared/learnings.md
    Growth learnt this.
    //- .agents/memory/sales/shared/learnings.md
    Sales learnt that.
";

/// A context as its readers see it.
#[derive(Debug, PartialEq)]
struct Assembly {
    manifest: ContextReport,
    text: String,
}

struct Fixture {
    files: TestWorkspace,
}

impl Fixture {
    fn new(more: &str) -> Fixture {
        let files = TestWorkspace::files(SQUAD);
        files.add(more);
        Fixture { files }
    }

    fn asked(&self, asked: &ContextRequest<'_>) -> Result<Assembly, ContextError> {
        let brief = brief_agent(&Workspace::open(self.files.root()).unwrap(), asked)?;
        let BriefDetail::Context(manifest) = brief.detail else {
            panic!("{brief:?} has no manifest");
        };
        assert_eq!(brief.parts.len(), manifest.layers.len());
        Ok(Assembly {
            manifest: *manifest,
            text: brief.text,
        })
    }

    #[track_caller]
    fn of(&self, scope: ContextScope, agent: &str) -> Assembly {
        self.asked(&ask(scope, agent)).unwrap()
    }

    fn policy(&self, yaml: &str) {
        self.files.write(POLICY_FILE, yaml);
    }
}

fn ask(scope: ContextScope, agent: &str) -> ContextRequest<'_> {
    ContextRequest {
        scope,
        squad: "eng",
        agent,
        role: None,
        now: "2026-11-15T10:00:00Z".parse().unwrap(),
    }
}

/// Keys of the layers that are in, in their order.
fn keys(it: &Assembly) -> Vec<&str> {
    let layers = it.manifest.layers.iter();
    layers
        .filter(|layer| layer.state == LayerState::Ok)
        .map(|layer| layer.key.as_str())
        .collect()
}

/// Without what is said about age, which is the only thing that may change.
fn without_age(text: &str) -> &str {
    text.split(AGE_HEADING).next().unwrap().trim_end()
}

#[test]
fn one_order_for_text_and_manifest() {
    let it = Fixture::new("").of(ContextScope::Run, "builder");
    assert_eq!(it.manifest.role, "worker");
    assert_eq!(
        keys(&it),
        ["system", "company", "goals", "agent", "state", "feedback"]
    );
    let mut at = 0;
    for part in [
        "# CONTEXT\n\n## L0 System\n\n# Protocol",
        "## L1 Company\n\n# Strategy",
        "## L2 Goals\n\n## Active\n- Ship the billing page",
        "### founder-context\n\nRaise prices in May.",
        "### founder-alignment\n\nBilling comes first.",
        "## L3 Agent\n\n# Builder",
        "## L4 Memory\n\n<data ",
        "- [api](api.md) — revision 37 is deployed",
        "## L5 Feedback (act on this first)",
        "Write tests first.",
        "The squad is slow.",
    ] {
        let found = it.text[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part:?} in {}", it.text));
    }
    assert!(!it.text.contains("Metadata") && !it.text.contains("Old state"));
    assert!(!it.text.contains("squad: eng") && !it.text.contains("role: worker"));
    let text = it.manifest.render_text();
    assert!(
        text.starts_with("Context manifest — eng/builder\nscope: run · role: worker · policy: ")
    );
    assert!(text.contains("\nTotals: ") && text.contains("\nBudget: 60,000 characters"));
}

#[test]
fn what_is_asked_for_decides_about_channels() {
    let it = Fixture::new("");
    let lead = |scope| {
        let asked = ContextRequest {
            role: Some("lead"),
            ..ask(scope, "builder")
        };
        it.asked(&asked).unwrap()
    };
    let run = lead(ContextScope::Run);
    let all = keys(&run);
    assert_eq!(all.len(), 7);
    assert_eq!(keys(&lead(ContextScope::Session)), all[..6]);
    assert_eq!(keys(&lead(ContextScope::Tick)), all[4..]);
    let last = run.manifest.layers.last().unwrap();
    assert_eq!(last.supporting, ["learnings:growth", "learnings:sales"]);
    let scanner = ContextRequest {
        role: Some("scanner"),
        ..ask(ContextScope::Run, "builder")
    };
    assert_eq!(keys(&it.asked(&scanner).unwrap()), all[..5]);
    let unknown = ContextRequest {
        role: Some("king"),
        ..ask(ContextScope::Run, "builder")
    };
    assert!(matches!(it.asked(&unknown), Err(ContextError::Role { .. })));
}

#[test]
fn memory_falls_back_to_the_state() {
    let it = Fixture::new("");
    it.files.remove(".agents/memory/eng/builder/MEMORY.md");
    let text = it.of(ContextScope::Tick, "builder").text;
    assert!(text.contains("Old state."), "{text}");
}

#[test]
fn a_missing_required_layer_fails_loudly() {
    let it = Fixture::new("");
    it.files.remove(".agents/memory/eng/goals.md");
    let it = it.of(ContextScope::Run, "builder");
    assert_eq!(it.manifest.failed_required, ["goals"]);
    let text = it.manifest.render_text();
    assert!(
        text.contains("L2 Goals") && text.contains("MISSING"),
        "{text}"
    );
    assert!(
        text.contains(
            "FAIL LOUD: required layer L2 goals is missing; write .agents/memory/eng/goals.md"
        ),
        "{text}"
    );
}

#[test]
fn a6_what_was_written_for_the_lead_is_read_for_the_lead() {
    for (written, read) in [
        ("lead", "eng-lead"),
        ("eng-lead", "lead"),
        ("squad-lead", "lead"),
        ("lead", "lead"),
        ("builder", "builder"),
    ] {
        let it = Fixture::new("");
        it.files.remove(".agents/memory/eng/builder/feedback.md");
        let path = format!(".agents/memory/eng/{written}/feedback.md");
        it.files.write(&path, "Rating 4 of 5.\n");
        let text = it.of(ContextScope::Tick, read).text;
        assert!(text.contains("Rating 4 of 5."), "{written} {read}: {text}");
    }
}

#[test]
fn a9_rules_are_not_front_matter() {
    let it = Fixture::new("");
    let text = "# Strategy\n\n---\n\nKept between rules.\n\n---\n\nKept below.\n";
    it.files.write(".agents/memory/company/strategy.md", text);
    it.files.write(
        ".agents/memory/eng/builder/MEMORY.md",
        "---\n\nNot: yaml\n\n---\n\nPointer.\n",
    );
    let text = it.of(ContextScope::Run, "builder").text;
    for part in [
        "Kept between rules.",
        "Kept below.",
        "Not: yaml",
        "Pointer.",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a10_nested_overrides_apply() {
    let it = Fixture::new("");
    it.policy(
        "# ours\nroles:\n  worker:\n    budget_chars: 5000\n    caps:\n      state: 30\n  scout:\n    layers: [0, 2]\n    budget_chars: 900\n",
    );
    let worker = it.of(ContextScope::Run, "builder").manifest;
    assert_eq!(worker.budget_chars, 5000);
    // What is not named stays as it was.
    assert_eq!(worker.layers.len(), 6);
    let scout = ContextRequest {
        role: Some("scout"),
        ..ask(ContextScope::Run, "builder")
    };
    assert_eq!(keys(&it.asked(&scout).unwrap()), ["system", "goals"]);
    for nothing in ["", "# nothing but a remark\n", "roles:\nlayers:\n"] {
        it.policy(nothing);
        let manifest = it.of(ContextScope::Run, "builder").manifest;
        assert_eq!(manifest.budget_chars, 60_000, "{nothing:?}");
    }
}

#[test]
fn a11_the_hash_sees_nested_keys_and_no_order() {
    let hash = |yaml: &str| ContextPolicy::parse(yaml).unwrap().hash;
    let plain = hash("");
    assert_eq!(plain.len(), 16);
    assert!(plain.bytes().all(|b| b.is_ascii_hexdigit()));
    let one = hash("roles:\n  worker:\n    budget_chars: 1000\n");
    let two = hash("roles:\n  worker:\n    budget_chars: 1001\n");
    let deep = hash("roles:\n  worker:\n    caps:\n      state: 7\n");
    assert!(plain != one && one != two && deep != plain);
    let a = "roles:\n  worker: { budget_chars: 9, caps: { state: 1, goals: 2 } }\n";
    let b = "roles:\n  worker: { caps: { goals: 2, state: 1 }, budget_chars: 9 }\n";
    assert_eq!(hash(a), hash(b));
    assert_eq!(hash("roles:\n  worker:\n    budget_chars: 60000\n"), plain);
}

#[test]
fn a12_the_text_follows_the_policy_as_the_manifest_does() {
    let it = Fixture::new("//- docs/rules.md\nOur own rules for eng/builder.\n");
    it.policy(
        "layers:\n  - { id: 4, key: rules, name: Rules, paths: ['docs/rules.md'], required: true }\n  - { id: 2, key: aims, name: Aims, paths: ['.agents/memory/{squad}/goals.md'] }\n",
    );
    let it = it.of(ContextScope::Run, "builder");
    assert_eq!(keys(&it), ["aims", "rules"]);
    assert!(it.text.contains("Our own rules"), "{}", it.text);
    assert!(!it.text.contains("Protocol") && !it.text.contains("Sell shovels"));
}

#[test]
fn what_was_put_away_or_lies_outside_is_refused() {
    let check = |path: &str, why: &str| {
        let yaml = format!("layers:\n  - {{ id: 1, key: x, paths: ['{path}'] }}\n");
        let error = ContextPolicy::parse(&yaml).unwrap_err().to_string();
        assert!(error.contains(why), "{path}: {error}");
    };
    check(".agents/archive/x.md", "out of use");
    check("knowledge/Tombstoned/{squad}.md", "out of use");
    check("../outside.md", "");
    check("/etc/passwd", "");
    check("{home}/x.md", "only `{squad}`");
    for wrong in [
        "roles: 3\n",
        "roles:\n  worker:\n    budget_chars: many\n",
        "layers: 3\n",
        "layers:\n  - { id: 1, key: a, paths: [a.md] }\n  - { id: 1, key: b, paths: [b.md] }\n",
        "layers:\n  - { id: 1, key: a }\n",
        "rolls: {}\n",
        "roles: [\n",
    ] {
        assert!(ContextPolicy::parse(wrong).is_err(), "{wrong}");
    }
    for bad in ["", "undefined", "a/b", ".."] {
        let asked = ContextRequest {
            squad: bad,
            ..ask(ContextScope::Run, "builder")
        };
        let it = Fixture::new("");
        assert!(
            matches!(it.asked(&asked), Err(ContextError::Agent(_))),
            "{bad:?}"
        );
    }
}

#[test]
fn a_budget_is_hard_and_cuts_say_so() {
    let it = Fixture::new("");
    let long: String = (0..4000)
        .map(|n| format!("Line {n} of the strategy.\n"))
        .collect();
    it.files.write(".agents/memory/company/strategy.md", long);
    it.files.write(
        ".agents/memory/eng/builder/MEMORY.md",
        "- pointer é\n".repeat(900),
    );
    for tokens in [1, 60, 150, 200, 400, 1000, 3000, 20_000] {
        it.files.write(
            ".agents/squads/eng/builder.md",
            format!("---\nmax_context_tokens: {tokens}\n---\n# Builder\n"),
        );
        let it = it.of(ContextScope::Run, "builder");
        assert_eq!(it.manifest.budget_chars, tokens * 4);
        let outside = it.manifest.outside_budget_chars + "## L0 System\n\n\n\n".len();
        let within = it.text.chars().count().saturating_sub(outside);
        assert!(
            within <= tokens * 4 || keys(&it) == ["system"],
            "{tokens}: {within}"
        );
        let opened = it.text.matches("<data ").count();
        assert_eq!(opened, it.text.matches("</data ").count());
        let cut = it
            .manifest
            .layers
            .iter()
            .find(|layer| layer.key == "company");
        let cut = cut.unwrap();
        if (1000..20_000).contains(&tokens) {
            assert!(cut.cut && it.text.contains("[… cut: "), "{tokens}");
            // A long file drives nobody out.
            assert_eq!(
                keys(&it).len(),
                6,
                "{tokens}: {}",
                it.manifest.render_text()
            );
        }
        if tokens <= 60 {
            let evicted = it.manifest.render_text();
            assert!(evicted.contains("EVICTED") && evicted.contains("FAIL LOUD"));
        }
    }
}

#[test]
fn the_same_bytes_on_another_day_but_for_the_ages() {
    let it = Fixture::new("");
    it.policy("roles:\n  worker:\n    budget_chars: 700\n");
    let on = |day: &str| {
        let asked = ContextRequest {
            now: day.parse().unwrap(),
            ..ask(ContextScope::Run, "builder")
        };
        it.asked(&asked).unwrap()
    };
    let today = on("2026-11-15T10:00:00Z");
    assert_eq!(on("2026-11-15T10:00:00Z"), today);
    for day in [
        "2026-11-16T10:00:00Z",
        "2027-08-01T23:00:00Z",
        "2061-01-01T00:00:00Z",
    ] {
        let later = on(day);
        assert_eq!(without_age(&later.text), without_age(&today.text), "{day}");
        assert!(later.text.chars().count() <= 700 + later.manifest.outside_budget_chars + 16);
    }
    let old = on("2061-01-01T00:00:00Z");
    assert!(
        old.text
            .contains(" days ago, stale — verify before relying on it"),
        "{}",
        old.text
    );
    // The files' own word goes before the time of the file.
    let goals = &on("2026-12-10T00:00:00Z").manifest.layers[2];
    assert!(goals.stale && goals.age_days >= Some(30), "{goals:?}");
}

#[test]
fn roles_are_found_by_words() {
    let policy = ContextPolicy::parse("").unwrap();
    let check = |said: Option<&str>, agent: &str, expect: &str| {
        assert_eq!(
            resolve_role(said, agent, &policy),
            expect,
            "{said:?} {agent}"
        );
    };
    check(Some("Verifier"), "x", "verifier");
    check(None, "company-lead", "coo");
    check(None, "eng-lead", "lead");
    check(None, "market-scout", "scanner");
    check(
        Some("reviews code: reviewer and tester"),
        "builder",
        "verifier",
    );
    check(Some("does things"), "code-builder", "worker");
    check(None, "lead-reviewer", "worker");
    check(None, "whatever", "worker");
}

#[test]
fn a_corrected_fact_comes_with_its_correction() {
    let it = Fixture::new("");
    it.files.write(
        "knowledge/_FORGOTTEN.md",
        "# Forgotten\n\n## Corrected facts\n\n- \"revision 37 is deployed\" — corrected 2026-11-14, instead \"revision 38 is deployed\"\n",
    );
    let text = it.of(ContextScope::Tick, "builder").text;
    assert!(
        text.contains("instead: \"revision 38 is deployed\""),
        "{text}"
    );
}
