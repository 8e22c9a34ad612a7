//! The one gate for text that is about to be written. Text of a person or an
//! agent passes unchanged, or is refused if it contains a secret or a corrected
//! fact. Text from programs passes with its secrets redacted, since a hook or
//! an import has no one to ask.
//!
//! The two outcomes are two functions, [`admit_text`] and [`redact_text`], so that a hook
//! has no error to handle. Writers take [`AdmittedText`], which only this
//! module makes: a writer that forgets the gate does not compile. Structure is
//! not checked here, since what is inert depends on the place in a file.

use std::collections::BTreeMap;
use std::ops::Deref;

use crate::diagnostic::Diagnostic;
use crate::document::LineNumbers;
use crate::quote;
use crate::retractions::{Correction, Corrections};
use crate::secrets;
use crate::workspace::{self, Workspace};

/// Text, or a value that contains texts, that passed the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmittedText<T>(T);

impl<T> Deref for AdmittedText<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
impl<T> AdmittedText<T> {
    /// Wraps any text, for tests of what a writer makes of it.
    pub(crate) fn unjudged(text: T) -> AdmittedText<T> {
        AdmittedText(text)
    }
}

impl AdmittedText<String> {
    /// Shortens or escapes admitted text. The closure must add nothing.
    pub(crate) fn edit_with(self, edit: impl FnOnce(&str) -> String) -> AdmittedText<String> {
        AdmittedText(edit(&self.0))
    }
}

/// A value with texts that a caller wants to write.
pub trait SubmittedText {
    /// Returns the texts that state something: they may hold no secret and
    /// repeat no corrected fact.
    fn stated_texts(&self) -> Vec<&str>;

    /// Returns names and labels: they may hold no secret.
    fn label_texts(&self) -> Vec<&str> {
        Vec::new()
    }
}

impl<T: SubmittedText + ?Sized> SubmittedText for &T {
    fn stated_texts(&self) -> Vec<&str> {
        (**self).stated_texts()
    }

    fn label_texts(&self) -> Vec<&str> {
        (**self).label_texts()
    }
}

impl SubmittedText for str {
    fn stated_texts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl SubmittedText for String {
    fn stated_texts(&self) -> Vec<&str> {
        vec![self]
    }
}

/// The reason why a text was refused. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum TextRefusal {
    /// The workspace cannot be read; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The caller's text repeats a fact that was corrected.
    #[error("The text repeats what was corrected. {}", join_corrections(.0))]
    Corrected(Vec<Correction>),
    /// The caller's text contains a secret. Lists the rule of each secret, with
    /// the line in a text of several lines, and never the value.
    #[error("The text seems to contain a secret ({})", found.join("; "))]
    Secret {
        /// The rule of each secret, with its line where the text has several.
        found: Vec<String>,
    },
}

impl Diagnostic for TextRefusal {
    fn code(&self) -> &'static str {
        match self {
            TextRefusal::Workspace(error) => error.code(),
            TextRefusal::Corrected(_) => "admit.corrected",
            TextRefusal::Secret { .. } => "admit.secret",
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            TextRefusal::Workspace(error) => error.hints(),
            TextRefusal::Secret { .. } => {
                vec!["Remove it, and state where it is kept instead".to_owned()]
            }
            TextRefusal::Corrected(hits) => {
                let lift = hits
                    .first()
                    .map(Correction::restore_command)
                    .unwrap_or_default();
                vec![format!(
                    "State the correct fact; if the correction is wrong, withdraw it with `{lift}`"
                )]
            }
        }
    }
}

/// Admits text of a person or an agent unchanged, or refuses it.
pub fn admit_text<T: SubmittedText>(
    workspace: &Workspace,
    text: T,
) -> Result<AdmittedText<T>, TextRefusal> {
    // Names and labels state nothing, so that they are checked for secrets
    // alone.
    refuse_secrets(text.label_texts())?;
    check_statements(workspace, &text.stated_texts(), None)?;
    Ok(AdmittedText(text))
}

