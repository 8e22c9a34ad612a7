//! Long checks of the whole program, driven from outside through its binary:
//! kills in the middle of writes, and many writers at once. Nothing here looks
//! into the program while it runs, and it is never a dependency of shipped
//! code.

mod chance;
mod inspect;
mod kills;
mod seeded;
mod writers;

pub use kills::{Kills, KillsReport};
pub use writers::{Writers, WritersReport};
