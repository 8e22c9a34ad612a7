//! What a release publishes, in the format of each way to install it. Everything
//! is made from [`table`], from the built programs and from texts that the
//! repository has for people; no channel has a file that is kept by hand. The
//! same inputs give the same bytes, and nothing here uses a network but
//! [`check`], which uses the loopback.

pub mod archive;
pub mod channels;
pub mod check;
mod loopback;
pub mod release;
pub mod table;
pub mod trust;
