use forge_text::document::EditError;
use proptest::prelude::*;
use testkit::TestWorkspace;

use super::*;
use crate::workspace::FileRole;

const CURRENT: &str = "\
# Context Routing
<!-- memex-managed:2.1.3 -->
<!-- summary-format-version:2 -->
> Read this first.

## Tier 1 - Always Load

| File | Summary | Volatility |
|---|---|---|
| [[memory/status]] | Where it stands | VOLATILE |
| [[glossary]] | Words \\| names | STABLE |

## Tier 2 - By Domain

### Legal

Closets: [[legal/_CLOSETS]]

### People

Closets: [[people/_CLOSETS]]
Hub: [[people-index]]

## Tier 3 - Archive

| File | Reason | Date |
|---|---|---|
| [[old-lease]] | Ended | 2026-01-02 |

## Hub Map

| Domain | Hub | Summary |
|---|---|---|
| Legal | [[legal/_CLOSETS]] | Contracts |
| People | [[people-index]] | Who is who |
";

const OLDER: &str = "\
# Context Routing

## Config

| Key | Value |
|---|---|
| Session log | `notes/log.md` |
| status.md | [[notes/now]] |

## Tier 1: Always load

| File | Purpose | Freshness |
|---|---|---|
| `memory/status.md` | State | Daily |

## Hub Map

| Domain | Hub File | Purpose |
|---|---|---|
| **Legal Docs** | [hub](working/legal/legal-index.md) | Contracts |
";

#[test]
fn the_current_shape() {
    let manifest = Manifest::parse(CURRENT);
    assert_eq!(manifest.mode(), ManifestMode::Full);
    assert_eq!(manifest.version(), Some("2.1.3"));
    assert_eq!(manifest.age(), Some(VersionAge::Current));
    assert_eq!(manifest.summary_format(), Some(2));
    assert_eq!(manifest.domains(), ["legal", "people"]);
    let shown: Vec<String> = manifest
        .entries()
        .iter()
        .map(|e| format!("{:?} {}|{}|{}|{}", e.part, e.name, e.target, e.text, e.note))
        .collect();
    assert_eq!(
        shown,
        [
            "Tier1 |memory/status|Where it stands|VOLATILE",
            "Tier1 |glossary|Words | names|STABLE",
            "Tier3 |old-lease|Ended|2026-01-02",
            "HubMap Legal|legal/_CLOSETS|Contracts|",
            "HubMap People|people-index|Who is who|",
            "Tier2 Legal|legal/_CLOSETS||",
            "Tier2 People|people/_CLOSETS||",
            "Tier2 People|people-index||",
        ]
    );
    let retired = manifest.retired_files();
    assert!(retired.contains_path("legal/Old-Lease.md") && retired.contains_path("old-lease.md"));
    assert!(!retired.contains_path("legal/very-old-lease.md"));
}

#[test]
fn an_older_shape_without_a_marker() {
    let manifest = Manifest::parse(OLDER.replace('\n', "\r\n"));
    assert_eq!(manifest.mode(), ManifestMode::Compatible);
    assert_eq!((manifest.version(), manifest.age()), (None, None));
    assert_eq!(manifest.config_value("session-log"), Some("notes/log"));
    assert_eq!(manifest.config_value("status"), Some("notes/now"));
    let first = manifest.entries_of(ManifestPart::Tier1).next().unwrap();
    assert_eq!(
        (first.target.as_str(), first.text.as_str()),
        ("memory/status", "State")
    );
    assert_eq!(first.note, "Daily");
    assert_eq!(manifest.domains(), ["working/legal"]);
}

