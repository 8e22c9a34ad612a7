//! A green light while something is broken.
