//! Developer commands. Nothing here ships.

mod bench_embed;
mod convert_model;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["convert-model", from] => convert_model::run(from.as_ref()),
        ["bench", "embed"] => bench_embed::run(),
        _ => anyhow::bail!(
            "Usage: `cargo xtask convert-model <folder>` or `cargo xtask bench embed`"
        ),
    }
}
