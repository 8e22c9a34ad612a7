//! Transcripts of clients: whatever the lines hold, the page is text without
//! links into the workspace or secrets, under the folder for sessions, and twice
//! is once.

use forge_app::document::{LinkKind, parse_document};
use forge_app::import::transcripts::{self, ClientHomes};
use forge_app::import::{ImportOptions, ImportOutcome};
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
    let options = ImportOptions {
        now: jiff::Timestamp::UNIX_EPOCH,
        dry_run: false,
        force: false,
        since: None,
        limit: None,
    };
    let import = || {
        let paths = [path.clone()];
        transcripts::import_transcripts(&workspace, &paths, &ClientHomes::default(), &options)
            .expect("it can be read")
    };
    let report = import();
    for file in &report.files {
        assert_eq!(file.outcome, ImportOutcome::New);
        assert!(file.path.starts_with("knowledge/sessions"), "{}", file.path);
        let text = std::fs::read_to_string(workspace.absolute_path(&file.path)).expect("a page");
        let page = parse_document(text.as_str());
        assert_eq!(
            forge_app::import::count_entries(&page),
            file.entries,
            "{text}"
        );
        assert_eq!(page.problems, [], "{text}");
        // An address that was written stays one; it leads nowhere in here.
        let local = page.links.iter().find(|it| it.kind != LinkKind::Auto);
        assert_eq!(local, None, "{text}");
        assert_eq!(secrets::find_secrets(&text), [], "{text}");
        let again = import();
        let outcomes: Vec<_> = again.files.iter().map(|it| it.outcome).collect();
        assert_eq!(outcomes, [ImportOutcome::Unchanged]);
        let same = std::fs::read_to_string(workspace.absolute_path(&file.path)).expect("a page");
        assert_eq!(same, text);
    }
    assert!(!report.files.is_empty() || !report.skipped.is_empty());
}
