//! A conflict that deadlocks where nobody can answer.