#[test]
fn modes_and_ages() {
    let check = |text: &str, mode: ManifestMode, age: Option<VersionAge>| {
        let manifest = Manifest::parse(text);
        assert_eq!((manifest.mode(), manifest.age()), (mode, age), "{text:?}");
    };
    check("", ManifestMode::Absent, None);
    check("# Something else\n\ntext\n", ManifestMode::Absent, None);
    check("## Tier 1 - Always Load\n", ManifestMode::Compatible, None);
    check(
        "# X\n<!-- memex-managed -->\n",
        ManifestMode::Full,
        Some(VersionAge::Older),
    );
    check(
        "<!--memex-managed:1.4-->\n",
        ManifestMode::Full,
        Some(VersionAge::Older),
    );
    check(
        "<!-- memory-forge-managed: 2.1.3 -->\n",
        ManifestMode::Full,
        Some(VersionAge::Current),
    );
    check(
        "<!-- memex-managed:2.1.3.0 -->\n",
        ManifestMode::Full,
        Some(VersionAge::Current),
    );
    check(
        "<!-- memex-managed:10.0 -->\n",
        ManifestMode::Full,
        Some(VersionAge::Newer),
    );
    check(
        "```\n<!-- memex-managed:2.1.3 -->\n```\n",
        ManifestMode::Absent,
        None,
    );
    check(
        "<!-- memex-managed-by: me -->\n",
        ManifestMode::Absent,
        None,
    );
    check("## Tier 12\n", ManifestMode::Absent, None);
}

fn list(text: &str, part: ManifestPart, new: NewManifestEntry<'_>) -> String {
    let manifest = Manifest::parse(text);
    let edits = manifest.list_entry(part, &new).into_iter().collect();
    manifest.text_after_edits(edits).unwrap()
}

#[test]
fn rows_are_added_in_the_words_of_the_table() {
    let new = NewManifestEntry {
        name: "HR",
        target: "hr/_CLOSETS",
        text: "Pay | leave",
        note: "",
    };
    let row = "| HR | [[hr/_CLOSETS]] | Pay \\| leave |";
    let after = list(CURRENT, ManifestPart::HubMap, new.clone());
    assert_eq!(after, format!("{CURRENT}{row}\n"));
    assert_eq!(list(&after, ManifestPart::HubMap, new.clone()), after);

    let crlf = OLDER.replace('\n', "\r\n");
    let after = list(
        &crlf,
        ManifestPart::Tier3,
        NewManifestEntry { target: "a", ..new },
    );
    let table = "\r\n## Tier 3 - Archive\r\n\r\n| File | Reason | Date |\r\n|---|---|---|\r\n| [[a]] | Pay \\| leave |  |\r\n";
    assert_eq!(after, format!("{crlf}{table}"));
}

#[test]
fn a_summary_changes_one_cell() {
    let manifest = Manifest::parse(CURRENT);
    let entry = manifest.entries_of(ManifestPart::Tier1).nth(1).unwrap();
    let edit = manifest.set_summary(entry, "New").unwrap();
    let after = manifest.text_after_edits(vec![edit]).unwrap();
    assert_eq!(after, CURRENT.replace("| Words \\| names |", "| New |"));
    assert_eq!(manifest.set_summary(entry, "Words | names"), None);
}

#[test]
fn a_domain_joins_tier_2() {
    let manifest = Manifest::parse(CURRENT);
    let edit = manifest.add_domain("HR", "hr/_CLOSETS").unwrap();
    let after = manifest.text_after_edits(vec![edit]).unwrap();
    let expect = CURRENT.replace(
        "Hub: [[people-index]]\n\n",
        "Hub: [[people-index]]\n\n### HR\n\nCloset: [[hr/_CLOSETS]]\n\n",
    );
    assert_eq!(after, expect.replace("Closet:", "Closets:"));
    assert_eq!(Manifest::parse(after).add_domain("HR", "hr/_CLOSETS"), None);
}

#[test]
fn markers_are_set_where_they_are_or_below_the_title() {
    let check = |text: &str, expect: &str| {
        let manifest = Manifest::parse(text);
        let edits = [manifest.set_version(), manifest.set_summary_format(2)];
        let after = manifest
            .text_after_edits(edits.into_iter().flatten().collect())
            .unwrap();
        assert_eq!(after, expect, "{text:?}");
        let again = Manifest::parse(after);
        assert_eq!(
            (again.set_version(), again.set_summary_format(2)),
            (None, None)
        );
    };
    let both = "<!-- memex-managed:2.1.3 -->\n<!-- summary-format-version:2 -->\n";
    check("# R\n\ntext\n", &format!("# R\n{both}\ntext\n"));
    check(
        "# R",
        "# R\n<!-- memex-managed:2.1.3 -->\n\n<!-- summary-format-version:2 -->\n",
    );
    check("text\r\n", &(both.replace('\n', "\r\n") + "text\r\n"));
    check(
        "# R\n<!-- memex-managed:1.2 -->\nx",
        &format!("# R\n{both}x"),
    );
    check("<!-- memex-managed -->\n", both);
    check(
        "# R\r<!-- memex-managed:2.1.3 -->\rtext\r",
        &(format!("# R\n{both}text\n").replace('\n', "\r")),
    );
    check(
        "# R <!-- memex-managed:1\nkept\n-->\n",
        &format!("# R <!-- memex-managed:1\n{both}kept\n-->\n"),
    );
    // A comment below a row would end the table.
    let table = "| K | V |\n|---|---|\n| a <!-- memex-managed:2.1.3 --> | b |\n| c | d |\n";
    check(
        &format!("# R\n{table}"),
        &format!("# R\n<!-- summary-format-version:2 -->\n{table}"),
    );
    check(
        "<!-- memory-forge-managed:3 -->\n",
        "<!-- memory-forge-managed:3 -->\n<!-- summary-format-version:2 -->\n",
    );
}

