//! All targets in one program, since linking one takes long; the variable says
//! which. `cargo xtask fuzz` sets it, and asks for the list with `?`.

#![no_main]

use std::sync::OnceLock;

use fuzzing::{TARGETS, Target};

static TARGET: OnceLock<&Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = std::env::var("MEMORY_FORGE_FUZZ").expect("MEMORY_FORGE_FUZZ names a target");
        if name == "?" {
            TARGETS.iter().for_each(|it| println!("{} {}", it.name, it.longest));
            std::process::exit(0);
        }
        let target = TARGETS.iter().find(|target| target.name == name);
        let _ = TARGET.set(target.expect("MEMORY_FORGE_FUZZ names a target"));
    },
    |data: &[u8]| (TARGET.get().expect("it was set").run)(data)
);
