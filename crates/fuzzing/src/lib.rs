//! What must hold for any input, one function of bytes a target. libFuzzer
//! calls them from `fuzz/`; the tests call them with `fuzz/corpus/`.
//!
//! A target says what is wrong by panicking and reads nothing but its bytes;
//! files that it needs lie in a temporary folder. Sources of `forge-serve` are
//! compiled in by path, since they are nobody else's to call.

// `--all-targets` would compile the tests of what is compiled in by path.
#![cfg(not(test))]

mod dates;
mod document;
mod encoder;
mod frames;
mod front_matter;
mod hooks;
mod index;
mod inert;
mod input;
mod links;
mod merge;
mod mind;
mod passages;
mod scratch;
mod secrets;
mod settings;
mod tables;
mod transcripts;

pub struct Target {
    pub name: &'static str,
    /// The longest input that is worth trying.
    pub longest: usize,
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, longest: usize, run: fn(&[u8])) -> Target {
    Target { name, longest, run }
}

pub const TARGETS: [Target; 19] = [
    target("document", 4096, document::run),
    target("inert", 1024, inert::run),
    target("front_matter", 2048, front_matter::run),
    target("links", 2048, links::run),
    target("hooks", 4096, hooks::run),
    target("frames", 4096, frames::run),
    target("json_settings", 4096, settings::json),
    target("toml_settings", 4096, settings::toml),
    target("lines_settings", 2048, settings::lines),
    target("manifest", 4096, tables::manifest),
    target("closets", 4096, tables::closets),
    target("transcripts", 8192, transcripts::run),
    target("index", 4096, index::run),
    target("encoder", 512, encoder::run),
    target("dates", 1024, dates::run),
    target("merge", 3072, merge::run),
    target("secrets", 2048, secrets::run),
    target("passages", 8192, passages::run),
    target("mind", 4096, mind::run),
];
