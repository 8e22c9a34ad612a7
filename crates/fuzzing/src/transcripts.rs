//! Transcripts of clients: whatever the lines hold, the page is text without
//! links into the workspace or secrets, under the folder for sessions, and twice
//! is once.

use forge_app::document::{LinkKind, parse};
use forge_app::import::transcripts::{self, Homes};
use forge_app::import::{Options, Outcome};
use forge_app::secrets;
use forge_app::workspace::Workspace;

use crate::scratch;

pub(crate) fn run(data: &[u8]) {
    let folder = scratch::folder();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("a folder can be made");
    let path = folder.path().join("session.jsonl");
    std::fs::write(&path, data).expect("a file can be written");
    let workspace = Workspace::open(&root).expect("a folder can be opened");
    let options = Options {
        now: jiff::Timestamp::UNIX_EPOCH,
        dry_run: false,
        force: false,
        since: None,
        limit: None,
    };
    let import = || {
        let paths = [path.clone()];
        transcripts::run(&workspace, &paths, &Homes::default(), &options).expect("it can be read")
    };
    let report = import();
    for file in &report.files {
        assert_eq!(file.outcome, Outcome::New);
        assert!(file.path.starts_with("knowledge/sessions"), "{}", file.path);
        let text = std::fs::read_to_string(workspace.absolute(&file.path)).expect("a page");
        let page = parse(text.as_str());
        assert_eq!(forge_app::import::entries(&page), file.entries, "{text}");
        assert_eq!(page.problems, [], "{text}");
        // An address that was written stays one; it leads nowhere in here.
        let local = page.links.iter().find(|it| it.kind != LinkKind::Auto);
        assert_eq!(local, None, "{text}");
        assert_eq!(secrets::find(&text), [], "{text}");
        let again = import();
        let outcomes: Vec<_> = again.files.iter().map(|it| it.outcome).collect();
        assert_eq!(outcomes, [Outcome::Unchanged]);
        let same = std::fs::read_to_string(workspace.absolute(&file.path)).expect("a page");
        assert_eq!(same, text);
    }
    assert!(!report.files.is_empty() || !report.skipped.is_empty());
}
