//! Converts problems that other modules know of to findings: links, closets,
//! the state, duplicates, agents' indexes. It searches for nothing itself.

use super::survey::Survey;
use crate::doctor;
use crate::document::LinkKind;
use crate::finding::{CheckId, CheckOutcome, Finding, Severity};
use crate::links::{Broken, Trouble};
use crate::mind::HealthProblem;
use crate::routing::closets::check::Kind;
use crate::workspace::RelPath;

/// Checks links for one kind of trouble.
fn links(
    survey: &Survey<'_>,
    check: CheckId,
    severity: Severity,
    describe: fn(&Broken) -> Option<(String, String)>,
) -> CheckOutcome {
    let found = survey.links().troubles.iter().filter_map(|it| {
        let (message, advice) = describe(it)?;
        let finding = Finding::new(check, severity, format!("{} {message}", as_written(it)));
        let finding = finding.at(it.path.as_str(), Some(it.line));
        Some(finding.about(&it.link).advice(advice))
    });
    CheckOutcome::of(found.collect())
}

/// Formats a link as it is written in the file.
fn as_written(link: &Broken) -> String {
    match link.kind {
        LinkKind::Wiki | LinkKind::Embed => format!("[[{}]]", link.link),
        _ => format!("({})", link.link),
    }
}

