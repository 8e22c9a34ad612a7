//! Two truths that fight.
