//! Links the program at a fixed address on Linux. A hook is over within two
//! milliseconds, of which a quarter went into thirty thousand pointers of
//! constant tables that the loader had to correct for a random address, each
//! page of them copied. ARCHITECTURE.md tells what this gives up and what not.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of = |key: &str| std::env::var(key).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
