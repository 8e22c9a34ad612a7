//! Converts problems that other modules know of to findings: links, closets,
//! the state, duplicates, agents' indexes. It searches for nothing itself.

use super::survey::WorkspaceSurvey;
use crate::doctor;
use crate::document::{LinkKind, escape_markdown_line};
use crate::finding::{CheckFinding, CheckId, CheckOutcome, CheckSeverity};
use crate::links::{BrokenLink, LinkTrouble};
use crate::mind::HealthProblem;
use crate::push;
use crate::routing::closets::check::ClosetMismatchKind;
use crate::workspace::RelPath;

/// Checks links for one kind of trouble.
fn check_link_trouble(
    survey: &WorkspaceSurvey<'_>,
    check: CheckId,
    severity: CheckSeverity,
    describe: fn(&BrokenLink) -> Option<(String, String)>,
) -> CheckOutcome {
    let found = survey.link_report().troubles.iter().filter_map(|it| {
        let (message, advice) = describe(it)?;
        let finding = CheckFinding::new(check, severity, format!("{} {message}", format_link(it)));
        let finding = finding.with_place(it.path.as_str(), Some(it.line));
        Some(finding.with_subject(&it.link).with_advice(advice))
    });
    CheckOutcome::from_findings(found.collect())
}

/// Formats a link as it is written in the file.
fn format_link(link: &BrokenLink) -> String {
    match link.kind {
        LinkKind::Wiki | LinkKind::Embed => format!("[[{}]]", link.link),
        _ => format!("({})", link.link),
    }
}

/// Checks for links to missing files.
pub(super) fn check_links_missing(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_link_trouble(survey, CheckId::LINKS_MISSING, CheckSeverity::Error, |it| {
        let LinkTrouble::Missing { nearest } = &it.trouble else {
            return None;
        };
        let advice = match nearest {
            Some(name) => format!("did you mean [[{name}]]?"),
            None => "correct the link, or write the file".to_owned(),
        };
        Some(("leads nowhere".to_owned(), advice))
    })
}

/// Checks for links to missing headings or blocks.
pub(super) fn check_links_place(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_link_trouble(survey, CheckId::LINKS_PLACE, CheckSeverity::Warning, |it| {
        (it.trouble == LinkTrouble::NoSuchPlace).then(|| {
            let message = "leads to a file without such a heading or block";
            (message.to_owned(), "correct the part after `#`".to_owned())
        })
    })
}

/// Checks for links that match several files.
pub(super) fn check_links_ambiguous(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    const MAX_NAMED_FILES: usize = 3;
    check_link_trouble(
        survey,
        CheckId::LINKS_AMBIGUOUS,
        CheckSeverity::Warning,
        |it| {
            let LinkTrouble::Ambiguous(files) = &it.trouble else {
                return None;
            };
            let named = files.iter().take(MAX_NAMED_FILES).map(RelPath::as_str);
            let message = format!("may be {}", named.collect::<Vec<_>>().join(" or "));
            Some((
                message,
                "write the path of the one that is meant".to_owned(),
            ))
        },
    )
}

/// Checks for closets that name missing files or have no marker.
pub(super) fn check_links_closets(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let found = survey.link_report().closets.iter().map(|it| {
        CheckFinding::new(CheckId::LINKS_CLOSETS, CheckSeverity::Warning, &it.message)
            .with_place(it.path.as_str(), it.line)
            .with_advice("run `memory-forge closets build`")
    });
    CheckOutcome::from_findings(found.collect())
}

/// Checks closets for the mismatch that the id names.
pub(super) fn check_closets(survey: &WorkspaceSurvey<'_>, check: CheckId) -> CheckOutcome {
    let mismatches = match survey.closet_mismatches() {
        Ok(mismatches) => mismatches,
        // Only one of the nine checks reports the error, so that it appears
        // once.
        Err(why) if check == CheckId::CLOSETS_UNREADABLE => {
            let finding = CheckFinding::new(check, CheckSeverity::Error, why);
            return CheckOutcome::Found(vec![finding.with_advice("make it readable text")]);
        }
        Err(why) => return CheckOutcome::Skipped(why.to_owned()),
    };
    let is_own =
        |kind: ClosetMismatchKind| check.as_str().strip_prefix("closets.") == Some(kind.name());
    let own = mismatches.iter().filter(|it| is_own(it.kind));
    let found = own.map(|it| {
        let finding = CheckFinding::new(check, CheckSeverity::Warning, it.message());
        let finding = finding
            .with_place(it.file.as_str(), it.line)
            .with_advice(it.advice());
        if it.entry.is_empty() {
            finding
        } else {
            finding.with_subject(&it.entry)
        }
    });
    CheckOutcome::from_findings(found.collect())
}

