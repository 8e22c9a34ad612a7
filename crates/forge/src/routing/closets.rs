//! `_CLOSETS.md`: what is in each file of a hub, by field.
