//! Dates that a text mentions.
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateMention {
    pub date: jiff::civil::Date,
    pub span: Range<usize>,
}
