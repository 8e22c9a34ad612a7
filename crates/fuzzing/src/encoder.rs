//! The built-in model on any text: a vector of length one or zero, and the same
//! bits each time. Its kernels are the only code of ours that is not safe Rust
//! and reads what people wrote.

use forge_app::embed::builtin_embedder;

pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let model = builtin_embedder();
    for vector in [model.embed(&text), model.embed_query(&text)] {
        assert_eq!(vector.len(), model.dimensions());
        assert!(vector.iter().all(|it| it.is_finite()), "{text:?}");
        let length: f32 = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
        assert!(length == 0.0 || (0.98..=1.02).contains(&length), "{length}");
    }
    assert_eq!(model.embed(&text), model.embed(&text));
}
