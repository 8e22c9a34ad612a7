//! Holds the table of every check. Ids and what they find are documented from
//! here.

use super::survey::Survey;
use super::{Check, consolidation, memory, workspace};
use crate::finding::{CheckId, CheckOutcome};

/// Returns a check that is reported by its id.
const fn check(
    id: CheckId,
    about: &'static str,
    run: fn(&Survey<'_>, CheckId) -> CheckOutcome,
) -> Check {
    titled(id, "", about, run)
}

/// Returns a check that its view reports by a title.
const fn titled(
    id: CheckId,
    title: &'static str,
    about: &'static str,
    run: fn(&Survey<'_>, CheckId) -> CheckOutcome,
) -> Check {
    Check {
        id,
        title,
        about,
        run,
    }
}

/// The registry: every check, once.
pub static REGISTRY: [Check; 49] = [
    titled(
        CheckId::STATE_STALE,
        "STATUS FRESHNESS",
        "The state is missing, has no date, or was last updated more than three days ago",
        |it, _| CheckOutcome::of(workspace::state_stale(it)),
    ),
    titled(
        CheckId::DECISIONS_SUPERSEDED,
        "DECISION CONSISTENCY",
        "A later decision takes an earlier one back, and the earlier one does not say so",
        |it, _| CheckOutcome::of(workspace::decisions_superseded(it)),
    ),
    titled(
        CheckId::MANIFEST_UNLISTED,
        "ORPHAN FILES",
        "A file of a domain is in no list of it, or a list names a file that is gone",
        |it, _| CheckOutcome::of(workspace::manifest_unlisted(it)),
    ),
    titled(
        CheckId::MANIFEST_FOLDERS,
        "ORPHAN FOLDERS",
        "A folder with Markdown is missing from the Hub Map",
        |it, _| CheckOutcome::of(workspace::manifest_folders(it)),
    ),
    titled(
        CheckId::STATE_BLOCKED,
        "STALE BLOCKERS",
        "Something is blocked for seven days, or in three entries of the session log",
        |it, _| CheckOutcome::of(workspace::state_blocked(it)),
    ),
    titled(
        CheckId::CLOSETS_COVERAGE,
        "CLOSETS COVERAGE",
        "A domain has no `_CLOSETS.md`",
        |it, _| CheckOutcome::of(workspace::closets_coverage(it)),
    ),
    titled(
        CheckId::GRAPH_DANGLING,
        "TYPED-EDGE GRAPH",
        "Front matter names a document that does not exist",
        |it, _| CheckOutcome::of(workspace::graph_dangling(it)),
    ),
    titled(
        CheckId::MANIFEST_SUMMARIES,
        "SUMMARY FORMAT VERSION",
        "The manifest's summaries are in an older form",
        |it, _| CheckOutcome::of(workspace::manifest_summaries(it)),
    ),
    titled(
        CheckId::MANIFEST_ENTRIES,
        "MANIFEST CONSISTENCY",
        "The manifest lists a file that is gone, or one without a summary, or two files could be the same file of the state",
        |it, _| CheckOutcome::of(workspace::manifest_entries(it)),
    ),
    check(
        CheckId::CLOSETS_NO_FILE,
        "A hub has no closets",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_NO_MARKER,
        "A file of closets has no version marker",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_MISSING,
        "A document has no entry in the closets of its hub",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_STALE,
        "A document changed after its entry was written",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_UNSTAMPED,
        "An entry does not say which text it describes",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_ORPHAN,
        "An entry describes a file that is gone",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_TWICE,
        "Two entries describe one document",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_TOO_LONG,
        "An entry is longer than 1,500 characters",
        memory::closets,
    ),
    check(
        CheckId::CLOSETS_UNREADABLE,
        "A document of a hub, or its closets, cannot be read",
        memory::closets,
    ),
    check(
        CheckId::LINKS_MISSING,
        "A link leads to a file that does not exist",
        |it, _| memory::links_missing(it),
    ),
    check(
        CheckId::LINKS_PLACE,
        "A link leads to a heading or block that its file does not have",
        |it, _| memory::links_place(it),
    ),
    check(
        CheckId::LINKS_AMBIGUOUS,
        "Several files have the name that a link gives",
        |it, _| memory::links_ambiguous(it),
    ),
    check(
        CheckId::LINKS_CLOSETS,
        "A file of closets, in a hub or not, names a file that is gone, or has no version marker",
        |it, _| memory::links_closets(it),
    ),
    check(
        CheckId::NOTES_DUPLICATE,
        "Notes have nearly the same name, or the same links in front",
        |it, _| memory::notes_duplicate(it),
    ),
    check(
        CheckId::DECISIONS_FULL,
        "The file of decisions has 95 lines or more, of at most 100",
        |it, _| CheckOutcome::of(consolidation::decisions_full(it)),
    ),
    check(CheckId::STATE_MISSING, "There is no state", |it, _| {
        memory::state_missing(it)
    }),
    check(
        CheckId::STATE_UNREADABLE,
        "A file of the state cannot be read",
        |it, _| memory::state_unreadable(it),
    ),
    check(
        CheckId::STATE_UNTOUCHED,
        "The file of the state was not written for 24 hours",
        |it, _| memory::state_untouched(it),
    ),
    check(
        CheckId::STATE_LARGE,
        "The files of the state have more than 50,000 bytes together",
        |it, _| memory::state_large(it),
    ),
    check(
        CheckId::STATE_ERROR_LOG,
        "The log of the MCP server's errors has more than 100 KiB",
        |it, _| memory::state_error_log(it),
    ),
    check(
        CheckId::CLIENTS_UNCONNECTED,
        "The project has no settings of its own for an MCP server or for hooks",
        |it, _| memory::clients_unconnected(it),
    ),
    titled(
        CheckId::SETTINGS_INVALID,
        "settings",
        "A setting is not understood",
        |it, _| memory::settings_invalid(it),
    ),
    titled(
        CheckId::KNOWLEDGE_UNREADABLE,
        "knowledge",
        "A file cannot be read as text, or a merge was left in it",
        memory::diagnosed,
    ),
    titled(
        CheckId::KNOWLEDGE_FRONT_MATTER,
        "front matter",
        "Front matter is malformed",
        memory::diagnosed,
    ),
    titled(
        CheckId::FILES_SECRET,
        "secrets",
        "A file holds what looks like a secret",
        memory::diagnosed,
    ),
    titled(
        CheckId::STATE_CONFLICT,
        "state",
        "The state files have a merge left in them, are in two places, or compete for a name",
        memory::diagnosed,
    ),
    titled(
        CheckId::INDEX_DAMAGED,
        "index",
        "There is no index, or it is damaged or behind the files",
        memory::diagnosed,
    ),
    titled(
        CheckId::INDEX_SEARCH,
        "search",
        "A question made from a document does not find it",
        memory::diagnosed,
    ),
    titled(
        CheckId::KNOWLEDGE_README,
        "readme",
        "The list in `knowledge/README.md` is missing or out of date",
        memory::diagnosed,
    ),
    titled(
        CheckId::KNOWLEDGE_FORGOTTEN,
        "forgotten",
        "The list of forgotten documents names one that is gone",
        memory::diagnosed,
    ),
    titled(
        CheckId::AUTOLOAD_SIZE,
        "autoload",
        "A file that agents load is above its limit",
        memory::diagnosed,
    ),
    titled(
        CheckId::UNDO_JOURNAL,
        "undo",
        "A change was cut off, or cannot be undone",
        memory::diagnosed,
    ),
    titled(
        CheckId::HOOKS_FAILED,
        "hooks",
        "A hook failed",
        memory::diagnosed,
    ),
    titled(
        CheckId::GIT_TRACKED,
        "git",
        "git sees what is derived or private, or lacks the merge driver",
        memory::diagnosed,
    ),
    titled(
        CheckId::FILES_LEFTOVER,
        "leftovers",
        "A temporary file was left behind",
        memory::diagnosed,
    ),
    titled(
        CheckId::CLIENTS_PROGRAM,
        "clients",
        "A client is to call a program that is not there",
        |it, _| memory::clients_program(it),
    ),
    check(
        CheckId::AGENTS_POINTER,
        "The index of an agent's memory points to a file that is gone",
        |it, _| memory::agents_pointer(it),
    ),
    check(
        CheckId::AGENTS_INDEX,
        "The index of an agent's memory lacks a topic, or is too long",
        |it, _| memory::agents_index(it),
    ),
    check(
        CheckId::AGENTS_UNREADABLE,
        "A topic of an agent cannot be read",
        |it, _| memory::agents_unreadable(it),
    ),
    check(
        CheckId::AGENTS_CLAUDE,
        "Claude Code's own index is too long, or does not fit its files",
        |it, _| memory::agents_claude(it),
    ),
];
