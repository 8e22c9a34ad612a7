//! The shared index on real servers, which `scripts/engines.sh` fetches: the
//! same suite on PostgreSQL 15 with pgvector and on 18 with an index that ranks
//! words. Where a server cannot be had, its tests count as skipped.

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

mod crashes;
mod isolation;
mod organisation;
mod parity;
mod story;
mod strangers;