/// Checks for links to missing files.
pub(super) fn links_missing(survey: &Survey<'_>) -> CheckOutcome {
    links(survey, CheckId::LINKS_MISSING, Severity::Error, |it| {
        let Trouble::Missing { nearest } = &it.trouble else {
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
pub(super) fn links_place(survey: &Survey<'_>) -> CheckOutcome {
    links(survey, CheckId::LINKS_PLACE, Severity::Warning, |it| {
        (it.trouble == Trouble::NoSuchPlace).then(|| {
            let message = "leads to a file without such a heading or block";
            (message.to_owned(), "correct what is behind `#`".to_owned())
        })
    })
}

/// Checks for links that match several files.
pub(super) fn links_ambiguous(survey: &Survey<'_>) -> CheckOutcome {
    const MAX_NAMED: usize = 3;
    links(survey, CheckId::LINKS_AMBIGUOUS, Severity::Warning, |it| {
        let Trouble::Ambiguous(files) = &it.trouble else {
            return None;
        };
        let named = files.iter().take(MAX_NAMED).map(RelPath::as_str);
        let message = format!("may be {}", named.collect::<Vec<_>>().join(" or "));
        Some((
            message,
            "write the path of the one that is meant".to_owned(),
        ))
    })
}

/// Checks for closets that name missing files or have no marker.
pub(super) fn links_closets(survey: &Survey<'_>) -> CheckOutcome {
    let found = survey.links().closets.iter().map(|it| {
        Finding::new(CheckId::LINKS_CLOSETS, Severity::Warning, &it.message)
            .at(it.path.as_str(), it.line)
            .advice("run `memory-forge closets build`")
    });
    CheckOutcome::of(found.collect())
}

/// Checks closets for the mismatch that the id names.
pub(super) fn closets(survey: &Survey<'_>, check: CheckId) -> CheckOutcome {
    let mismatches = match survey.closets() {
        Ok(mismatches) => mismatches,
        // Only one of the nine checks reports the error, so that it appears
        // once.
        Err(why) if check == CheckId::CLOSETS_UNREADABLE => {
            let finding = Finding::new(check, Severity::Error, why);
            return CheckOutcome::Found(vec![finding.advice("make it readable text")]);
        }
        Err(why) => return CheckOutcome::Skipped(why.to_owned()),
    };
    let is_own = |kind: Kind| check.as_str().strip_prefix("closets.") == Some(kind.name());
    let own = mismatches.iter().filter(|it| is_own(it.kind));
    let found = own.map(|it| {
        let finding = Finding::new(check, Severity::Warning, it.message());
        let finding = finding.at(it.file.as_str(), it.line).advice(it.advice());
        if it.entry.is_empty() {
            finding
        } else {
            finding.about(&it.entry)
        }
    });
    CheckOutcome::of(found.collect())
}

/// Checks for notes that may be the same.
pub(super) fn notes_duplicate(survey: &Survey<'_>) -> CheckOutcome {
    let found = survey.duplicates().iter().map(|it| {
        let message = format!("May be the same note: {}", it.line());
        let finding = Finding::new(CheckId::NOTES_DUPLICATE, Severity::Info, message);
        let finding = finding.advice("a person has to decide; nothing is merged");
        match it.files.first() {
            Some(path) => finding.in_file(path),
            None => finding,
        }
    });
    CheckOutcome::of(found.collect())
}

/// Checks the state for one kind of problem.
fn health(
    survey: &Survey<'_>,
    check: CheckId,
    severity: Severity,
    is_own: fn(&HealthProblem) -> bool,
) -> CheckOutcome {
    let own = survey.health().problems.iter().filter(|it| is_own(it));
    let found = own.map(|it| {
        let finding = Finding::new(check, severity, it.message());
        match it {
            HealthProblem::NoState(path)
            | HealthProblem::Unreadable(path, _)
            | HealthProblem::Untouched(path) => finding.in_file(path),
            HealthProblem::LargeErrorLog { path, .. } => finding.at(path, None),
            HealthProblem::NoFolder
            | HealthProblem::Large { .. }
            | HealthProblem::NotConnected { .. } => finding,
        }
    });
    CheckOutcome::of(found.collect())
}

/// Checks that there is a state.
pub(super) fn state_missing(survey: &Survey<'_>) -> CheckOutcome {
    health(survey, CheckId::STATE_MISSING, Severity::Error, |it| {
        matches!(it, HealthProblem::NoFolder | HealthProblem::NoState(_))
    })
}

/// Checks that the state files can be read.
pub(super) fn state_unreadable(survey: &Survey<'_>) -> CheckOutcome {
    health(survey, CheckId::STATE_UNREADABLE, Severity::Error, |it| {
        matches!(it, HealthProblem::Unreadable(..))
    })
}

/// Checks that the state file was written within a day.
pub(super) fn state_untouched(survey: &Survey<'_>) -> CheckOutcome {
    health(survey, CheckId::STATE_UNTOUCHED, Severity::Warning, |it| {
        matches!(it, HealthProblem::Untouched(_))
    })
}

/// Checks the size of the state files.
pub(super) fn state_large(survey: &Survey<'_>) -> CheckOutcome {
    health(survey, CheckId::STATE_LARGE, Severity::Warning, |it| {
        matches!(it, HealthProblem::Large { .. })
    })
}

/// Checks the size of the MCP server's error log.
pub(super) fn state_error_log(survey: &Survey<'_>) -> CheckOutcome {
    health(survey, CheckId::STATE_ERROR_LOG, Severity::Warning, |it| {
        matches!(it, HealthProblem::LargeErrorLog { .. })
    })
}

/// Checks that the project's own settings connect a client.
pub(super) fn clients_unconnected(survey: &Survey<'_>) -> CheckOutcome {
    health(survey, CheckId::CLIENTS_UNCONNECTED, Severity::Info, |it| {
        matches!(it, HealthProblem::NotConnected { .. })
    })
}

/// Checks that every setting is valid.
pub(super) fn settings_invalid(survey: &Survey<'_>) -> CheckOutcome {
    let all = doctor::check_settings(survey.workspace);
    outcome_of(&all, CheckId::SETTINGS_INVALID)
}

/// Returns the outcome of a check of the installation.
pub(super) fn diagnosed(survey: &Survey<'_>, check: CheckId) -> CheckOutcome {
    outcome_of(survey.diagnosis(), check)
}

/// Returns the outcome with this id, or `Passed` if it is not in the list.
fn outcome_of(all: &[(CheckId, CheckOutcome)], check: CheckId) -> CheckOutcome {
    let own = all.iter().find(|(it, _)| *it == check);
    own.map_or(CheckOutcome::Passed(None), |(_, outcome)| outcome.clone())
}

/// Checks that the programs that clients call exist.
pub(super) fn clients_program(survey: &Survey<'_>) -> CheckOutcome {
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
            "{title} is to call `{program}`, which is {place}: its hooks keep silent and nothing \
             is remembered"
        );
        Finding::new(CheckId::CLIENTS_PROGRAM, Severity::Error, message)
            .at(&it.file, None)
            .advice(format!(
                "Install the program there, or run `memory-forge setup {}` again",
                client.name()
            ))
    });
    CheckOutcome::of(found.collect())
}

/// Checks that pointers in agents' indexes lead to files.
pub(super) fn agents_pointer(survey: &Survey<'_>) -> CheckOutcome {
    let memories = match survey.memories() {
        Ok(memories) => memories,
        Err(why) => return CheckOutcome::Skipped(why.to_owned()),
    };
    let lost = memories.iter().flat_map(|(_, it)| &it.lost);
    let found = lost.map(|it| {
        let message = format!("`{}` is not there, or others lack it", it.target);
        Finding::new(CheckId::AGENTS_POINTER, Severity::Warning, message)
            .at(it.file.as_str(), Some(it.line))
            .about(&it.target)
            .advice("run `memory-forge agent index --fix`")
    });
    CheckOutcome::of(found.collect())
}

/// Checks that agents' indexes match their topics.
pub(super) fn agents_index(survey: &Survey<'_>) -> CheckOutcome {
    let memories = match survey.memories() {
        Ok(memories) => memories,
        Err(why) => return CheckOutcome::Skipped(why.to_owned()),
    };
    let changed = memories.iter().flat_map(|(_, it)| &it.changed);
    let found = changed.map(|path| {
        let message = format!("{path} differs from its topics");
        Finding::new(CheckId::AGENTS_INDEX, Severity::Warning, message)
            .in_file(path)
            .advice("run `memory-forge agent index`")
    });
    CheckOutcome::of(found.collect())
}

/// Checks that agents' topics can be read.
pub(super) fn agents_unreadable(survey: &Survey<'_>) -> CheckOutcome {
    let problems = match survey.memories() {
        Ok(memories) => memories.iter().flat_map(|(_, it)| it.problems.clone()),
        Err(why) => {
            let finding = Finding::new(CheckId::AGENTS_UNREADABLE, Severity::Error, why);
            return CheckOutcome::Found(vec![finding]);
        }
    };
    let found = problems.map(|it| Finding::new(CheckId::AGENTS_UNREADABLE, Severity::Warning, it));
    CheckOutcome::of(found.collect())
}

/// Checks Claude Code's own memory index.
pub(super) fn agents_claude(survey: &Survey<'_>) -> CheckOutcome {
    let Some(own) = survey.claude() else {
        return CheckOutcome::Skipped("Claude Code has no memory of this project".to_owned());
    };
    let path = own.path.display().to_string();
    let warn = |message: String, line| {
        let finding = Finding::new(CheckId::AGENTS_CLAUDE, Severity::Warning, message);
        finding.at(&path, line)
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
    CheckOutcome::of(found)
}
