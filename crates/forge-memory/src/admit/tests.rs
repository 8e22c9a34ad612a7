use testkit::TestWorkspace;

use super::*;

fn key() -> String {
    format!("{}{}", concat!("AK", "IA"), "Q7ZX2MBT9WKY4DHF")
}

fn corrected() -> (TestWorkspace, Workspace) {
    let ws = TestWorkspace::files(
        "
        //- knowledge/_FORGOTTEN.md
        # Forgotten

        ## Corrected facts

        - \"The port is 8080\" — corrected 2026-02-28
        - \"The host is blue\" — corrected 2026-02-28
        ",
    );
    let workspace = Workspace::open(ws.root()).expect("a workspace");
    (ws, workspace)
}

#[test]
fn secrets_and_corrected_facts_are_refused() {
    let (_ws, workspace) = corrected();
    assert!(admit_text(&workspace, "The port is 9090").is_ok());
    let refused = admit_text(&workspace, "the PORT is 8080").expect_err("corrected");
    assert!(matches!(refused, TextRefusal::Corrected(_)), "{refused}");
    let masked = format!("{}\u{200b}{}", &key()[..7], &key()[7..]);
    for secret in [key(), masked] {
        let refused = admit_text(&workspace, format!("a\n{secret}")).expect_err("a secret");
        assert_eq!(
            refused.to_string(),
            "The text seems to contain a secret (aws-access-key, line 2)"
        );
        let refused = refuse_secrets([secret.as_str()]).expect_err("a secret");
        assert_eq!(
            refused.to_string(),
            "The text seems to contain a secret (aws-access-key)"
        );
    }
}

#[test]
fn an_edit_is_judged_by_what_it_adds() {
    let (_ws, workspace) = corrected();
    let before = "The port is 8080.\n";
    let edit = |after: &str| admit_edit(&workspace, before, after.to_owned());
    assert!(edit("The port is 8080.\nMore.\n").is_ok());
    let refused = edit("The port is 8080.\nThe host is blue.\n").expect_err("corrected");
    assert!(refused.to_string().contains("blue"), "{refused}");
    assert!(!refused.to_string().contains("8080"), "{refused}");
    assert!(edit(&key()).is_err());
}

#[test]
fn an_imported_secret_does_not_pass_in_disguise() {
    let key = key();
    let masked = [
        key.clone(),
        format!("{}\u{200b}{}", &key[..7], &key[7..]),
        key.replace('A', "\\u0041"),
    ];
    for text in masked {
        let mut tally = ImportTally::default();
        let admitted = admit_import(&format!("use {text} here"), &mut tally);
        assert_eq!(admitted, "use ‹redacted: aws-access-key› here", "{text}");
        assert_eq!(tally.redacted["aws-access-key"], 1);
    }
}

#[test]
fn hidden_characters_are_shown_and_escapes_without_secrets_stay() {
    let mut tally = ImportTally::default();
    let admitted = admit_import("a\u{202e}b \\u0041", &mut tally);
    assert_eq!(admitted, "a‹U+202E›b \\u0041");
    assert_eq!((tally.hidden, tally.redacted.len()), (1, 0));
}