#[test]
fn domains_may_lie_in_a_folder_that_is_not_named() {
    let ws = TestWorkspace::files(
        "//- working/legal/lease.md\nx\n//- working/legal/_CLOSETS.md\nx\n//- working/people/people-index.md\n[[working/people/anna]] [[notes/extra]] [[memory/status]]\n//- working/people/anna.md\nx\n//- working/people/archive/old.md\nx\n//- notes/extra.md\nx\n//- memory/status.md\nx\n//- memory/_CLOSETS.md\nx\n//- memory/session-log-archive.md\nx\n",
    );
    ws.write(MANIFEST_FILE, CURRENT);
    let workspace = Workspace::open(ws.root()).unwrap();
    let manifest = Manifest::read(&workspace).unwrap();
    assert_eq!(manifest.domains(), ["working/legal", "working/people"]);
    let found = |path: &str| workspace.role(&RelPath::new(path).unwrap());
    assert_eq!(found("working/people/anna.md"), FileRole::Knowledge);
    assert_eq!(found("working/people/archive/old.md"), FileRole::Archive);
    assert_eq!(found("notes/extra.md"), FileRole::Untracked);
}

#[test]
fn a_hub_map_cannot_lead_out() {
    let rows = [
        "[[../x/_CLOSETS]]",
        "[[/etc/_CLOSETS]]",
        "[[.git/_CLOSETS]]",
        "[[memory/_CLOSETS]]",
        "[[.mind/_CLOSETS]]",
        "",
    ];
    let rows: String = rows
        .iter()
        .map(|cell| format!("| A | {cell} | s |\n"))
        .collect();
    let manifest = Manifest::parse(format!(
        "## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n{rows}"
    ));
    assert_eq!(manifest.domains(), ["a"]);
}

fn manifests() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# Context Routing"),
        Just("<!-- memex-managed:2.0 -->"),
        Just("<!-- memex-managed -->"),
        Just("<!-- summary-format-version:1 -->"),
        Just("## Tier 1 - Always Load"),
        Just("## Tier 2 - By Domain"),
        Just("### Legal"),
        Just("## Tier 3 - Archive"),
        Just("## Hub Map"),
        Just("## Config"),
        Just("| File | Summary | Volatility |"),
        Just("| File | Reason |"),
        Just("| Domain | Hub | Summary |"),
        Just("|---|---|---|"),
        Just("|---|---|"),
        Just("| [[a]] | one | STABLE |"),
        Just("| Legal | [[legal/_CLOSETS]] | s |"),
        Just("| [[a|b]] | x"),
        Just("||||"),
        Just("Closets: [[legal/_CLOSETS]]"),
        Just("```"),
        Just("<!-- open"),
        Just("- [[x]] \\| y"),
        Just("Größe ünd 漢字"),
        Just(""),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    (prop::collection::vec((line, end), 0..24), any::<bool>()).prop_map(|(lines, bom)| {
        let text: String = lines
            .into_iter()
            .flat_map(|(line, end)| [line, end])
            .collect();
        if bom { format!("\u{feff}{text}") } else { text }
    })
}

fn hostile() -> impl Strategy<Value = String> {
    r"([\\|\[\]#`<>!\-*_^@$&\n\r\t ]|a|/|-index|_CLOSETS|[[:any:]]){1,12}"
}

