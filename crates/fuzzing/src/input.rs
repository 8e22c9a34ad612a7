//! Bytes as the texts that a target works on. Texts are kept apart by a control
//! character that no one types, so that a corpus can be read and written by hand.

/// ASCII's own character for this, the record separator.
const APART: char = '\u{1e}';

/// Exactly `N` texts; what is missing is empty, and the last one has the rest.
pub(crate) fn texts<const N: usize>(data: &[u8]) -> [String; N] {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(N, APART);
    std::array::from_fn(|_| parts.next().unwrap_or_default().to_owned())
}

/// All texts that there are.
pub(crate) fn every(data: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(data);
    text.split(APART).map(str::to_owned).collect()
}

/// A choice, made by the first character of a text: digits and letters count
/// on from 0.
pub(crate) fn choice(text: &str, among: usize) -> usize {
    let number = match text.chars().next() {
        Some(c @ '0'..='9') => c as usize - '0' as usize,
        Some(c @ 'a'..='z') => c as usize - 'a' as usize + 10,
        Some(c) => c as usize,
        None => 0,
    };
    number % among
}
