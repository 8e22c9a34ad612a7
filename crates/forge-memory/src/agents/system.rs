//! `.agents/SYSTEM.md`: the file that every agent of a workspace reads first.
//! It explains how to read and save memory. It is written once, and an existing
//! file is never replaced.

use crate::workspace::{Proposal, RelPath, Workspace};

/// Path of the file; the first layer of a context comes from it.
pub const FILE: &str = ".agents/SYSTEM.md";

/// Text of the file. It is short because every run of every agent begins with
/// it.
pub const TEXT: &str = "\
# How agents remember here

Every agent has a folder `.agents/memory/<squad>/<agent>/`. `MEMORY.md` in it is an index and is always loaded: one line for each memory. The memories are files beside it and are read on demand.

## Read

- Look through `MEMORY.md` first, and open only the files that the task needs.
- Where there is no `MEMORY.md`, read `state.md`.
- A memory is as old as its file. Verify it before you rely on it.

## Save in two steps

1. Write the memory to a file of its own, `<topic>.md`, beside `MEMORY.md`. Its front matter has `name`, `description` and `type` (`user`, `feedback`, `project` or `reference`). Where a file about the topic exists, edit that one.
2. Then add one line to `MEMORY.md`: `- [Title](topic.md) — one-line description`.

`memory-forge agent remember \"Title\" --agent <squad>/<agent> --type project --content \"…\"` does both steps as one change.

## Limits

- `MEMORY.md` has at most 200 lines and 25,000 bytes: pointers alone, without front matter, content or dates. `memory-forge agent rotate` keeps it so.
- Never save secrets, what code or git already says, recipes for debugging, or what holds for this task only.
";

/// Proposes the file if it is missing; the proposal is empty if it exists.
pub fn propose(workspace: &Workspace) -> Proposal {
    let mut proposal = Proposal::default();
    let path = RelPath::new(FILE).expect("a constant that is a valid path");
    if workspace.absolute(&path).symlink_metadata().is_err() {
        proposal.add(path, None, TEXT.to_owned());
    }
    proposal
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::*;
    use crate::agents::pointers;

    /// Seed 002: "SYSTEM.md instructions teach agents the two-step save
    /// pattern"; "Agents write topic files, then update MEMORY.md index".
    #[test]
    fn the_two_steps_are_taught_in_their_order() {
        let topic = TEXT
            .find("1. Write the memory to a file of its own")
            .unwrap();
        let index = TEXT.find("2. Then add one line to `MEMORY.md`").unwrap();
        assert!(topic < index);
        for promise in [
            "- [Title](topic.md) — one-line description",
            "read `state.md`",
            &format!("{} lines", pointers::MAX_LINES),
            "25,000 bytes",
        ] {
            assert!(TEXT.contains(promise), "{promise}");
        }
        assert_eq!(pointers::MAX_BYTES, 25_000);
    }

    #[test]
    fn it_is_written_once() {
        let ws = TestWorkspace::empty();
        let workspace = Workspace::open(ws.root()).unwrap();
        let now = "2026-03-01T09:00:00Z".parse().unwrap();
        propose(&workspace)
            .apply(&workspace, "Prepare", now)
            .unwrap();
        assert_eq!(ws.read(FILE), TEXT);
        ws.write(FILE, "mine\n");
        assert!(propose(&workspace).is_empty());
        assert_eq!(ws.read(FILE), "mine\n");
    }
}
