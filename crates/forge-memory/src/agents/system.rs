//! `.agents/SYSTEM.md`: the file that every agent of a workspace reads first.
//! It explains how to read and save memory. It is written once, and an existing
//! file is never replaced.

use crate::workspace::{ChangeProposal, RelPath, Workspace};

/// Path of the file; the first layer of a context comes from it.
pub const SYSTEM_FILE: &str = ".agents/SYSTEM.md";

/// Text of the file. It is short because every run of every agent begins with
/// it.
pub const SYSTEM_TEXT: &str = "\
# How agents remember here

Every agent has a folder `.agents/memory/<squad>/<agent>/`. `MEMORY.md` in it is an index and is always loaded: one line for each memory. The memories are files in the same folder and are read on demand.

## Read

- Look through `MEMORY.md` first, and open only the files that the task needs.
- Where there is no `MEMORY.md`, read `state.md`.
- A memory is as old as its file. Verify it before you rely on it.

## Save in two steps

1. Write the memory to a file of its own, `<topic>.md`, next to `MEMORY.md`. Its front matter has `name`, `description` and `type` (`user`, `feedback`, `project` or `reference`). Where a file about the topic exists, edit that one.
2. Then add one line to `MEMORY.md`: `- [Title](topic.md) — one-line description`.

`memory-forge agent remember \"Title\" --agent <squad>/<agent> --type project --content \"…\"` does both steps as one change.

## Limits

- `MEMORY.md` has at most 200 lines and 25,000 bytes: pointers alone, without front matter, content or dates. `memory-forge agent rotate` keeps it so.
- Never save secrets, what code or git already contains, recipes for debugging, or what holds for this task only.
";

/// Proposes the file if it is missing; the proposal is empty if it exists.
pub fn propose_system_file(workspace: &Workspace) -> ChangeProposal {
    let mut proposal = ChangeProposal::default();
    let path = RelPath::new(SYSTEM_FILE).expect("a constant that is a valid path");
    if workspace.absolute_path(&path).symlink_metadata().is_err() {
        proposal.add(path, None, SYSTEM_TEXT.to_owned());
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
        let topic = SYSTEM_TEXT
            .find("1. Write the memory to a file of its own")
            .unwrap();
        let index = SYSTEM_TEXT
            .find("2. Then add one line to `MEMORY.md`")
            .unwrap();
        assert!(topic < index);
        for promise in [
            "- [Title](topic.md) — one-line description",
            "read `state.md`",
            &format!("{} lines", pointers::MAX_INDEX_LINES),
            "25,000 bytes",
        ] {
            assert!(SYSTEM_TEXT.contains(promise), "{promise}");
        }
        assert_eq!(pointers::MAX_INDEX_BYTES, 25_000);
    }

    #[test]
    fn it_is_written_once() {
        let ws = TestWorkspace::empty();
        let workspace = Workspace::open(ws.root()).unwrap();
        let now = "2026-03-01T09:00:00Z".parse().unwrap();
        propose_system_file(&workspace)
            .apply(&workspace, "Prepare", now)
            .unwrap();
        assert_eq!(ws.read(SYSTEM_FILE), SYSTEM_TEXT);
        ws.write(SYSTEM_FILE, "mine\n");
        assert!(propose_system_file(&workspace).is_empty());
        assert_eq!(ws.read(SYSTEM_FILE), "mine\n");
    }
}
