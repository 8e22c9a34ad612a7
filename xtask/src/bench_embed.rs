//! How long the encoder takes. The figures are printed and never asserted.

use std::time::Instant;

use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    let begin = Instant::now();
    let encoder = forge::embed::builtin();
    let _ = encoder.embed("how do we retry a payment that failed");
    println!(
        "{}: first vector in this process {:.2?}",
        encoder.id(),
        begin.elapsed()
    );

    let sentence = "The retry policy for payments uses exponential backoff with jitter and a \
                    ceiling of thirty seconds. ";
    for (what, text) in [
        (
            "query of 10 tokens",
            "how do we retry a payment that failed".to_owned(),
        ),
        ("chunk of 42 tokens", sentence.repeat(2)),
        ("chunk of 122 tokens", sentence.repeat(6)),
        ("chunk of 256 tokens", sentence.repeat(20)),
    ] {
        let mut times: Vec<_> = (0..101)
            .map(|_| {
                let begin = Instant::now();
                std::hint::black_box(encoder.embed(&text));
                begin.elapsed()
            })
            .collect();
        times.sort();
        println!("{what}: median {:.2?}, best {:.2?}", times[50], times[0]);
    }
    Ok(())
}