#[test]
fn a_column_has_one_meaning() {
    let text = "## Tier 3\n\n| File | Reason (updated weekly) |\n|---|---|\n";
    let new = NewManifestEntry {
        target: "old",
        text: "Done",
        note: "2026-01-02",
        ..NewManifestEntry::default()
    };
    let after = list(text, ManifestPart::Tier3, new.clone());
    assert_eq!(after, format!("{text}| [[old]] | Done |\n"));
    assert_eq!(list(&after, ManifestPart::Tier3, new), after);
}

#[test]
fn a_marker_keeps_the_remark_behind_its_value() {
    let set = |text: &str| {
        let manifest = Manifest::parse(text);
        assert_eq!(manifest.age(), Some(VersionAge::Older), "{text}");
        let edits = manifest.set_version().into_iter().collect();
        manifest.text_after_edits(edits).expect("it fits")
    };
    let text = "<!-- memex-managed: 2.0 by hand -->\n## Tier 1\n";
    assert_eq!(set(text), text.replace("2.0", MANIFEST_FORMAT_VERSION));
    let row = "## Tier 1\n\n| File | Summary |\n|---|---|\n| a <!-- memex-managed:2 | b --> |\n";
    assert_eq!(
        set(row),
        row.replace(":2 ", &format!(":{MANIFEST_FORMAT_VERSION} "))
    );
}

/// `[open` goes on to `]: d`, and all of it is the definition of a link, once
/// no other bracket stands between them.
#[test]
fn an_empty_part_before_another_gets_its_first_row() {
    let new = NewManifestEntry {
        target: "legal/_CLOSETS-archive",
        text: "Older",
        ..NewManifestEntry::default()
    };
    for before in [
        "## Tier 3 - Archive\n\n## Hub Map\n",
        "## Tier 3 - Archive\n## Hub Map\n",
    ] {
        let manifest = Manifest::parse(before);
        let edit = manifest
            .list_entry(ManifestPart::Tier3, &new)
            .expect("it can be listed");
        let after = manifest
            .text_after_edits(vec![edit])
            .expect("no row is disturbed");
        let after = Manifest::parse(after);
        assert!(
            after
                .retired_files()
                .contains_path("legal/_CLOSETS-archive"),
            "{before:?}"
        );
        assert!(after.text().ends_with("## Hub Map\n"), "{}", after.text());
    }
}

#[test]
fn a_change_that_would_change_other_rows_is_refused() {
    let text = "## Tier 1\n\n[open | Summary |\n|---|---|\n| [[a]] | A |\n| b | B |\n]: d\n";
    let manifest = Manifest::parse(text);
    assert_eq!(manifest.entries().len(), 3);
    let edits = manifest.remove_entry(&manifest.entries()[0]);
    let refused = manifest.text_after_edits(edits.into_iter().collect());
    assert_eq!(refused, Err(EditError::Disturbs { line: 6 }));
    let edits = manifest.remove_entry(&manifest.entries()[1]);
    let after = manifest.text_after_edits(edits.into_iter().collect());
    assert_eq!(after, Ok(text.replace("| b | B |\n", "")));
}

#[test]
fn a_new_part_does_not_end_up_in_the_one_before_it() {
    let text = "# Tier 1\n\n| File | Summary |\n|---|---|\n| [[a]] | A |\n";
    let manifest = Manifest::parse(text);
    let new = NewManifestEntry {
        target: "old",
        text: "Done",
        ..NewManifestEntry::default()
    };
    let edits = manifest
        .list_entry(ManifestPart::Tier3, &new)
        .into_iter()
        .collect();
    let after = Manifest::parse(manifest.text_after_edits(edits).expect("it fits"));
    assert!(after.text().contains("\n# Tier 3"), "{}", after.text());
    assert!(after.retired_files().contains_path("old.md"));
    assert_eq!(after.list_entry(ManifestPart::Tier3, &new), None);
    let edits = after.add_domain("Sea", "sea/_CLOSETS");
    let after = Manifest::parse(
        after
            .text_after_edits(edits.into_iter().collect())
            .expect("it fits"),
    );
    assert!(after.text().contains("\n# Tier 2"), "{}", after.text());
    assert_eq!(after.domains(), ["sea"]);
    assert_eq!(after.add_domain("Sea", "sea/_CLOSETS"), None);
}

