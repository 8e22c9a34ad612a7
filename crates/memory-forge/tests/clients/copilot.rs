//! copilot
