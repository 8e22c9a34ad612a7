//! Corrects facts and removes corrections. A statement is accepted only if it
//! can be found again and does not match unrelated texts.

use jiff::Timestamp;

use super::corrections::MAX_FACT_CHARS;
use super::normal::{phrase, unmarked};
use super::{
    Correction, Corrections, LIST, ListedFact, RetractionList, SECTION, change_list, take_off,
};
use crate::diagnostic::Diagnostic;
use crate::document::{self, Edit, inert_line};
use crate::quote;
use crate::workspace::{self, Receipt, Workspace};

/// The heading of a list that begins with a fact.
const OPENING: &str = "# Forgotten\n";
/// The introduction of the corrected facts.
const ABOUT: &str = "These statements are wrong. Texts that say them are not saved, and what a search finds of them carries the correction. `memory-forge restore --fact` lifts one, and so does deleting its line.\n\n";
/// A fact to correct.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct New<'a> {
    pub fact: &'a str,
    pub instead: Option<&'a str>,
    pub reason: Option<&'a str>,
}

/// A correction that was added or was already present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrected {
    pub correction: Correction,
    /// The earlier correction of the same fact.
    pub before: Option<Correction>,
    pub receipt: Receipt,
}

/// The corrections that were removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifted {
    pub corrections: Vec<Correction>,
    pub receipt: Receipt,
}

/// An error of correcting a fact or removing a correction. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The list could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The caller gave no statement.
    #[error("There is no fact to correct")]
    Empty,
    /// The caller's text contains a secret.
    #[error("The text looks as if it held a secret ({rule}); nothing was written")]
    Secret { rule: &'static str },
    /// The caller gave a single word, which would match too many texts.
    #[error("`{fact}` is one word, and every text that has it would be refused")]
    OneWord { fact: String },
    /// The caller's text exceeds `MAX_FACT_CHARS`.
    #[error("The {what} has more than {MAX_FACT_CHARS} characters")]
    Long { what: &'static str },
    /// The caller's replacement equals the fact.
    #[error("The replacement says what the fact says")]
    Same,
    /// The caller's replacement repeats a fact that is corrected already.
    #[error("The replacement repeats what was corrected. {}", .correction.told())]
    Replaced { correction: Box<Correction> },
    /// The caller named a fact that the list does not correct.
    #[error("`{fact}` is not corrected")]
    NotCorrected { fact: String },
    /// A comment or code block in the list is never closed and would swallow
    /// the new line; the user has to close it.
    #[error("`{LIST}` cannot be added to: a comment or code block in it is never closed")]
    OpenEnded,
}

impl Diagnostic for Error {
    fn code(&self) -> &'static str {
        match self {
            Error::Workspace(error) => error.code(),
            Error::Empty => "correct.empty",
            Error::Secret { .. } => "correct.secret",
            Error::OneWord { .. } => "correct.one-word",
            Error::Long { .. } => "correct.too-long",
            Error::Same => "correct.same",
            Error::Replaced { .. } => "correct.corrected",
            Error::NotCorrected { .. } => "correct.not-corrected",
            Error::OpenEnded => "correct.open-ended",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Error::Workspace(error) => return error.hints(),
            Error::Empty | Error::Long { .. } | Error::Same => return Vec::new(),
            Error::OneWord { .. } => "Say the whole statement: `The port is 8080`".to_owned(),
            Error::Replaced { correction } => {
                format!("`{}` lifts that correction first", correction.lifted_by())
            }
            Error::NotCorrected { .. } => "`memory-forge stats` lists what is corrected".to_owned(),
            Error::OpenEnded => "Close it, then try again".to_owned(),
            Error::Secret { .. } => "Say it without the value".to_owned(),
        };
        vec![hint]
    }

    fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::Empty | Error::Long { .. } | Error::Same | Error::OneWord { .. }
        )
    }
}