proptest! {
    /// Whatever is in the file, an edit keeps every line that it does not
    /// name, and a second time there is nothing to do.
    #[test]
    fn edits_touch_their_rows_only_and_twice_is_once(
        text in manifests(), name in hostile(), target in hostile(), words in hostile(), which in 0..7,
    ) {
        let edit = |text: &str| {
            let manifest = Manifest::parse(text);
            let new = NewManifestEntry { name: &name, target: &target, text: &words, note: &words };
            let edit = match which {
                0 => manifest.list_entry(ManifestPart::Tier1, &new),
                1 => manifest.list_entry(ManifestPart::Tier3, &new),
                2 => manifest.list_entry(ManifestPart::HubMap, &new),
                3 => manifest.add_domain(&name, &target),
                4 => manifest.set_version(),
                5 => manifest.set_summary_format(2),
                _ => manifest.entries_of(ManifestPart::Tier1).next().and_then(|it| manifest.set_summary(it, &words)),
            };
            let span = edit.as_ref().map(|edit| edit.span.clone());
            (manifest.text_after_edits(edit.into_iter().collect()).unwrap(), span)
        };
        let before = Manifest::parse(text.as_str());
        let (after, span) = edit(&text);
        let read = Manifest::parse(after.as_str());
        // Bytes outside of the span stay by the way edits work; the span
        // itself is a part of one line.
        prop_assert!(span.is_none_or(|span| !text[span].trim().contains(['\n', '\r'])));
        let part = match which {
            0 | 6 => Some(ManifestPart::Tier1),
            1 => Some(ManifestPart::Tier3),
            2 => Some(ManifestPart::HubMap),
            3 => Some(ManifestPart::Tier2),
            _ => None,
        };
        let others = |manifest: &Manifest| -> Vec<[String; 4]> {
            let others = manifest.entries().iter().filter(|it| Some(it.part) != part);
            others
                .map(|it| [&it.name, &it.target, &it.text, &it.note].map(Clone::clone))
                .collect()
        };
        prop_assert_eq!(others(&before), others(&read), "{:?}", &after);
        prop_assert!(read.entries().len() <= before.entries().len() + 1, "{:?}", &after);
        let sections = read.document.sections.len() - before.document.sections.len();
        prop_assert!(sections <= if which == 3 { 2 } else { 1 }, "{:?}", &after);
        if !matches!(which, 4 | 5) {
            prop_assert_eq!(read.version(), before.version());
            prop_assert_eq!(read.summary_format(), before.summary_format());
        }
        let (again, _) = edit(&after);
        prop_assert_eq!(again, after);
    }

    #[test]
    fn no_text_makes_reading_fail(text in any::<String>()) {
        let manifest = Manifest::parse(text);
        let _ = (manifest.mode(), manifest.domains(), manifest.age(), manifest.retired_files());
    }
}

#[test]
fn a_summary_is_never_written_over_the_link() {
    let text = "## Tier 1\n\n| File (what it is) | Summary |\n|---|---|\n| [[a]] | x |\n\n\
                ## Tier 3\n\n| Document content |\n|---|\n| [[b]] |\n";
    let manifest = Manifest::parse(text);
    let [first, second] = manifest.entries() else {
        panic!("{:?}", manifest.entries());
    };
    let edit = manifest
        .set_summary(first, "new")
        .expect("there is a column for it");
    let after = manifest.text_after_edits(vec![edit]).expect("it fits");
    assert!(after.contains("| [[a]] | new |"), "{after}");
    assert_eq!(manifest.set_summary(second, "new"), None);
}

/// Every file is compared with every domain, so a Hub Map has a limit, and what
/// is beyond it is counted.
#[test]
fn a_hub_map_has_a_limit() {
    let rows: String = (0..MAX_HUBS + 7)
        .map(|i| format!("| D{i} | [[d{i}/_CLOSETS]] | Things |\n"))
        .collect();
    let text = format!("## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n{rows}");
    let manifest = Manifest::parse(text);
    assert_eq!(manifest.domains().len(), MAX_HUBS);
    assert_eq!(manifest.hubs_left_out(), 7);
}

/// Comments that are never closed before the next begins are read once.
#[test]
fn a_marker_is_found_behind_comments_that_stay_open() {
    let text = format!(
        "{}-->\n<!-- memex-managed:2.1.3 -->\n",
        "<!-- a ".repeat(200_000)
    );
    assert_eq!(Manifest::parse(text).version(), Some("2.1.3"));
}
