//! `cargo xtask reference`: writes the pages of `docs/reference/` that are made
//! from the program's definitions. Those are private to the program, so a test
//! of it writes them, the same that fails when they are out of date.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::repository;

pub(crate) fn run() -> Result<()> {
    let written = Command::new(env!("CARGO"))
        .args([
            "test",
            "--locked",
            "-p",
            "memory-forge",
            "--bin",
            "memory-forge",
        ])
        .args(["--", "reference::tests::the_reference_is_as_the_program"])
        .env("UPDATE_REFERENCE", "1")
        .current_dir(repository())
        .status()?;
    ensure!(written.success(), "the pages could not be written");
    Ok(())
}
