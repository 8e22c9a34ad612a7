//! The page's source: its format and its lints, by the tool that
//! `scripts/page-tools.sh` fetches.

use std::path::Path;
use std::process::Command;

use testkit::{TestWorkspace, fetched};

const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/view/assets");

/// Checks a folder with Biome; returns whether it is clean, and the report.
fn check(biome: &Path, folder: &Path) -> (bool, String) {
    let output = Command::new(biome)
        .args(["ci", "--error-on-warnings", "--colors=off", "."])
        .current_dir(folder)
        .output()
        .expect("it was fetched for this system");
    let report = [output.stdout, output.stderr].concat();
    let report = String::from_utf8_lossy(&report).into_owned();
    (output.status.success(), report)
}

#[test]
fn the_page_is_formatted_and_linted() {
    let Some(biome) = fetched::program(env!("CARGO_TARGET_TMPDIR"), "page-tools", "biome") else {
        return;
    };
    let (is_clean, report) = check(&biome, Path::new(ASSETS));
    let fix = format!("cd {ASSETS} && {} check --write", biome.display());
    assert!(is_clean, "{report}\nThis fixes what it can: {fix}");
}

#[test]
fn the_linter_reports_globals_cycles_and_unknown_imports() {
    let Some(biome) = fetched::program(env!("CARGO_TARGET_TMPDIR"), "page-tools", "biome") else {
        return;
    };
    let ws = TestWorkspace::empty();
    let rules = std::fs::read_to_string(Path::new(ASSETS).join("biome.json"));
    ws.write("biome.json", rules.expect("it is part of the page"));
    ws.write("a.js", "export const a = 1;\n");
    ws.write(
        "b.js",
        "import { a } from \"./a.js\";\n\nexport const b = a;\n",
    );
    ws.write(
        "c.js",
        "import { b } from \"./b.js\";\n\nexport const c = () => b;\n",
    );
    let (is_clean, report) = check(&biome, ws.root());
    assert!(is_clean, "{report}");
    for (text, rule) in [
        ("export const b = shared;\n", "noUndeclaredVariables"),
        (
            "import { gone } from \"./a.js\";\n\nexport const b = gone;\n",
            "noUnresolvedImports",
        ),
        (
            "import { c } from \"./c.js\";\n\nexport const b = c;\n",
            "noImportCycles",
        ),
        ("export const b  = 1;\n", "format"),
    ] {
        ws.write("b.js", text);
        let (is_clean, report) = check(&biome, ws.root());
        assert!(!is_clean && report.contains(rule), "{text}: {report}");
    }
}
