use testkit::TestWorkspace;

use super::*;
use crate::routing::manifest::MANIFEST_FILE;

#[test]
fn members_are_found_in_folders_that_the_map_does_not_name() {
    let ws = TestWorkspace::files(
        "//- working/legal/lease.md\nx\n//- working/legal/_CLOSETS.md\nx\n//- working/people/people-index.md\n[[working/people/anna]] [[notes/extra]] [[memory/status]]\n//- working/people/anna.md\nx\n//- working/people/archive/old.md\nx\n//- notes/extra.md\nx\n//- memory/status.md\nx\n//- memory/_CLOSETS.md\nx\n//- memory/session-log-archive.md\nx\n",
    );
    ws.write(
        MANIFEST_FILE,
        "# Context Routing\n\n## Tier 2 - By Domain\n\n### Legal\n\nCloset: [[legal/_CLOSETS]]\n\n## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n| Legal | [[legal/_CLOSETS]] | Contracts |\n| People | [[people-index]] | Who |\n",
    );
    let workspace = Workspace::open(ws.root()).unwrap();
    let shown: Vec<String> = load_hubs(&workspace)
        .unwrap()
        .iter()
        .map(|hub| {
            let members: Vec<&str> = hub.members.iter().map(RelPath::as_str).collect();
            let index = hub.index.as_ref().map_or("-", RelPath::as_str);
            format!("{} {} {index} {}", hub.name, hub.folder, members.join(","))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "Legal working/legal - working/legal/lease.md",
            "People working/people working/people/people-index.md notes/extra.md,working/people/anna.md",
            "memory memory - memory/status.md",
        ]
    );
}
