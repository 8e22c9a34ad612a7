//! Costs that run away.
