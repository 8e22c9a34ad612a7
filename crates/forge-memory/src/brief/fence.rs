//! Fences around text from memory, which is data and never an instruction.
//! Their marks contain the caller's nonce, which the author of a file cannot
//! know.

/// Maximum size of a fenced text; longer text is truncated.
const MAX_FENCED_BYTES: usize = 2 * super::MAX_BRIEF_BYTES;

/// Returns the mark that opens text from memory.
pub(super) fn opening_mark(nonce: &str) -> String {
    format!("<data {nonce}>")
}

/// Returns the mark that closes it.
pub(super) fn closing_mark(nonce: &str) -> String {
    format!("</data {nonce}>")
}

/// Removes control characters and the nonce, so that text from memory cannot
/// close its own fence.
pub(super) fn clean_for_fence(text: &str, nonce: &str) -> String {
    let text: String = text[..text.floor_char_boundary(MAX_FENCED_BYTES)]
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    if !nonce.is_empty() && text.contains(nonce) {
        text.replace(nonce, "…")
    } else {
        text
    }
}
