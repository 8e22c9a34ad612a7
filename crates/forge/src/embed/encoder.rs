//! The encoder: three layers of BERT over 4-bit weights that are used where
//! they lie. It keeps no state between texts, so that one instance serves all
//! threads.

use super::Embedder;
use super::container::{Container, F32s};
use super::kernels::{self, Level};
use super::maths::{Attended, GROUP, Rounded};
use super::wordpiece::{UNKNOWN, WordPiece};

const HIDDEN: usize = 384;
const WIDE: usize = 1536;
const LAYERS: usize = 3;

/// Aligned so that a row of weights never straddles two cache lines.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static MODEL: &Aligned<[u8]> = &Aligned(*include_bytes!("forge-3x384.bin"));

pub(super) struct Encoder {
    tokenizer: WordPiece,
    word: Rows,
    position: Rows,
    kind: Rows,
    norm: Norm,
    layers: [Layer; LAYERS],
    level: Level,
}

struct Layer {
    qkv: Linear,
    mix: Linear,
    mix_norm: Norm,
    up: Linear,
    down: Linear,
    down_norm: Norm,
}

struct Linear {
    blocks: &'static [u8],
    bias: F32s,
}

struct Norm {
    gain: F32s,
    bias: F32s,
}

/// Vectors at 4 bits with a half-precision scale for every [`GROUP`].
struct Rows {
    packed: &'static [[u8; HIDDEN / 2]],
    scales: &'static [[[u8; 2]; HIDDEN / GROUP]],
}

impl Encoder {
    pub(super) fn builtin() -> Encoder {
        Encoder::with_level(Level::best())
    }

    pub(super) fn word_rank(&self, word: &str) -> Option<usize> {
        self.tokenizer.rank(word)
    }

    pub(super) fn with_level(level: Level) -> Encoder {
        let model = Container::new(&MODEL.0);
        Encoder {
            tokenizer: WordPiece::new(&model),
            word: Rows::new(&model, "word"),
            position: Rows::new(&model, "position"),
            kind: Rows::new(&model, "kind"),
            norm: Norm::new(&model, "norm"),
            layers: std::array::from_fn(|i| Layer {
                qkv: Linear::new(&model, &format!("{i}.qkv")),
                mix: Linear::new(&model, &format!("{i}.mix")),
                mix_norm: Norm::new(&model, &format!("{i}.mix.norm")),
                up: Linear::new(&model, &format!("{i}.up")),
                down: Linear::new(&model, &format!("{i}.down")),
                down_norm: Norm::new(&model, &format!("{i}.down.norm")),
            }),
            level,
        }
    }

    #[cfg(test)]
    pub(super) fn tokens(&self, text: &str) -> Vec<u16> {
        self.tokenizer.ids(text)
    }

    /// The state of every token after the last layer, row by row.
    fn states(&self, ids: &[u16]) -> Vec<f32> {
        let level = self.level;
        let rows = ids.len();
        let mut x = vec![0f32; rows * HIDDEN];
        for (position, (row, &id)) in x.as_chunks_mut().0.iter_mut().zip(ids).enumerate() {
            self.word.add(usize::from(id), row);
            self.kind.add(0, row);
            self.position.add(position, row);
        }
        let mut change = vec![0f32; rows * HIDDEN];
        kernels::add_and_norm(level, &mut x, &change, self.norm.gain, self.norm.bias);

        let mut rounded = Rounded::default();
        let mut attended = Attended::default();
        let mut qkv = vec![0f32; rows * 3 * HIDDEN];
        let mut wide = vec![0f32; rows * WIDE];
        for layer in &self.layers {
            kernels::round(level, &x, HIDDEN, &mut rounded);
            layer.qkv.apply(level, &rounded, &mut qkv);
            kernels::attention(level, &qkv, HIDDEN, &mut change, &mut attended);
            kernels::round(level, &change, HIDDEN, &mut rounded);
            layer.mix.apply(level, &rounded, &mut change);
            layer.mix_norm.apply(level, &mut x, &change);

            kernels::round(level, &x, HIDDEN, &mut rounded);
            layer.up.apply(level, &rounded, &mut wide);
            kernels::gelu(level, &mut wide);
            kernels::round(level, &wide, WIDE, &mut rounded);
            layer.down.apply(level, &rounded, &mut change);
            layer.down_norm.apply(level, &mut x, &change);
        }
        x
    }
}

impl Embedder for Encoder {
    fn id(&self) -> &str {
        "forge-3x384.q4.1"
    }

    fn dimensions(&self) -> usize {
        HIDDEN
    }

    /// Measured on random pairs of questions and passages; see MODEL.md.
    fn unrelated(&self) -> f32 {
        0.63
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let ids = self.tokenizer.ids(text);
        // Between the two marks at the ends.
        if ids[1..ids.len() - 1].iter().all(|&id| id == UNKNOWN) {
            return vec![0.0; HIDDEN];
        }
        let mut sums = [0f64; HIDDEN];
        for row in self.states(&ids).as_chunks::<HIDDEN>().0 {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += f64::from(x);
            }
        }
        // The mean and the sum point the same way, and only that counts.
        let length = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 {
            sums.iter().map(|x| (x / length) as f32).collect()
        } else {
            vec![0.0; HIDDEN]
        }
    }
}

impl Linear {
    fn new(model: &Container, name: &str) -> Linear {
        Linear {
            blocks: model.section(&format!("{name}.blocks")),
            bias: model.f32s(&format!("{name}.bias")),
        }
    }

    fn apply(&self, level: Level, x: &Rounded, out: &mut [f32]) {
        kernels::linear(level, self.blocks, self.bias, x, out);
    }
}

impl Norm {
    fn new(model: &Container, name: &str) -> Norm {
        Norm {
            gain: model.f32s(&format!("{name}.gain")),
            bias: model.f32s(&format!("{name}.bias")),
        }
    }

    fn apply(&self, level: Level, x: &mut [f32], added: &[f32]) {
        kernels::add_and_norm(level, x, added, self.gain, self.bias);
    }
}

impl Rows {
    fn new(model: &Container, name: &str) -> Rows {
        Rows {
            packed: model.section(&format!("{name}.q4")).as_chunks().0,
            scales: model
                .section(&format!("{name}.scales"))
                .as_chunks()
                .0
                .as_chunks()
                .0,
        }
    }

    fn add(&self, index: usize, to: &mut [f32; HIDDEN]) {
        let groups = to.as_chunks_mut::<GROUP>().0.iter_mut();
        let packed = self.packed[index].as_chunks::<{ GROUP / 2 }>().0;
        for ((to, packed), scale) in groups.zip(packed).zip(&self.scales[index]) {
            let scale = half_to_f32(*scale);
            for (to, &byte) in to.as_chunks_mut::<2>().0.iter_mut().zip(packed) {
                to[0] += (f32::from(byte & 15) - 8.0) * scale;
                to[1] += (f32::from(byte >> 4) - 8.0) * scale;
            }
        }
    }
}

/// Scales are positive and finite, so that neither sign nor infinity matters.
fn half_to_f32(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    if bits < 1 << 10 {
        return bits as f32 / (1 << 24) as f32;
    }
    // The fraction moves up by 13 bits, the exponent from a bias of 15 to 127.
    f32::from_bits((bits << 13) + ((127 - 15) << 23))
}
