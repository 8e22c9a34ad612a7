//! Linux on ARM, run by qemu.

use super::{CrossTarget, nothing_to_prepare, same_spelling};

const GCC: &str = "aarch64-linux-gnu-gcc";

pub(super) const TARGETS: &[CrossTarget] = &[CrossTarget {
    name: "arm",
    triple: "aarch64-unknown-linux-gnu",
    packages: &[
        "gcc-aarch64-linux-gnu",
        "libc6-dev-arm64-cross",
        "qemu-user",
    ],
    tools: &[GCC, "qemu-aarch64"],
    variables: &[
        ("CC_aarch64_unknown_linux_gnu", GCC),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", GCC),
    ],
    runner: &["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    can_run: true,
    prepare: nothing_to_prepare,
    spell: same_spelling,
}];