/// Checks for notes that may be the same.
pub(super) fn check_notes_duplicate(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let found = survey.duplicate_notes().iter().map(|it| {
        let message = format!("May be the same note: {}", it.render_line());
        let finding = CheckFinding::new(CheckId::NOTES_DUPLICATE, CheckSeverity::Info, message);
        let finding = finding.with_advice("a person has to decide; nothing is merged");
        match it.files.first() {
            Some(path) => finding.in_file(path),
            None => finding,
        }
    });
    CheckOutcome::from_findings(found.collect())
}

/// Checks the state for one kind of problem.
fn check_health(
    survey: &WorkspaceSurvey<'_>,
    check: CheckId,
    severity: CheckSeverity,
    is_own: fn(&HealthProblem) -> bool,
) -> CheckOutcome {
    let own = survey.health().problems.iter().filter(|it| is_own(it));
    let found = own.map(|it| {
        let finding = CheckFinding::new(check, severity, it.message());
        match it {
            HealthProblem::NoState(path)
            | HealthProblem::Unreadable(path, _)
            | HealthProblem::Untouched(path) => finding.in_file(path),
            HealthProblem::LargeErrorLog { path, .. } => finding.with_place(path, None),
            HealthProblem::NoFolder
            | HealthProblem::Large { .. }
            | HealthProblem::NotConnected { .. } => finding,
        }
    });
    CheckOutcome::from_findings(found.collect())
}

/// Checks that there is a state.
pub(super) fn check_state_missing(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_health(survey, CheckId::STATE_MISSING, CheckSeverity::Error, |it| {
        matches!(it, HealthProblem::NoFolder | HealthProblem::NoState(_))
    })
}

/// Checks that the state files can be read.
pub(super) fn check_state_unreadable(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_health(
        survey,
        CheckId::STATE_UNREADABLE,
        CheckSeverity::Error,
        |it| matches!(it, HealthProblem::Unreadable(..)),
    )
}

/// Checks that the state file was written within a day.
pub(super) fn check_state_untouched(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_health(
        survey,
        CheckId::STATE_UNTOUCHED,
        CheckSeverity::Warning,
        |it| matches!(it, HealthProblem::Untouched(_)),
    )
}

/// Checks the size of the state files.
pub(super) fn check_state_large(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_health(survey, CheckId::STATE_LARGE, CheckSeverity::Warning, |it| {
        matches!(it, HealthProblem::Large { .. })
    })
}

/// Checks the size of the MCP server's error log.
pub(super) fn check_state_error_log(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_health(
        survey,
        CheckId::STATE_ERROR_LOG,
        CheckSeverity::Warning,
        |it| matches!(it, HealthProblem::LargeErrorLog { .. }),
    )
}

/// Checks that the project's own settings connect a client.
pub(super) fn check_clients_unconnected(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    check_health(
        survey,
        CheckId::CLIENTS_UNCONNECTED,
        CheckSeverity::Info,
        |it| matches!(it, HealthProblem::NotConnected { .. }),
    )
}

/// Checks that every setting is valid.
pub(super) fn check_settings_invalid(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let all = doctor::check_settings(survey.workspace);
    find_outcome(&all, CheckId::SETTINGS_INVALID)
}

/// Returns the outcome of a check of the installation.
pub(super) fn check_diagnosis(survey: &WorkspaceSurvey<'_>, check: CheckId) -> CheckOutcome {
    find_outcome(survey.diagnosis(), check)
}

/// Returns the outcome with this id, or `Passed` if it is not in the list.
fn find_outcome(all: &[(CheckId, CheckOutcome)], check: CheckId) -> CheckOutcome {
    let own = all.iter().find(|(it, _)| *it == check);
    own.map_or(CheckOutcome::Passed(None), |(_, outcome)| outcome.clone())
}