/// Admits the new text of a file, or refuses it. A corrected fact that the file
/// repeated before is not new, so that such a file can still be edited.
pub fn admit_edit(
    workspace: &Workspace,
    before: &str,
    after: String,
) -> Result<AdmittedText<String>, TextRefusal> {
    check_statements(workspace, &[&after], Some(before))?;
    Ok(AdmittedText(after))
}

/// Refuses names and labels that hold a secret, plain or disguised.
pub fn refuse_secrets<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<(), TextRefusal> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        let secrets = secrets::find_secrets(text);
        if secrets.is_empty() {
            continue;
        }
        let lines = LineNumbers::of(text);
        let has_lines = text.trim().contains('\n');
        for secret in secrets {
            let place = if has_lines {
                format!(
                    "{}, line {}",
                    secret.rule,
                    lines.line_number_at(secret.span.start)
                )
            } else {
                secret.rule.to_owned()
            };
            // Several hits of one rule on one line are one item.
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(TextRefusal::Secret { found })
    }
}

/// Redacts the secrets of a text that a program hands over.
pub fn redact_text(text: &str) -> AdmittedText<String> {
    AdmittedText(secrets::redact_secrets(text).into_owned())
}

/// Counts of what was changed in imported texts. Values are never kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportTally {
    /// Number of redacted secrets, by rule.
    pub redacted: BTreeMap<&'static str, usize>,
    /// Number of escaped invisible characters.
    pub hidden: usize,
}

impl ImportTally {
    /// Adds the counts of another tally.
    pub fn add_counts(&mut self, other: &ImportTally) {
        for (rule, count) in &other.redacted {
            *self.redacted.entry(rule).or_default() += count;
        }
        self.hidden += other.hidden;
    }
}

/// Redacts the secrets of an imported text and escapes invisible characters. It
/// needs the whole text: half of a secret is not recognized.
pub fn admit_import(text: &str, tally: &mut ImportTally) -> String {
    let cleaned = quote::sanitize_with_report(text);
    for rule in cleaned.secrets {
        *tally.redacted.entry(rule).or_default() += 1;
    }
    tally.hidden += cleaned.hidden;
    cleaned.text.into_owned()
}

/// Refuses texts that contain a secret or repeat a corrected fact, except for
/// facts that the text repeated before the edit.
fn check_statements(
    workspace: &Workspace,
    texts: &[&str],
    before: Option<&str>,
) -> Result<(), TextRefusal> {
    refuse_secrets(texts.iter().copied())?;
    let corrections = Corrections::read(workspace)?;
    if corrections.is_empty() {
        return Ok(());
    }
    // Only what the edit adds is refused, else a file that repeats a fact that
    // was corrected later could never be edited again.
    let known = before
        .map(|it| corrections.check_text(it))
        .unwrap_or_default();
    let mut hits: Vec<Correction> = Vec::new();
    for hit in texts.iter().flat_map(|text| corrections.check_text(text)) {
        if !hits.contains(hit) && !known.contains(&hit) {
            hits.push(hit.clone());
        }
    }
    if hits.is_empty() {
        Ok(())
    } else {
        Err(TextRefusal::Corrected(hits))
    }
}

/// Maximum number of corrections that one refusal lists.
const MAX_LISTED_CORRECTIONS: usize = 5;

/// Renders the first corrections of a refusal and counts the rest.
fn join_corrections(hits: &[Correction]) -> String {
    let mut lines: Vec<String> = hits
        .iter()
        .take(MAX_LISTED_CORRECTIONS)
        .map(Correction::describe)
        .collect();
    if hits.len() > MAX_LISTED_CORRECTIONS {
        lines.push(format!("and {} more", hits.len() - MAX_LISTED_CORRECTIONS));
    }
    lines.join("; ")
}

#[cfg(test)]
mod tests;
