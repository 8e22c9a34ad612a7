//! The shared index on real servers, which `scripts/engines.sh` fetches: the
//! same suite on PostgreSQL 15 and on 18, both with pgvector. Where a server
//! cannot be had, its tests count as skipped.

#![cfg(unix)]

/// Each test on both servers.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod postgres_15 {
            $(#[test] fn $name() {
                if let Some(org) = crate::organisation::Organisation::on(testkit::postgres::Version::Fifteen) {
                    super::$name(org);
                }
            })*
        }
        mod postgres_18 {
            $(#[test] fn $name() {
                if let Some(org) = crate::organisation::Organisation::on(testkit::postgres::Version::Eighteen) {
                    super::$name(org);
                }
            })*
        }
    };
}

mod administration;
mod beyond;
mod crashes;
mod isolation;
mod organisation;
mod parity;
mod story;
mod strangers;
mod waits;
