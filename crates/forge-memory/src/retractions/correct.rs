//! Corrects facts and removes corrections. A statement is accepted only if it
//! can be found again and does not match unrelated texts.

use jiff::Timestamp;

use super::corrections::MAX_FACT_CHARS;
use super::normal::{normalize_phrase, strip_block_marks};
use super::{
    Correction, Corrections, FACTS_SECTION, ListedFact, RETRACTION_LIST, RetractionList,
    change_list, remove_lines,
};
use crate::counts::count_noun;
use crate::diagnostic::Diagnostic;
use crate::document::{self, TextEdit, escape_markdown_line};
use crate::quote;
use crate::workspace::{self, ChangeReceipt, Workspace};

/// The heading of a list that begins with a fact.
const FACTS_OPENING: &str = "# Forgotten\n";
/// The introduction of the corrected facts.
const ABOUT: &str = "These statements are wrong. Texts that repeat them are not saved, and what a search finds of them carries the correction. `memory-forge restore --fact` withdraws one, and so does deleting its line.\n\n";
/// A fact to correct.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewCorrection<'a> {
    /// The wrong statement.
    pub fact: &'a str,
    /// The right statement in its place.
    pub instead: Option<&'a str>,
    /// Why it is wrong.
    pub reason: Option<&'a str>,
}

/// A correction that was added or was already present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorrectionOutcome {
    /// The correction as the list has it.
    pub correction: Correction,
    /// The earlier correction of the same fact.
    pub before: Option<Correction>,
    /// The receipt of the change.
    pub receipt: ChangeReceipt,
}

/// The corrections that were removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedCorrections {
    /// The corrections.
    pub corrections: Vec<Correction>,
    /// The receipt of the change.
    pub receipt: ChangeReceipt,
}

/// An error of correcting a fact or removing a correction. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CorrectionError {
    /// The list could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The caller gave no statement.
    #[error("There is no fact to correct")]
    Empty,
    /// The caller's text contains a secret.
    #[error("The text seems to contain a secret ({rule}); nothing was written")]
    Secret {
        /// The rule that recognized it.
        rule: &'static str,
    },
    /// The caller gave a single word, which would match too many texts.
    #[error("`{fact}` is one word, and every text that has it would be refused")]
    OneWord {
        /// The word.
        fact: String,
    },
    /// The caller's text exceeds `MAX_FACT_CHARS`.
    #[error("The {what} has more than {MAX_FACT_CHARS} characters")]
    Long {
        /// The text that is too long: the fact, its replacement or the reason.
        what: &'static str,
    },
    /// The caller's replacement equals the fact.
    #[error("The replacement is the same as the fact")]
    Same,
    /// The caller's replacement repeats a fact that is corrected already.
    #[error("The replacement repeats what was corrected. {}", .correction.describe())]
    Replaced {
        /// The correction that it repeats.
        correction: Box<Correction>,
    },
    /// The caller named a fact that the list does not correct.
    #[error("`{fact}` is not corrected")]
    NotCorrected {
        /// The fact that was named.
        fact: String,
    },
    /// A comment or code block in the list is never closed and would swallow
    /// the new line; the user has to close it.
    #[error(
        "`{RETRACTION_LIST}` cannot be added to: a comment or code block in it is never closed"
    )]
    OpenEnded,
}

