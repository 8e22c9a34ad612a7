//! A hook that gets nothing on its input, and a silent loss of everything.
