//! Linux on ARM, run by qemu. The kernel has to know that programs of ARM are
//! for qemu, because tests start programs, and programs start themselves.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{CrossTarget, RunVariables, same_spelling};

const GCC: &str = "aarch64-linux-gnu-gcc";

pub(super) const TARGETS: &[CrossTarget] = &[CrossTarget {
    name: "arm",
    triple: "aarch64-unknown-linux-gnu",
    packages: &[
        "gcc-aarch64-linux-gnu",
        "libc6-dev-arm64-cross",
        "qemu-user",
        "qemu-user-binfmt",
    ],
    tools: &[GCC, "qemu-aarch64"],
    variables: &[
        ("CC_aarch64_unknown_linux_gnu", GCC),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", GCC),
        // The loader and the libraries of the cross compiler, by their places
        // here: tests start programs with an empty environment, in which a
        // variable for qemu would be lost.
        (
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
            "-C link-arg=-Wl,--dynamic-linker=/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 \
             -C link-arg=-Wl,-rpath,/usr/aarch64-linux-gnu/lib",
        ),
    ],
    runner: &[],
    can_run: true,
    prepare,
    spell: same_spelling,
}];

/// Checks that the kernel starts programs of ARM.
fn prepare(_: &Path) -> Result<RunVariables> {
    const KNOWN: &str = "/proc/sys/fs/binfmt_misc/qemu-aarch64";
    ensure!(
        cfg!(target_arch = "aarch64") || Path::new(KNOWN).exists(),
        "{KNOWN} is missing: the package qemu-user-binfmt makes it, where binfmt_misc is mounted"
    );
    // Each of thousands of interruptions starts several programs.
    Ok(vec![("CRASH_EVERY", "20".into())])
}
