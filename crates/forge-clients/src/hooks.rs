//! What the hooks of agent clients send, and the form of the answer that each
//! takes. It decides nothing about memory and never fails: what a client sends
//! may be anything.

pub mod event;
pub mod payload;
pub mod client;
pub mod settings_call;
