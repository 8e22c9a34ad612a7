//! Parsing and editing as a whole; each part has its own tests beside it.
