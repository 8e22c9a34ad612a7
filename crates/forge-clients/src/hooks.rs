//! Reads what the hooks of agent clients send, and writes the answer in the
//! form that each expects. It decides nothing about memory and never fails: a
//! client may send anything.

pub mod event;
pub mod payload;
pub mod client;
pub mod settings_call;
