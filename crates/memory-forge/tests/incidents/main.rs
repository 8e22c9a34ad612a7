//! What went wrong elsewhere, provoked here for real: one file for each kind of
//! incident that users of memory tools have reported. `docs/reliability.md` is
//! the table of them, with the rule that each file holds us to.

// Incidents that only a POSIX system can have leave parts of these files unused.
#![cfg_attr(windows, allow(dead_code, unused_imports))]

// Shared with the whole-program tests, which use more of it.
#[allow(dead_code)]
#[path = "../it/harness.rs"]
mod harness;

mod i01_children_without_bound;
mod i02_orphaned_servers;
mod i03_ports_and_sockets;
mod i04_hook_blocks_the_session;
mod i05_empty_hook_input;
mod i06_concurrent_writers;
mod i07_damaged_index;
mod i08_migration_destroys_data;
mod i09_destroyed_repository;
mod i10_full_disk;
mod i11_newest_memory_lost;
mod i12_deletion_without_consent;
mod i13_secrets_in_memory;
mod i14_open_local_api;
mod i15_prompt_injection;
mod i16_project_runs_code;
mod i17_runaway_cost;
mod i18_other_systems;
mod i19_identity_by_path;
mod i20_two_truths;
mod i21_green_light_while_broken;
mod i22_uninstall_leaves_parts;
mod i23_session_end_never_runs;
mod i24_deadlock_without_a_terminal;
