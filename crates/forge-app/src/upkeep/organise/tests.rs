use proptest::prelude::*;
use testkit::TestWorkspace;

use super::*;

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z".parse().unwrap()
}

fn plan(files: &str) -> OrganisePlan {
    let ws = TestWorkspace::files(files);
    propose_order(&Workspace::open(ws.root()).unwrap())
}

const NOTES: &str = "\
//- README.md
# Bakery
//- src/main.rs
fn main() {}
//- src/lib.rs
//
//- src/notes.md
# Code notes
//- legal/lease.md
# Lease of the shop

The landlord raises the rent. Tenant and landlord sign the contract.
//- legal/permits.md
# Permits

The landlord and the city sign the contract for the permits.
//- recipes/rye.md
# Rye bread

Flour, water, salt and sourdough. Bake the dough for an hour.
//- recipes/rolls.md
# Rolls

Flour, butter and dough. Bake them early. Ask the landlord? See lease.
//- misc/rent-increase.md
# Rent increase

The landlord wants more rent; the tenant answers. The contract says no.
//- misc/baguette.md
# Baguette

Dough of flour, water and salt. Bake it hot.
//- supplier-mill.md
# Supplier: the mill
//- supplier-dairy.md
# Supplier: the dairy
//- supplier-salt.md
# Supplier: the mine
//- recipes/rye-old.md
# Rye bread

This recipe is outdated.
//- recipes/2023-01-05-cake.md
# Cake

Sugar.
";

#[test]
fn notes_find_their_domain() {
    let plan = plan(NOTES);
    let moves: Vec<String> = plan
        .moves
        .iter()
        .map(|it| format!("{} > {}", it.from, it.to))
        .collect();
    assert_eq!(
        moves,
        [
            "misc/baguette.md > recipes/baguette.md",
            "misc/rent-increase.md > legal/rent-increase.md",
            "supplier-dairy.md > supplier/supplier-dairy.md",
            "supplier-mill.md > supplier/supplier-mill.md",
            "supplier-salt.md > supplier/supplier-salt.md",
        ]
    );
    let domains: Vec<&str> = plan.domains.iter().map(|it| it.folder.as_str()).collect();
    assert_eq!(domains, ["legal", "recipes", "supplier"]);
    assert_eq!(plan.about, "Bakery");
    let stale: Vec<String> = plan
        .archive
        .iter()
        .map(|it| format!("{}: {}", it.file, it.reason))
        .collect();
    assert_eq!(
        stale,
        ["recipes/rye-old.md: has the word \"outdated\" in line 3"],
        "a date alone makes no note stale"
    );
    assert_eq!(plan.conflicts.len(), 1, "{:?}", plan.conflicts);
    assert_eq!(
        plan.conflicts[0].files,
        ["recipes/rye-old.md", "recipes/rye.md"]
    );
    assert!(plan.conflicts[0].why.contains("different texts"));
    let links: Vec<String> = plan
        .links
        .iter()
        .map(|it| format!("{}:{} {} > {}", it.file, it.line, it.text, it.to))
        .collect();
    assert!(
        links.is_empty(),
        "exact names become links without being proposed: {links:?}"
    );
    assert_eq!(plan.catch_alls, ["misc"]);
    // Code and what belongs to the project stay out of it.
    assert!(
        !format!("{plan:?}").contains("src/notes.md")
            && !plan.unsorted.contains(&"README.md".to_owned())
    );
}

#[test]
fn a_folder_of_folders_stands_for_those() {
    let ws = TestWorkspace::files("//- working/legal/a.md\n# A\n//- working/hr/b.md\n# B\n");
    let plan = look::look_at_all(&Workspace::open(ws.root()).unwrap());
    let domains: Vec<&str> = plan.domains.iter().map(|it| it.folder.as_str()).collect();
    assert_eq!(domains, ["working/hr", "working/legal"]);
    assert!(plan.moves.is_empty());
}

/// "On a repository with a working structure the right proposal is none":
/// notes in folders of their own, a diary, the same name for two subjects.
#[test]
fn notes_that_all_are_in_folders_keep_their_order() {
    let ordered = "\
//- README.md
# Notes
//- diary/2019-04-01.md
# Monday

The old mill closed.
//- go/replace-a-process.md
# Replace a process

Call exec.
//- ruby/replace-a-process.md
# Replace a process

Call exec.
";
    let found = plan(ordered);
    let nothing = OrganisePlan {
        version: PLAN_VERSION,
        about: "Notes".to_owned(),
        ..OrganisePlan::default()
    };
    assert_eq!(found, nothing);
    // A catch-all of which nothing finds a place stays: `scratch/` would be
    // another one. Letters that were sent take in nothing.
    let loose = "//- misc/zebra.md\n# Zebra\n\nThe mill closed, and the old baker left.\n\
                 //- letters/2019-04-01.md\n# Letter\n\nThe mill closed, and the old baker left.\n\
                 //- letters/2019-05-01.md\n# Letter\n\nThe mill and the baker.\n";
    assert_eq!(plan(&format!("{ordered}{loose}")), nothing);
}

#[test]
fn a_plan_can_be_read_again_and_errors_name_the_line() {
    let plan = plan(NOTES);
    let text = plan.render("plan.toml");
    assert_eq!(OrganisePlan::parse(&text, "plan.toml").unwrap(), plan);
    let broken = text.replace("moves = [", "moves = [ oops");
    let message = OrganisePlan::parse(&broken, "plan.toml")
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("`plan.toml`") && message.contains("line"),
        "{message}"
    );
    assert!(
        OrganisePlan::parse("version = 2", "p")
            .unwrap_err()
            .to_string()
            .contains("version 2")
    );
}

#[test]
fn a_plan_cannot_lead_out_of_the_workspace() {
    let ws = TestWorkspace::files("//- a.md\n# A\n");
    let workspace = Workspace::open(ws.root()).unwrap();
    for (from, to) in [
        ("a.md", "../a.md"),
        ("/etc/passwd", "b.md"),
        ("a.md", ".git/x.md"),
    ] {
        let plan = OrganisePlan {
            version: PLAN_VERSION,
            moves: vec![PlannedMove {
                from: from.to_owned(),
                to: to.to_owned(),
                why: String::new(),
            }],
            ..OrganisePlan::default()
        };
        assert!(apply_plan(&workspace, &plan, now()).is_err(), "{from} {to}");
    }
}

proptest! {
    #[test]
    fn any_name_survives_the_file(from in any::<String>(), to in any::<String>(), why in any::<String>()) {
        let plan = OrganisePlan {
            version: PLAN_VERSION,
            about: why.clone(),
            domains: vec![PlannedDomain { folder: to.clone(), name: why.clone(), about: from.clone() }],
            moves: vec![PlannedMove { from: from.clone(), to: to.clone(), why: why.clone() }],
            archive: vec![StaleNote { file: from.clone(), reason: why.clone() }],
            links: vec![LateralLink { file: from.clone(), line: 3, text: why.clone(), to: to.clone() }],
            catch_alls: vec![to.clone()],
            references: vec![ReferenceNote { file: from.clone(), kind: why.clone() }],
            conflicts: vec![NoteConflict { files: vec![from.clone(), to], why }],
            unsorted: vec![from],
        };
        prop_assert_eq!(OrganisePlan::parse(&plan.render("x"), "x").unwrap(), plan);
    }
}
