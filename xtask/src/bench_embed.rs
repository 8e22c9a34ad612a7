//! How long the encoder takes. The figures are printed and never asserted.
//! `training/minilm_speed.py` prints the same for the shape of MiniLM in
//! onnxruntime.

use std::time::Instant;

use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    let begin = Instant::now();
    let encoder = forge_app::embed::builtin_embedder();
    let _ = encoder.embed_query("how do we retry a payment that failed");
    println!(
        "{}: first vector in this process {:.2?}",
        encoder.id(),
        begin.elapsed()
    );

    let sentence = "The retry policy for payments uses exponential backoff with jitter and a \
                    ceiling of thirty seconds. ";
    let question = "how do we retry a payment that failed".to_owned();
    for (what, text, asked) in [
        ("query of 10 tokens", question, true),
        ("chunk of 42 tokens", sentence.repeat(2), false),
        ("chunk of 122 tokens", sentence.repeat(6), false),
        ("chunk of 202 tokens", sentence.repeat(10), false),
        ("chunk of 256 tokens", sentence.repeat(20), false),
    ] {
        let mut times: Vec<_> = (0..101)
            .map(|_| {
                let begin = Instant::now();
                std::hint::black_box(if asked {
                    encoder.embed_query(&text)
                } else {
                    encoder.embed(&text)
                });
                begin.elapsed()
            })
            .collect();
        times.sort();
        // The best time is that of a core which did nothing else meanwhile.
        let rate = 1.0 / times[0].as_secs_f64();
        println!(
            "{what}: median {:.2?}, best {:.2?}, {rate:.0} per CPU second",
            times[50], times[0]
        );
    }
    Ok(())
}
