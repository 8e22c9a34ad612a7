//! Links the program at a fixed address on Linux with glibc. For a random one
//! the loader corrects 67,000 pointers in constant tables before the first line
//! of the program runs and copies each page of them, which doubles what a hook
//! costs at every prompt. ARCHITECTURE.md has the figures, and says what this
//! gives up and what not.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of = |key: &str| std::env::var(key).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
