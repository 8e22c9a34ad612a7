//! Counts what scanners look at while tests run, so that a test can hold that
//! the work grows with the text and not faster. Time would depend on the
//! machine and on what else it does.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

/// Records that so many bytes or places were looked at. Costs nothing in the
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
