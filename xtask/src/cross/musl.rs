//! Linux with everything in one static program.

use super::{CrossTarget, nothing_to_prepare, same_spelling};

const GCC: &str = "musl-gcc";

pub(super) const TARGETS: &[CrossTarget] = &[CrossTarget {
    name: "musl",
    triple: "x86_64-unknown-linux-musl",
    packages: &["musl-tools"],
    tools: &[GCC],
    variables: &[
        ("CC_x86_64_unknown_linux_musl", GCC),
        ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER", GCC),
    ],
    runner: &[],
    can_run: true,
    prepare: nothing_to_prepare,
    spell: same_spelling,
}];
