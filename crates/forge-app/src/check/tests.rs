use std::collections::BTreeSet;

use testkit::TestWorkspace;

use super::*;
use crate::workspace::Workspace;

#[test]
fn every_id_is_registered_once_and_every_view_finds_its_checks() {
    let ids: BTreeSet<CheckId> = CHECK_REGISTRY.iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), CHECK_REGISTRY.len(), "an id is there twice");
    let source = include_str!("../finding.rs");
    let named = source.matches(": CheckId = CheckId(").count();
    assert_eq!(named, CHECK_REGISTRY.len(), "an id has no check");
    for view in CheckView::ALL {
        let unique: BTreeSet<&CheckId> = view.check_ids().iter().collect();
        assert_eq!(unique.len(), view.check_ids().len(), "{view:?}");
        assert_eq!(view.checks().count(), view.check_ids().len(), "{view:?}");
    }
    for kind in crate::routing::closets::check::ClosetMismatchKind::ALL {
        let id = format!("closets.{}", kind.name());
        assert!(ids.iter().any(|it| it.as_str() == id), "{id}");
    }
    let seen = |check: &CheckDefinition| {
        CheckView::ALL
            .iter()
            .any(|it| it.check_ids().contains(&check.id))
    };
    assert!(CHECK_REGISTRY.iter().all(seen), "a check is in no view");
}

#[test]
fn check_selects_what_six_commands_select() {
    let six = [
        CheckView::Lint,
        CheckView::Links,
        CheckView::Graph,
        CheckView::Closets,
        CheckView::Consolidate,
        CheckView::Health,
    ];
    let mut theirs: BTreeSet<CheckId> = six.iter().flat_map(|it| it.check_ids()).copied().collect();
    // A workspace need not keep a state; where it does, `state.stale` names a
    // file that is missing. Settings are for `doctor`.
    theirs.remove(&CheckId::STATE_MISSING);
    theirs.remove(&CheckId::SETTINGS_INVALID);
    let own: BTreeSet<CheckId> = CheckView::All.check_ids().iter().copied().collect();
    assert_eq!(own, theirs);
}

#[test]
fn each_view_has_its_own_threshold() {
    let check = |view: CheckView, id, severity, expect| {
        let finding = CheckFinding::new(id, severity, "x");
        assert_eq!(
            view.is_failure(&finding),
            expect,
            "{view:?} {id} {severity:?}"
        );
    };
    use CheckSeverity::{Error, Info, Warning};
    use CheckView::{Agents, All, Closets, Consolidate, Doctor, Graph, Health, Links, Lint};
    check(Doctor, CheckId::INDEX_DAMAGED, Warning, false);
    check(Doctor, CheckId::INDEX_DAMAGED, Error, true);
    for view in [All, Lint, Health] {
        check(view, CheckId::STATE_STALE, Info, false);
        check(view, CheckId::STATE_STALE, Warning, true);
        check(view, CheckId::STATE_STALE, Error, true);
    }
    check(Links, CheckId::LINKS_PLACE, Warning, false);
    check(Links, CheckId::LINKS_AMBIGUOUS, Warning, false);
    check(Links, CheckId::LINKS_MISSING, Error, true);
    check(Graph, CheckId::GRAPH_DANGLING, Warning, true);
    check(Closets, CheckId::CLOSETS_STALE, Warning, true);
    check(Consolidate, CheckId::NOTES_DUPLICATE, Info, false);
    check(Consolidate, CheckId::DECISIONS_SUPERSEDED, Warning, false);
    check(Consolidate, CheckId::DECISIONS_FULL, Warning, true);
    check(Agents, CheckId::AGENTS_POINTER, Warning, true);
}

/// `doctor` is run often; it must not read every note for the graph.
#[test]
fn doctor_reads_neither_links_nor_graph() {
    let ws = TestWorkspace::files("//- knowledge/a.md\n# A\n\n[[gone]]\n");
    let workspace = Workspace::open(ws.root()).unwrap();
    let now = "2026-03-01T09:00:00Z".parse().unwrap();
    let survey = WorkspaceSurvey::from_workspace(&workspace, now);
    CheckView::Doctor.run(&survey);
    assert!(!survey.has_read_notes());
    CheckView::Graph.run(&survey);
    assert!(survey.has_read_notes());
}

#[test]
fn what_a_workspace_lacks_is_skipped_with_a_reason() {
    let ws = TestWorkspace::empty();
    let workspace = Workspace::open(ws.root()).unwrap();
    let survey =
        WorkspaceSurvey::from_workspace(&workspace, "2026-03-01T09:00:00Z".parse().unwrap());
    let checks = select_checks(&[]).unwrap();
    let report = check_workspace(&survey, &checks);
    for result in &report.results {
        let skipped = matches!(&result.outcome, CheckOutcome::Skipped(why) if !why.is_empty());
        let passed = matches!(result.outcome, CheckOutcome::Passed(_));
        assert!(skipped || passed && result.check.id == CheckId::STATE_ERROR_LOG);
    }
}

#[test]
fn a_fault_that_several_checks_see_is_reported_once() {
    let ws = TestWorkspace::files(
        "
        //- _MANIFEST.md
        # Context Routing
        <!-- memex-managed:2.1.3 -->
        <!-- summary-format-version:2 -->

        ## Hub Map
        | Domain | Hub | Summary |
        |---|---|---|
        | Garden | [[garden/_CLOSETS]] | Beds |
        //- garden/_CLOSETS.md
        # Closets: garden

        ## [[gone]]
        - subjects: gone
        //- garden/new.md
        # New
        ",
    );
    let workspace = Workspace::open(ws.root()).unwrap();
    let survey =
        WorkspaceSurvey::from_workspace(&workspace, "2026-03-01T09:00:00Z".parse().unwrap());
    let only = ["closets", "links", "manifest.unlisted"].map(str::to_owned);
    let report = check_workspace(&survey, &select_checks(&only).unwrap());
    let found: Vec<&str> = report.findings().map(|it| it.check.as_str()).collect();
    assert_eq!(
        found,
        ["closets.no-marker", "closets.missing", "closets.orphan"]
    );
}

#[test]
fn words_that_select_nothing_are_refused() {
    let words = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(select_checks(&words(&["links.missing"])).unwrap().len(), 1);
    assert_eq!(select_checks(&words(&["links"])).unwrap().len(), 4);
    assert_eq!(
        select_checks(&words(&["links", "lnks"])).err(),
        Some("lnks")
    );
}