/// Checks that the programs that clients call exist.
pub(super) fn check_clients_program(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let Some(missing) = survey.missing_programs() else {
        return CheckOutcome::Skipped("The files of clients were not read".to_owned());
    };
    let found = missing.iter().map(|it| {
        let (client, program) = (it.client, &it.program);
        let title = client.title();
        let place = if program.contains(['/', '\\']) {
            "not there"
        } else {
            "not on the `PATH`"
        };
        let message = format!(
            "{title} is set up to call `{program}`, which is {place}: its hooks do nothing, and nothing \
             is recorded"
        );
        CheckFinding::new(CheckId::CLIENTS_PROGRAM, CheckSeverity::Error, message)
            .with_place(&it.file, None)
            .with_advice(format!(
                "Install the program there, or run `memory-forge setup {}` again",
                client.name()
            ))
    });
    CheckOutcome::from_findings(found.collect())
}

/// Lists what hooks do not bring any more.
pub(super) fn check_push_silenced(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let silenced = push::silenced_pushes(survey.workspace);
    let found = silenced.iter().map(|(item, times)| {
        let item = escape_markdown_line(item);
        let message = format!("`{item}` was ignored or contradicted {times} times and is silenced");
        CheckFinding::new(CheckId::PUSH_SILENCED, CheckSeverity::Info, message)
            .with_place(push::PUSHES_FILE, None)
            .with_advice(format!(
                "Delete `{}` to hear of it again",
                push::PUSHES_FILE
            ))
    });
    CheckOutcome::from_findings(found.collect())
}

/// Checks that pointers in agents' indexes lead to files.
pub(super) fn check_agents_pointer(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let memories = match survey.agent_memories() {
        Ok(memories) => memories,
        Err(why) => return CheckOutcome::Skipped(why.to_owned()),
    };
    let lost = memories.iter().flat_map(|(_, it)| &it.lost);
    let found = lost.map(|it| {
        let message = format!("`{}` is not there, or others lack it", it.target);
        CheckFinding::new(CheckId::AGENTS_POINTER, CheckSeverity::Warning, message)
            .with_place(it.file.as_str(), Some(it.line))
            .with_subject(&it.target)
            .with_advice("run `memory-forge agent index --fix`")
    });
    CheckOutcome::from_findings(found.collect())
}

/// Checks that agents' indexes match their topics.
pub(super) fn check_agents_index(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let memories = match survey.agent_memories() {
        Ok(memories) => memories,
        Err(why) => return CheckOutcome::Skipped(why.to_owned()),
    };
    let changed = memories.iter().flat_map(|(_, it)| &it.changed);
    let found = changed.map(|path| {
        let message = format!("{path} differs from its topics");
        CheckFinding::new(CheckId::AGENTS_INDEX, CheckSeverity::Warning, message)
            .in_file(path)
            .with_advice("run `memory-forge agent index`")
    });
    CheckOutcome::from_findings(found.collect())
}

/// Checks that agents' topics can be read.
pub(super) fn check_agents_unreadable(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let problems = match survey.agent_memories() {
        Ok(memories) => memories.iter().flat_map(|(_, it)| it.problems.clone()),
        Err(why) => {
            let finding = CheckFinding::new(CheckId::AGENTS_UNREADABLE, CheckSeverity::Error, why);
            return CheckOutcome::Found(vec![finding]);
        }
    };
    let found = problems
        .map(|it| CheckFinding::new(CheckId::AGENTS_UNREADABLE, CheckSeverity::Warning, it));
    CheckOutcome::from_findings(found.collect())
}

/// Checks Claude Code's own memory index.
pub(super) fn check_agents_claude(survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
    let Some(own) = survey.claude_memory() else {
        return CheckOutcome::Skipped("Claude Code has no memory of this project".to_owned());
    };
    let path = own.path.display().to_string();
    let warn = |message: String, line| {
        let finding = CheckFinding::new(CheckId::AGENTS_CLAUDE, CheckSeverity::Warning, message);
        finding.with_place(&path, line)
    };
    let mut found = Vec::new();
    if own.is_too_long() {
        let message = "Claude Code reads only its first 200 lines and 25,000 characters";
        found.push(warn(message.to_owned(), None));
    }
    let lost = own.lost.iter();
    found.extend(lost.map(|(line, it)| warn(format!("`{it}` is not there"), Some(*line))));
    let unlisted = own.unlisted.iter();
    found.extend(unlisted.map(|it| warn(format!("nothing points to `{it}`"), None)));
    CheckOutcome::from_findings(found)
}
