//! Servers that many workspaces share.

pub mod postgres;
