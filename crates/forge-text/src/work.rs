//! Counts the bytes that scanners read in tests, so that a test can check that
//! the work grows in proportion to the text. A time limit would depend on the
//! machine and its load.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

/// Adds to the number of bytes or places that were read. Costs nothing in the
/// program.
#[inline(always)]
pub(crate) fn record_work(count: usize) {
    #[cfg(test)]
    LOOKED_AT.with(|sum| sum.set(sum.get() + count));
    #[cfg(not(test))]
    let _ = count;
}

/// Returns how many bytes or places `work` looked at, on this thread.
#[cfg(test)]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> usize {
    LOOKED_AT.with(|sum| sum.set(0));
    work();
    LOOKED_AT.with(Cell::get)
}
