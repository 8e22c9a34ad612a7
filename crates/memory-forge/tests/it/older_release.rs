//! Workspaces as earlier releases wrote them, in `releases/`: a file for each
//! release whose formats differ from those before. `before` is a workspace with
//! memory, `after` what `setup` of that release changed in it. Add a file with a
//! release, and never change one.

use std::collections::BTreeMap;

use serde::Deserialize;
use testkit::TestWorkspace;

use crate::harness::ws;

const RELEASES: [&str; 1] = [include_str!("releases/0.1.0.json")];

const CLIENTS: [&str; 6] = ["claude", "codex", "gemini", "copilot", "cursor", "opencode"];

#[derive(Deserialize)]
struct OlderRelease {
    version: String,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
}

impl OlderRelease {
    fn all() -> impl Iterator<Item = OlderRelease> {
        RELEASES
            .iter()
            .map(|text| serde_json::from_str(text).expect("a release is JSON"))
    }

    /// A clone of the workspace, without derived files.
    fn workspace(&self, is_set_up: bool) -> TestWorkspace {
        let ws = ws("");
        ws.git_init();
        let after = is_set_up.then_some(&self.after);
        for (path, text) in self.before.iter().chain(after.into_iter().flatten()) {
            ws.write(path, text);
        }
        ws
    }
}

#[test]
fn memory_of_an_older_release_is_read_and_left_as_it_is() {
    for release in OlderRelease::all() {
        let version = &release.version;
        let ws = release.workspace(true);
        let before = ws.tree_of_sources();
        let shown = ws.run(&["mind", "show"]);
        for text in ["Build the form", "Paint the hull", "Count the boats"] {
            assert!(shown.ok().contains(text), "{version}: {shown}");
        }
        let found = ws.run(&["search", "high water", "--mode", "text"]);
        assert!(
            found.ok().contains("knowledge/tides.md"),
            "{version}: {found}"
        );
        let state = ws.run(&["search", "SQLite", "--scope", "state"]);
        assert!(state.ok().contains("DEC-001"), "{version}: {state}");
        // What was forgotten then is forgotten now.
        let gone = ws.run(&["search", "pier", "--mode", "text"]);
        assert!(
            !gone.stdout.contains("knowledge/piers.md\n"),
            "{version}: {gone}"
        );
        let settings = ws.run(&["config"]);
        assert!(
            settings
                .ok()
                .contains("search.limit = 4 (memory-forge.toml"),
            "{version}: {settings}"
        );
        assert_eq!(settings.stderr, "", "{version}");
        assert_eq!(ws.tree_of_sources(), before, "{version}");
    }
}

#[test]
fn settings_of_an_older_release_are_renewed_and_removed_to_the_byte() {
    for release in OlderRelease::all() {
        let version = &release.version;
        let set_up = {
            let ws = release.workspace(false);
            let words = [&["setup"], &CLIENTS[..], &["--yes"]].concat();
            ws.run(&words).ok();
            ws.tree_of_sources()
        };
        for should_renew in [false, true] {
            let ws = release.workspace(true);
            if should_renew {
                let words = [&["setup"], &CLIENTS[..], &["--yes"]].concat();
                ws.run(&words).ok();
                assert_eq!(
                    ws.tree_of_sources(),
                    set_up,
                    "{version}: as if set up today"
                );
            }
            let words = [&["uninstall"], &CLIENTS[..], &["--yes"]].concat();
            ws.run(&words).ok();
            let expect = release.workspace(false).tree_of_sources();
            assert_eq!(ws.tree_of_sources(), expect, "{version}, {should_renew}");
        }
    }
}
