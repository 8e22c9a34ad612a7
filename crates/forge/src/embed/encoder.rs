//! The encoder: layers of BERT over 4-bit weights that are used where they
//! lie. One tower of layers reads passages, of which there are many, another
//! and deeper one reads questions; both stand on one table of word vectors and
//! give vectors of one space. It keeps no state between texts, so that one
//! instance serves all threads.

use super::Embedder;
use super::container::{Container, F32s};
use super::kernels::{self, Level};
use super::maths::{Attended, GROUP, Halves, Linear, Rounded, widen};
use super::wordpiece::{UNKNOWN, WordPiece};

const HIDDEN: usize = 384;
const WIDE: usize = 1536;

/// Aligned so that a row of weights never straddles two cache lines.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static MODEL: &Aligned<[u8]> = &Aligned(*include_bytes!("forge-3-6x384.bin"));

pub(super) struct Encoder {
    tokenizer: WordPiece,
    word: Rows,
    documents: Tower,
    questions: Tower,
    level: Level,
}

struct Tower {
    position: Rows,
    norm: Norm,
    layers: Vec<Layer>,
    /// Before this layer, neighbouring tokens become one.
    halved_before: Option<usize>,
}

struct Layer {
    qkv: Linear,
    mix: Linear,
    mix_norm: Norm,
    up: Linear,
    down: Linear,
    down_norm: Norm,
}

struct Norm {
    gain: F32s,
    bias: F32s,
}

/// Vectors at 4 bits with a scale for every [`GROUP`].
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
            documents: Tower::new(&model, "d", 3, Some(1)),
            questions: Tower::new(&model, "q", 6, None),
            level,
        }
    }

    #[cfg(test)]
    pub(super) fn tokens(&self, text: &str) -> Vec<u16> {
        self.tokenizer.ids(text)
    }

    fn vector(&self, tower: &Tower, text: &str) -> Vec<f32> {
        let ids = self.tokenizer.ids(text);
        // Between the two marks at the ends.
        if ids[1..ids.len() - 1].iter().all(|&id| id == UNKNOWN) {
            return vec![0.0; HIDDEN];
        }
        let mut sums = [0f64; HIDDEN];
        for row in tower
            .states(self.level, &self.word, &ids)
            .as_chunks::<HIDDEN>()
            .0
        {
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

impl Tower {
    fn new(model: &Container, name: &str, layers: usize, halved_before: Option<usize>) -> Tower {
        Tower {
            position: Rows::new(model, &format!("{name}.position")),
            norm: Norm::new(model, &format!("{name}.norm")),
            layers: (0..layers)
                .map(|i| Layer {
                    qkv: linear(model, &format!("{name}.{i}.qkv")),
                    mix: linear(model, &format!("{name}.{i}.mix")),
                    mix_norm: Norm::new(model, &format!("{name}.{i}.mix.norm")),
                    up: linear(model, &format!("{name}.{i}.up")),
                    down: linear(model, &format!("{name}.{i}.down")),
                    down_norm: Norm::new(model, &format!("{name}.{i}.down.norm")),
                })
                .collect(),
            halved_before,
        }
    }

    /// The state of every token, or pair of tokens, after the last layer, row
    /// by row.
    fn states(&self, level: Level, word: &Rows, ids: &[u16]) -> Vec<f32> {
        let mut rows = ids.len();
        let mut x = vec![0f32; rows * HIDDEN];
        for (position, (row, &id)) in x.as_chunks_mut().0.iter_mut().zip(ids).enumerate() {
            word.add(usize::from(id), row);
            self.position.add(position, row);
        }
        let mut change = vec![0f32; rows * HIDDEN];
        kernels::add_and_norm(level, &mut x, &change, self.norm.gain, self.norm.bias);

        let mut rounded = Rounded::default();
        let mut attended = Attended::default();
        let mut qkv = vec![0f32; rows * 3 * HIDDEN];
        let mut wide = vec![0f32; rows * WIDE];
        for (i, layer) in self.layers.iter().enumerate() {
            if self.halved_before == Some(i) {
                halve(&mut x);
                rows = x.len() / HIDDEN;
                change.truncate(rows * HIDDEN);
                qkv.truncate(rows * 3 * HIDDEN);
                wide.truncate(rows * WIDE);
            }
            kernels::round(level, &x, HIDDEN, &mut rounded);
            kernels::linear(level, &layer.qkv, &rounded, &mut qkv);
            kernels::attention(level, &qkv, HIDDEN, &mut change, &mut attended);
            kernels::round(level, &change, HIDDEN, &mut rounded);
            kernels::linear(level, &layer.mix, &rounded, &mut change);
            layer.mix_norm.apply(level, &mut x, &change);

            kernels::round(level, &x, HIDDEN, &mut rounded);
            kernels::linear(level, &layer.up, &rounded, &mut wide);
            kernels::gelu(level, &mut wide);
            kernels::round(level, &wide, WIDE, &mut rounded);
            kernels::linear(level, &layer.down, &rounded, &mut change);
            layer.down_norm.apply(level, &mut x, &change);
        }
        x
    }
}

/// Two neighbours become their mean; an odd last one stays.
fn halve(x: &mut Vec<f32>) {
    let rows = x.len() / HIDDEN;
    for row in 0..rows.div_ceil(2) {
        let (from, to) = (2 * row * HIDDEN, row * HIDDEN);
        for i in 0..HIDDEN {
            x[to + i] = match 2 * row + 1 < rows {
                true => (x[from + i] + x[from + HIDDEN + i]) * 0.5,
                false => x[from + i],
            };
        }
    }
    x.truncate(rows.div_ceil(2) * HIDDEN);
}

impl Embedder for Encoder {
    fn id(&self) -> &str {
        "forge-3-6x384.q4.3"
    }

    fn dimensions(&self) -> usize {
        HIDDEN
    }

    /// Measured on random pairs of questions and passages; see MODEL.md.
    fn unrelated(&self) -> f32 {
        0.61
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        self.vector(&self.documents, text)
    }

    fn embed_query(&self, question: &str) -> Vec<f32> {
        self.vector(&self.questions, question)
    }
}

fn halves(model: &Container, name: &str) -> Halves {
    model.section(&format!("{name}.scales")).as_chunks().0
}

fn linear(model: &Container, name: &str) -> Linear {
    Linear {
        blocks: model.section(&format!("{name}.blocks")),
        scales: halves(model, name),
        bias: model.f32s(&format!("{name}.bias")),
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
            scales: halves(model, name).as_chunks().0,
        }
    }

    fn add(&self, index: usize, to: &mut [f32; HIDDEN]) {
        let groups = to.as_chunks_mut::<GROUP>().0.iter_mut();
        let packed = self.packed[index].as_chunks::<{ GROUP / 2 }>().0;
        for ((to, packed), scale) in groups.zip(packed).zip(&self.scales[index]) {
            let scale = widen(*scale);
            for (to, &byte) in to.as_chunks_mut::<2>().0.iter_mut().zip(packed) {
                to[0] += (f32::from(byte & 15) - 8.0) * scale;
                to[1] += (f32::from(byte >> 4) - 8.0) * scale;
            }
        }
    }
}