impl Diagnostic for CorrectionError {
    fn code(&self) -> &'static str {
        match self {
            CorrectionError::Workspace(error) => error.code(),
            CorrectionError::Empty => "correct.empty",
            CorrectionError::Secret { .. } => "correct.secret",
            CorrectionError::OneWord { .. } => "correct.one-word",
            CorrectionError::Long { .. } => "correct.too-long",
            CorrectionError::Same => "correct.same",
            CorrectionError::Replaced { .. } => "correct.corrected",
            CorrectionError::NotCorrected { .. } => "correct.not-corrected",
            CorrectionError::OpenEnded => "correct.open-ended",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            CorrectionError::Workspace(error) => return error.hints(),
            CorrectionError::Empty | CorrectionError::Long { .. } | CorrectionError::Same => {
                return Vec::new();
            }
            CorrectionError::OneWord { .. } => {
                "Say the whole statement: `The port is 8080`".to_owned()
            }
            CorrectionError::Replaced { correction } => {
                format!(
                    "`{}` withdraws that correction first",
                    correction.restore_command()
                )
            }
            CorrectionError::NotCorrected { .. } => {
                "`memory-forge stats` lists what is corrected".to_owned()
            }
            CorrectionError::OpenEnded => "Close it, then try again".to_owned(),
            CorrectionError::Secret { .. } => "Say it without the value".to_owned(),
        };
        vec![hint]
    }

    fn is_usage(&self) -> bool {
        matches!(
            self,
            CorrectionError::Empty
                | CorrectionError::Long { .. }
                | CorrectionError::Same
                | CorrectionError::OneWord { .. }
        )
    }
}

/// Adds a fact to the list. The same correction again changes nothing; another
/// one of the same fact replaces it.
pub fn correct_fact(
    workspace: &Workspace,
    new: &NewCorrection,
    now: Timestamp,
) -> Result<CorrectionOutcome, CorrectionError> {
    let new = CheckedCorrection::read(new)?;
    let stated = [Some(&new.fact), new.instead.as_ref(), new.reason.as_ref()];
    for text in stated.into_iter().flatten() {
        if let Some(rule) = quote::sanitize_with_report(text).secrets.first() {
            return Err(CorrectionError::Secret { rule });
        }
    }
    let known = Corrections::read(workspace)?;
    let own = normalize_phrase(&new.fact);
    if let Some(instead) = &new.instead {
        let mut stated = known.check_text(instead).into_iter();
        if let Some(other) = stated.find(|it| normalize_phrase(&it.fact) != own) {
            let correction = Box::new(other.clone());
            return Err(CorrectionError::Replaced { correction });
        }
    }
    let (before, receipt) = change_list(
        workspace,
        "Correct a fact",
        Some(FACTS_OPENING),
        now,
        |list| -> Result<_, CorrectionError> {
            let document = &list.document;
            let same: Vec<&ListedFact> = list
                .facts
                .iter()
                .filter(|it| normalize_phrase(&it.correction.fact) == own)
                .collect();
            let before = same.first().map(|it| it.correction.clone());
            let is_same = |it: &Correction| {
                (&it.instead, &it.reason) == (&new.instead, &new.reason)
                    // A repeated fact without details keeps the details of the
                    // list.
                    || (new.instead.is_none() && new.reason.is_none())
            };
            if before.as_ref().is_some_and(is_same) {
                return Ok((before, None));
            }
            let day = now.strftime("%Y-%m-%d").to_string();
            let edits = match same.split_first() {
                Some((first, others)) => {
                    let mut edits = vec![TextEdit {
                        span: first.span.clone(),
                        text: format!("{}{}", new.to_line(&day), document.newline()),
                    }];
                    let removal = |it: &&ListedFact| document.delete_lines(it.span.clone());
                    edits.extend(others.iter().map(removal));
                    edits
                }
                None => vec![match document.find_section(FACTS_SECTION) {
                    Some(section) => document.append_to_section(section, &new.to_line(&day)),
                    None => document.append_section(
                        2,
                        FACTS_SECTION,
                        &format!("{ABOUT}{}", new.to_line(&day)),
                    ),
                }],
            };
            let after = document::apply_edits(&document.text, edits)
                .map_err(|e| workspace::WorkspaceError::Refused(e.to_string()))?;
            let mut read = RetractionList::parse(after.clone()).facts.into_iter();
            if !read.any(|it| normalize_phrase(&it.correction.fact) == own) {
                return Err(CorrectionError::OpenEnded);
            }
            Ok((before, Some(after)))
        },
    )?;
    let there = Corrections::read(workspace)?;
    let correction = there
        .all()
        .iter()
        .find(|it| normalize_phrase(&it.fact) == own);
    Ok(CorrectionOutcome {
        correction: correction.cloned().ok_or(CorrectionError::OpenEnded)?,
        before,
        receipt,
    })
}

