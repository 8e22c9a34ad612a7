//! Fences around text from memory, which is data and never an instruction.
//! Their marks contain the caller's nonce, which the author of a file cannot
//! know.

/// Maximum size of a fenced text; longer text is truncated.
const MAX_BYTES: usize = 2 * super::MAX_BYTES;

/// Returns the mark that opens text from memory.
pub(super) fn open(nonce: &str) -> String {
    format!("<data {nonce}>")
}

/// Returns the mark that closes it.
pub(super) fn close(nonce: &str) -> String {
    format!("</data {nonce}>")
}

/// Removes control characters and the nonce, so that text from memory cannot
/// close its own fence.
pub(super) fn clean(text: &str, nonce: &str) -> String {
    let text: String = text[..text.floor_char_boundary(MAX_BYTES)]
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    if !nonce.is_empty() && text.contains(nonce) {
        text.replace(nonce, "…")
    } else {
        text
    }
}
