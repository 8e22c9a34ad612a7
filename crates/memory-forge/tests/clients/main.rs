//! Real agent clients, run offline against what `memory-forge setup` installs.
//!
//! `scripts/clients.sh` fetches the pinned clients; where one is missing, its
//! tests say so and count as skipped. The model is a stand-in on the loopback
//! that keeps every request, so that a test can look for our text in what the
//! model would have read. No client is given a login, a proxy or a real home.

#![cfg(unix)]

mod claude;
mod codex;
mod copilot;
mod gemini;
mod loads;
mod opencode;
mod plugin;
mod project;
mod stand_in;
