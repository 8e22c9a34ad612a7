//! Reports what was written into the state files, in the same words for every
//! door. Values from a file are prepared by the door, since an agent gets them
//! quoted and a terminal does not.

use forge_app::record;

/// Returns the line that reports what was written.
pub(crate) fn recorded_line(
    response: &record::RecordResponse,
    quoted: fn(&str) -> String,
) -> String {
    match &response.entry {
        record::RecordedEntry::State { created, phase } => {
            let done = if *created { "created" } else { "updated" };
            let phase = phase.as_deref().unwrap_or("Not set");
            let file = response.file.file_name();
            format!("{file} {done}. Phase: {}", quoted(phase))
        }
        record::RecordedEntry::Decision { id, title } => format!("Decision {id} saved: {title}"),
        record::RecordedEntry::Task { section, text } => {
            format!("Added to {}: {text}", quoted(section))
        }
        record::RecordedEntry::DoneTask { text } => format!("Marked complete: {}", quoted(text)),
        record::RecordedEntry::Session { number } => format!("Session {number} logged."),
        record::RecordedEntry::Idea(kept) if kept.added => {
            format!("Idea kept in {}: {}", kept.path, quoted(&kept.title))
        }
        record::RecordedEntry::Idea(kept) => {
            format!("Already in {}: {}", kept.path, quoted(&kept.title))
        }
    }
}