/// Adds a fact to the list. The same correction again changes nothing; another
/// one of the same fact replaces it.
pub fn correct(workspace: &Workspace, new: &New, now: Timestamp) -> Result<Corrected, Error> {
    let new = Given::read(new)?;
    let said = [Some(&new.fact), new.instead.as_ref(), new.reason.as_ref()];
    for text in said.into_iter().flatten() {
        if let Some(rule) = quote::cleaned(text).secrets.first() {
            return Err(Error::Secret { rule });
        }
    }
    let known = Corrections::read(workspace)?;
    let own = phrase(&new.fact);
    if let Some(instead) = &new.instead {
        let mut said = known.check(instead).into_iter();
        if let Some(other) = said.find(|it| phrase(&it.fact) != own) {
            let correction = Box::new(other.clone());
            return Err(Error::Replaced { correction });
        }
    }
    let (before, receipt) = change_list(
        workspace,
        "Correct a fact",
        Some(OPENING),
        now,
        |list| -> Result<_, Error> {
            let document = &list.document;
            let same: Vec<&ListedFact> = list
                .facts
                .iter()
                .filter(|it| phrase(&it.correction.fact) == own)
                .collect();
            let before = same.first().map(|it| it.correction.clone());
            let says = |it: &Correction| {
                (&it.instead, &it.reason) == (&new.instead, &new.reason)
                    // A repeated fact without details keeps the details of the
                    // list.
                    || (new.instead.is_none() && new.reason.is_none())
            };
            if before.as_ref().is_some_and(says) {
                return Ok((before, None));
            }
            let day = now.strftime("%Y-%m-%d").to_string();
            let edits = match same.split_first() {
                Some((first, others)) => {
                    let mut edits = vec![Edit {
                        span: first.span.clone(),
                        text: format!("{}{}", new.line(&day), document.newline()),
                    }];
                    let removal = |it: &&ListedFact| document.take_out(it.span.clone());
                    edits.extend(others.iter().map(removal));
                    edits
                }
                None => vec![match document.find_section(SECTION) {
                    Some(section) => document.append_to_section(section, &new.line(&day)),
                    None => {
                        document.append_section(2, SECTION, &format!("{ABOUT}{}", new.line(&day)))
                    }
                }],
            };
            let after = document::apply(&document.text, edits)
                .map_err(|e| workspace::Error::Refused(e.to_string()))?;
            let mut read = RetractionList::parse(after.clone()).facts.into_iter();
            if !read.any(|it| phrase(&it.correction.fact) == own) {
                return Err(Error::OpenEnded);
            }
            Ok((before, Some(after)))
        },
    )?;
    let there = Corrections::read(workspace)?;
    let correction = there.all().iter().find(|it| phrase(&it.fact) == own);
    Ok(Corrected {
        correction: correction.cloned().ok_or(Error::OpenEnded)?,
        before,
        receipt,
    })
}

/// Removes corrections from the list, or all of them for `None`. Facts match in
/// any spelling.
pub fn lift(
    workspace: &Workspace,
    facts: Option<&[String]>,
    now: Timestamp,
) -> Result<Lifted, Error> {
    let known = Corrections::read(workspace)?;
    let wanted: Option<Vec<String>> =
        facts.map(|it| it.iter().map(|it| phrase(&quoted(it))).collect());
    let is_wanted = |it: &Correction| {
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.contains(&phrase(&it.fact)))
    };
    for (fact, wanted) in facts
        .iter()
        .flat_map(|it| it.iter())
        .zip(wanted.iter().flatten())
    {
        if !known.all().iter().any(|it| phrase(&it.fact) == *wanted) {
            return Err(Error::NotCorrected { fact: fact.clone() });
        }
    }
    let corrections: Vec<Correction> = known
        .all()
        .iter()
        .filter(|it| is_wanted(it))
        .cloned()
        .collect();
    let what = format!("Lift {} correction(s)", corrections.len());
    let receipt = take_off(workspace, &what, now, |list| {
        let facts = list.facts.iter().filter(|it| is_wanted(&it.correction));
        facts.map(|it| it.span.clone()).collect()
    })?;
    Ok(Lifted {
        corrections,
        receipt,
    })
}

/// A correction whose texts are checked and fit on one line of the list.
struct Given {
    fact: String,
    instead: Option<String>,
    reason: Option<String>,
}

impl Given {
    fn read(new: &New) -> Result<Given, Error> {
        let fact = quoted(new.fact);
        let given = |text: Option<&str>, as_line: fn(&str) -> String| {
            text.map(as_line).filter(|text| !text.is_empty())
        };
        let given = Given {
            instead: given(new.instead, quoted),
            reason: given(new.reason, inert_line),
            fact,
        };
        let long = |text: &str| text.chars().count() > MAX_FACT_CHARS;
        for (what, text) in [
            ("fact", Some(&given.fact)),
            ("replacement", given.instead.as_ref()),
            ("reason", given.reason.as_ref()),
        ] {
            if text.is_some_and(|text| long(text)) {
                return Err(Error::Long { what });
            }
        }
        let words = phrase(&given.fact);
        match words.split_whitespace().collect::<Vec<_>>()[..] {
            _ if !words.contains(char::is_alphanumeric) => return Err(Error::Empty),
            // A host or a version identifies one thing; a dictionary word is in
            // too many texts.
            [word] if word.chars().all(char::is_alphabetic) => {
                return Err(Error::OneWord { fact: given.fact });
            }
            _ => {}
        }
        if given.instead.as_deref().map(phrase) == Some(words) {
            return Err(Error::Same);
        }
        Ok(given)
    }

    fn line(&self, day: &str) -> String {
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
fn quoted(text: &str) -> String {
    let plain = text.replace('"', "'").replace(['\n', '\r'], " ");
    let (plain, _) = unmarked(&plain);
    let mut plain = plain.trim_start_matches(['\'', '|', ' ']);
    // A backslash escapes the character after it, so both stay.
    while let Some(rest) = plain.strip_suffix(['\'', '|', ' '])
        && !rest.ends_with('\\')
    {
        plain = rest;
    }
    inert_line(plain)
}
