//! Instructions smuggled in through memory.