/// Removes corrections from the list, or all of them for `None`. Facts match in
/// any spelling.
pub fn remove_corrections(
    workspace: &Workspace,
    facts: Option<&[String]>,
    now: Timestamp,
) -> Result<RemovedCorrections, CorrectionError> {
    let known = Corrections::read(workspace)?;
    let wanted: Option<Vec<String>> = facts.map(|it| {
        it.iter()
            .map(|it| normalize_phrase(&quote_fact(it)))
            .collect()
    });
    let is_wanted = |it: &Correction| {
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.contains(&normalize_phrase(&it.fact)))
    };
    for (fact, wanted) in facts
        .iter()
        .flat_map(|it| it.iter())
        .zip(wanted.iter().flatten())
    {
        if !known
            .all()
            .iter()
            .any(|it| normalize_phrase(&it.fact) == *wanted)
        {
            return Err(CorrectionError::NotCorrected { fact: fact.clone() });
        }
    }
    let corrections: Vec<Correction> = known
        .all()
        .iter()
        .filter(|it| is_wanted(it))
        .cloned()
        .collect();
    let what = format!("Withdraw {}", count_noun(corrections.len(), "correction"));
    let receipt = remove_lines(workspace, &what, now, |list| {
        let facts = list.facts.iter().filter(|it| is_wanted(&it.correction));
        facts.map(|it| it.span.clone()).collect()
    })?;
    Ok(RemovedCorrections {
        corrections,
        receipt,
    })
}

/// A correction whose texts are checked and fit on one line of the list.
struct CheckedCorrection {
    fact: String,
    instead: Option<String>,
    reason: Option<String>,
}

impl CheckedCorrection {
    fn read(new: &NewCorrection) -> Result<CheckedCorrection, CorrectionError> {
        let fact = quote_fact(new.fact);
        let given = |text: Option<&str>, as_line: fn(&str) -> String| {
            text.map(as_line).filter(|text| !text.is_empty())
        };
        let given = CheckedCorrection {
            instead: given(new.instead, quote_fact),
            reason: given(new.reason, escape_markdown_line),
            fact,
        };
        let long = |text: &str| text.chars().count() > MAX_FACT_CHARS;
        for (what, text) in [
            ("fact", Some(&given.fact)),
            ("replacement", given.instead.as_ref()),
            ("reason", given.reason.as_ref()),
        ] {
            if text.is_some_and(|text| long(text)) {
                return Err(CorrectionError::Long { what });
            }
        }
        let words = normalize_phrase(&given.fact);
        match words.split_whitespace().collect::<Vec<_>>()[..] {
            _ if !words.contains(char::is_alphanumeric) => return Err(CorrectionError::Empty),
            // A host or a version identifies one thing; a dictionary word is in
            // too many texts.
            [word] if word.chars().all(char::is_alphabetic) => {
                return Err(CorrectionError::OneWord { fact: given.fact });
            }
            _ => {}
        }
        if given.instead.as_deref().map(normalize_phrase) == Some(words) {
            return Err(CorrectionError::Same);
        }
        Ok(given)
    }

    fn to_line(&self, day: &str) -> String {
        let mut line = format!("- \"{}\" — corrected {day}", self.fact);
        if let Some(instead) = &self.instead {
            line.push_str(&format!(", instead \"{instead}\""));
        }
        if let Some(reason) = &self.reason {
            line.push_str(&format!(": {reason}"));
        }
        line
    }
}

/// Returns text for one line between double quotes, without list, heading or
/// table marks of the place that it was copied from.
fn quote_fact(text: &str) -> String {
    let plain = text.replace('"', "'").replace(['\n', '\r'], " ");
    let (plain, _) = strip_block_marks(&plain);
    let mut plain = plain.trim_start_matches(['\'', '|', ' ']);
    // A backslash escapes the character after it, so both stay.
    while let Some(rest) = plain.strip_suffix(['\'', '|', ' '])
        && !rest.ends_with('\\')
    {
        plain = rest;
    }
    escape_markdown_line(plain)
}
