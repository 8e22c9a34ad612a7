//! All targets in one program, since linking one takes long; the variable says
//! which. `cargo xtask fuzz` sets it.

#![no_main]

use std::sync::OnceLock;

static TARGET: OnceLock<String> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = std::env::var("MEMORY_FORGE_FUZZ").expect("MEMORY_FORGE_FUZZ names a target");
        TARGET.set(name).expect("this runs once");
    },
    |data: &[u8]| fuzzing::run(TARGET.get().expect("it was set"), data)
);
