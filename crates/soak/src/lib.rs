//! Long checks of the whole program, driven from outside through its binary:
//! kills in the middle of writes, many writers at once, a server that is called
//! without end; and of its caps, on random workspaces through the library. It is
//! never a dependency of shipped code.

mod calls;
mod caps;
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

pub use calls::{Calls, CallsReport};
pub use caps::{Caps, CapsReport};
pub use each::{KillEach, KillEachReport};
pub use kills::{Kills, KillsReport};
pub use model::{CrashModel, CrashReport};
pub use scenarios::{OLD, READERS, SCENARIOS, Scenario, both, runnable_scenarios};
pub use table::commands;
pub use writers::{Writers, WritersReport};
