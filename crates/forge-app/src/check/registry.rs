//! Holds the table of every check. Ids and what they find are documented from
//! here.

use super::survey::WorkspaceSurvey;
use super::{CheckDefinition, applies_to, consolidation, memory, workspace};
use crate::finding::{CheckId, CheckOutcome};

/// Returns a check that is reported by its id.
const fn define_check(
    id: CheckId,
    about: &'static str,
    run: fn(&WorkspaceSurvey<'_>, CheckId) -> CheckOutcome,
) -> CheckDefinition {
    define_titled_check(id, "", about, run)
}

/// Returns a check that its view reports by a title.
const fn define_titled_check(
    id: CheckId,
    title: &'static str,
    about: &'static str,
    run: fn(&WorkspaceSurvey<'_>, CheckId) -> CheckOutcome,
) -> CheckDefinition {
    CheckDefinition {
        id,
        title,
        about,
        run,
    }
}

/// The registry: every check, once.
pub static CHECK_REGISTRY: [CheckDefinition; 52] = [
    define_titled_check(
        CheckId::STATE_STALE,
        "STATUS FRESHNESS",
        "The state is missing, has no date, or was last updated more than three days ago",
        |it, _| CheckOutcome::from_findings(workspace::check_state_stale(it)),
    ),
    define_titled_check(
        CheckId::DECISIONS_SUPERSEDED,
        "DECISION CONSISTENCY",
        "A later decision replaces an earlier one, and the earlier one is not marked",
        |it, _| CheckOutcome::from_findings(workspace::check_decisions_superseded(it)),
    ),
    define_titled_check(
        CheckId::MANIFEST_UNLISTED,
        "ORPHAN FILES",
        "A file of a domain is in no list of it, or a list names a file that is gone",
        |it, _| CheckOutcome::from_findings(workspace::check_manifest_unlisted(it)),
    ),
    define_titled_check(
        CheckId::MANIFEST_FOLDERS,
        "ORPHAN FOLDERS",
        "A folder with Markdown is missing from the Hub Map",
        |it, _| CheckOutcome::from_findings(workspace::check_manifest_folders(it)),
    ),
    define_titled_check(
        CheckId::STATE_BLOCKED,
        "STALE BLOCKERS",
        "Something is blocked for seven days, or in three entries of the session log",
        |it, _| CheckOutcome::from_findings(workspace::check_state_blocked(it)),
    ),
    define_titled_check(
        CheckId::CLOSETS_COVERAGE,
        "CLOSETS COVERAGE",
        "A domain has no `_CLOSETS.md`",
        |it, _| CheckOutcome::from_findings(workspace::check_closets_coverage(it)),
    ),
    define_titled_check(
        CheckId::GRAPH_DANGLING,
        "TYPED-EDGE GRAPH",
        "Front matter names a document that does not exist",
        |it, _| CheckOutcome::from_findings(workspace::check_graph_dangling(it)),
    ),
    define_titled_check(
        CheckId::MANIFEST_SUMMARIES,
        "SUMMARY FORMAT VERSION",
        "The manifest's summaries are in an older form",
        |it, _| CheckOutcome::from_findings(workspace::check_manifest_summaries(it)),
    ),
    define_titled_check(
        CheckId::MANIFEST_ENTRIES,
        "MANIFEST CONSISTENCY",
        "The manifest lists a file that is gone, or one without a summary, or two files could be the same file of the state",
        |it, _| CheckOutcome::from_findings(workspace::check_manifest_entries(it)),
    ),
    define_check(
        CheckId::CLOSETS_NO_FILE,
        "A hub has no closets",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_NO_MARKER,
        "A file of closets has no version marker",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_MISSING,
        "A document has no entry in the closets of its hub",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_STALE,
        "A document changed after its entry was written",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_UNSTAMPED,
        "An entry does not record which text it describes",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_ORPHAN,
        "An entry describes a file that is gone",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_TWICE,
        "Two entries describe one document",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_TOO_LONG,
        "An entry is longer than 1,500 characters",
        memory::check_closets,
    ),
    define_check(
        CheckId::CLOSETS_UNREADABLE,
        "A document of a hub, or its closets, cannot be read",
        memory::check_closets,
    ),
    define_check(
        CheckId::LINKS_MISSING,
        "A link leads to a file that does not exist",
        |it, _| memory::check_links_missing(it),
    ),
    define_check(
        CheckId::LINKS_PLACE,
        "A link leads to a heading or block that its file does not have",
        |it, _| memory::check_links_place(it),
    ),
    define_check(
        CheckId::LINKS_AMBIGUOUS,
        "Several files have the name that a link gives",
        |it, _| memory::check_links_ambiguous(it),
    ),
    define_check(
        CheckId::LINKS_CLOSETS,
        "A file of closets, in a hub or not, names a file that is gone, or has no version marker",
        |it, _| memory::check_links_closets(it),
    ),
    define_check(
        CheckId::NOTES_DUPLICATE,
        "Notes have nearly the same name, or the same links in front",
        |it, _| memory::check_notes_duplicate(it),
    ),
    define_check(
        CheckId::DECISIONS_FULL,
        "The file of decisions has 95 lines or more, of at most 100",
        |it, _| CheckOutcome::from_findings(consolidation::check_decisions_full(it)),
    ),
    define_check(CheckId::STATE_MISSING, "There is no state", |it, _| {
        memory::check_state_missing(it)
    }),
    define_check(
        CheckId::STATE_UNREADABLE,
        "A file of the state cannot be read",
        |it, _| memory::check_state_unreadable(it),
    ),
    define_check(
        CheckId::STATE_UNTOUCHED,
        "The file of the state was not written for 24 hours",
        |it, _| memory::check_state_untouched(it),
    ),
    define_check(
        CheckId::STATE_LARGE,
        "The files of the state have more than 50,000 bytes together",
        |it, _| memory::check_state_large(it),
    ),
    define_check(
        CheckId::STATE_ERROR_LOG,
        "The log of the MCP server's errors has more than 100 KiB",
        |it, _| memory::check_state_error_log(it),
    ),
    define_check(
        CheckId::CLIENTS_UNCONNECTED,
        "The project has no settings of its own for an MCP server or for hooks",
        |it, _| memory::check_clients_unconnected(it),
    ),
    define_titled_check(
        CheckId::SETTINGS_INVALID,
        "settings",
        "A setting is not understood",
        |it, _| memory::check_settings_invalid(it),
    ),
    define_titled_check(
        CheckId::KNOWLEDGE_UNREADABLE,
        "knowledge",
        "A file cannot be read as text, or a merge was left in it",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::KNOWLEDGE_FRONT_MATTER,
        "front matter",
        "Front matter is malformed",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::FILES_SECRET,
        "secrets",
        "A file holds what looks like a secret",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::STATE_CONFLICT,
        "state",
        "The state files have a merge left in them, are in two places, or compete for a name",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::INDEX_DAMAGED,
        "index",
        "There is no index, or it is damaged or behind the files",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::INDEX_SEARCH,
        "search",
        "A question made from a document does not find it",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::KNOWLEDGE_README,
        "readme",
        "The list in `knowledge/README.md` is missing or out of date",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::KNOWLEDGE_FORGOTTEN,
        "forgotten",
        "The list of forgotten documents names one that is gone",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::AUTOLOAD_SIZE,
        "autoload",
        "A file that agents load is above its limit",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::UNDO_JOURNAL,
        "undo",
        "A change was cut off, or cannot be undone",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::HOOKS_FAILED,
        "hooks",
        "A hook failed",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::GIT_TRACKED,
        "git",
        "git sees what is derived or private, or lacks the merge driver",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::FILES_LEFTOVER,
        "leftovers",
        "A temporary file was left behind",
        memory::check_diagnosis,
    ),
    define_titled_check(
        CheckId::CLIENTS_PROGRAM,
        "clients",
        "A client is to call a program that is not there",
        |it, _| memory::check_clients_program(it),
    ),
    define_check(
        CheckId::PUSH_SILENCED,
        "Something that hooks brought before an action was ignored or wrong three times",
        |it, _| memory::check_push_silenced(it),
    ),
    define_check(
        CheckId::PUSH_APPLIES_TO,
        "The front matter's `applies-to:` is neither a text nor a list of texts, or its YAML is broken",
        |it, _| CheckOutcome::from_findings(applies_to::check_applies_to_form(it)),
    ),
    define_check(
        CheckId::PUSH_NO_MATCH,
        "A pattern in `applies-to:` can fit nothing, because its folder does not exist",
        |it, _| CheckOutcome::from_findings(applies_to::check_applies_to_matches(it)),
    ),
    define_check(
        CheckId::AGENTS_POINTER,
        "The index of an agent's memory points to a file that is gone",
        |it, _| memory::check_agents_pointer(it),
    ),
    define_check(
        CheckId::AGENTS_INDEX,
        "The index of an agent's memory lacks a topic, or is too long",
        |it, _| memory::check_agents_index(it),
    ),
    define_check(
        CheckId::AGENTS_UNREADABLE,
        "A topic of an agent cannot be read",
        |it, _| memory::check_agents_unreadable(it),
    ),
    define_check(
        CheckId::AGENTS_CLAUDE,
        "Claude Code's own index is too long, or does not fit its files",
        |it, _| memory::check_agents_claude(it),
    ),
];
