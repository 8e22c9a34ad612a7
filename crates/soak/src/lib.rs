//! Long checks of the whole program, driven from outside through its binary:
//! kills in the middle of writes, and many writers at once. Nothing here looks
//! into the program while it runs, and it is never a dependency of shipped
//! code.

mod chance;
mod each;
mod inspect;
mod kills;
mod model;
mod scenarios;
mod seeded;
mod table;
mod trial;
mod writers;

pub use each::{KillEach, KillEachReport};
pub use kills::{Kills, KillsReport};
pub use model::{CrashModel, CrashReport};
pub use scenarios::{READERS, SCENARIOS, Scenario, both};
pub use table::commands;
pub use writers::{Writers, WritersReport};
