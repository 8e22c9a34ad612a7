//! Encodes texts: layers of BERT over 4-bit weights that are used in place. One
//! tower of layers reads passages, of which there are many, another and deeper
//! one reads questions; both share one table of word vectors and give vectors
//! of one space. It keeps nothing of a text, so that one instance serves all
//! threads.

use std::cell::RefCell;

use super::Embedder;
use super::container::{Container, F32s, Unusable};
use super::kernels::{self, Level};
use super::maths::{Attended, BLOCK_BYTES, GROUP, Halves, Linear, Rounded, widen};
use super::wordpiece::{MAX_TOKENS, UNKNOWN, WordPiece};

pub(super) const HIDDEN: usize = 384;
pub(super) const WIDE: usize = 1536;
/// Rows that are widened together: few enough for what is wide to stay in a
/// cache, and full tiles of every kernel.
const TOGETHER: usize = 48;

/// Aligned so that a row of weights never straddles two cache lines.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static MODEL: &Aligned<[u8]> = &Aligned(*include_bytes!("../model/forge-3-6x384.bin"));

/// Positions that every tower knows.
const POSITIONS: usize = MAX_TOKENS;
/// The most layers; no model that is worth its time has more.
const MOST_LAYERS: usize = 48;
/// No factor of a sound model is near this, and products of smaller ones stay
/// finite through all layers.
const MOST: f32 = 1000.0;

/// The shape that a file declares: layers for passages and for questions,
/// before which layer of passages neighbours are merged, and the cosine of
/// unrelated texts.
struct Shape {
    documents: usize,
    questions: usize,
    halved_before: Option<usize>,
    unrelated: f32,
}

/// The shape of the built-in model, and of files that declare none. The cosine
/// was measured on random pairs of questions and passages; see MODEL.md.
const BUILTIN: Shape = Shape {
    documents: 3,
    questions: 6,
    halved_before: Some(1),
    unrelated: 0.61,
};

pub(super) struct Encoder {
    id: String,
    unrelated: f32,
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

    pub(super) fn with_level(level: Level) -> Encoder {
        let id = "forge-3-6x384.q4.3".to_owned();
        // Its values are not looked through, which would read all of it; a
        // test does.
        Encoder::new(&MODEL.0, id, level).expect("the build brings a sound model")
    }

    /// Loads a model from a file, checked in every part.
    pub(super) fn of_file(bytes: &'static [u8], id: String) -> Result<Encoder, Unusable> {
        let encoder = Encoder::new(bytes, id, Level::best())?;
        encoder.tokenizer.check()?;
        encoder.word.check("word")?;
        encoder.documents.check("d")?;
        encoder.questions.check("q")?;
        Ok(encoder)
    }

    fn new(bytes: &'static [u8], id: String, level: Level) -> Result<Encoder, Unusable> {
        let model = Container::new(bytes)?;
        let shape = Shape::of(&model)?;
        let tokenizer = WordPiece::new(&model)?;
        Ok(Encoder {
            id,
            unrelated: shape.unrelated,
            word: Rows::new(&model, "word", tokenizer.words())?,
            tokenizer,
            documents: Tower::new(&model, "d", shape.documents, shape.halved_before)?,
            questions: Tower::new(&model, "q", shape.questions, None)?,
            level,
        })
    }

    pub(super) fn word_rank(&self, word: &str) -> Option<usize> {
        self.tokenizer.rank(word)
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
        ROOM.with_borrow_mut(|room| {
            let states = tower.states(self.level, &self.word, &ids, room);
            for row in states.as_chunks::<HIDDEN>().0 {
                for (sum, &x) in sums.iter_mut().zip(row) {
                    *sum += f64::from(x);
                }
            }
        });
        // The mean and the sum point the same way, and only that counts.
        let length = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 && length.is_finite() {
            sums.iter().map(|x| (x / length) as f32).collect()
        } else {
            vec![0.0; HIDDEN]
        }
    }
}

impl Shape {
    /// Reads four bytes (layers for passages, for questions, the halved one or
    /// 255, zero) and an f32.
    fn of(model: &Container) -> Result<Shape, Unusable> {
        let Some(section) = model.find("shape")? else {
            return Ok(BUILTIN);
        };
        let wrong = || Unusable::Values("shape".to_owned());
        let &[documents, questions, halved, _, a, b, c, d] = section else {
            return Err(Unusable::Size("shape".to_owned()));
        };
        let shape = Shape {
            documents: usize::from(documents),
            questions: usize::from(questions),
            halved_before: (halved != u8::MAX).then_some(usize::from(halved)),
            unrelated: f32::from_le_bytes([a, b, c, d]),
        };
        let layers = 1..=MOST_LAYERS;
        let sound = layers.contains(&shape.documents)
            && layers.contains(&shape.questions)
            && (-1.0..=0.99).contains(&shape.unrelated);
        sound.then_some(shape).ok_or_else(wrong)
    }
}

impl Tower {
    fn new(
        model: &Container,
        name: &str,
        layers: usize,
        halved_before: Option<usize>,
    ) -> Result<Tower, Unusable> {
        let layer = |i: usize| -> Result<Layer, Unusable> {
            let linear = |part: &str, inputs, outputs| {
                Linear::new(model, &format!("{name}.{i}.{part}"), inputs, outputs)
            };
            let norm = |part: &str| Norm::new(model, &format!("{name}.{i}.{part}.norm"));
            Ok(Layer {
                qkv: linear("qkv", HIDDEN, 3 * HIDDEN)?,
                mix: linear("mix", HIDDEN, HIDDEN)?,
                mix_norm: norm("mix")?,
                up: linear("up", HIDDEN, WIDE)?,
                down: linear("down", WIDE, HIDDEN)?,
                down_norm: norm("down")?,
            })
        };
        Ok(Tower {
            position: Rows::new(model, &format!("{name}.position"), POSITIONS)?,
            norm: Norm::new(model, &format!("{name}.norm"))?,
            layers: (0..layers).map(layer).collect::<Result<_, _>>()?,
            halved_before,
        })
    }

    fn check(&self, name: &str) -> Result<(), Unusable> {
        self.position.check(name)?;
        self.norm.check(name)?;
        for (i, layer) in self.layers.iter().enumerate() {
            let name = format!("{name}.{i}");
            for linear in [&layer.qkv, &layer.mix, &layer.up, &layer.down] {
                check_halves(linear.scales, &name)?;
                check_numbers(linear.bias, &name)?;
            }
            layer.mix_norm.check(&name)?;
            layer.down_norm.check(&name)?;
        }
        Ok(())
    }

    /// Returns the state of every token, or pair of tokens, after the last
    /// layer, row by row.
    fn states<'a>(&self, level: Level, word: &Rows, ids: &[u16], room: &'a mut Room) -> &'a [f32] {
        let Room {
            x,
            change,
            qkv,
            wide,
            rounded,
            attended,
        } = room;
        let mut rows = ids.len();
        x.clear();
        x.resize(rows * HIDDEN, 0.0);
        for (position, (row, &id)) in x.as_chunks_mut().0.iter_mut().zip(ids).enumerate() {
            word.add(usize::from(id), row);
            self.position.add(position, row);
        }
        change.clear();
        change.resize(rows * HIDDEN, 0.0);
        self.norm.apply(level, x, change);

        for (i, layer) in self.layers.iter().enumerate() {
            if self.halved_before == Some(i) {
                halve(x);
                rows = x.len() / HIDDEN;
                change.truncate(rows * HIDDEN);
            }
            qkv.resize(rows * 3 * HIDDEN, 0.0);
            kernels::round(level, x, HIDDEN, rounded);
            kernels::linear(level, &layer.qkv, rounded, qkv);
            kernels::attention(level, qkv, HIDDEN, change, attended);
            kernels::round(level, change, HIDDEN, rounded);
            kernels::linear(level, &layer.mix, rounded, change);
            layer.mix_norm.apply(level, x, change);

            for (x, change) in x
                .chunks(TOGETHER * HIDDEN)
                .zip(change.chunks_mut(TOGETHER * HIDDEN))
            {
                wide.resize(x.len() / HIDDEN * WIDE, 0.0);
                kernels::round(level, x, HIDDEN, rounded);
                kernels::linear(level, &layer.up, rounded, wide);
                kernels::gelu(level, wide);
                kernels::round(level, wide, WIDE, rounded);
                kernels::linear(level, &layer.down, rounded, change);
            }
            layer.down_norm.apply(level, x, change);
        }
        x
    }
}

/// The buffers for one text: some megabytes, which the system would have to
/// clear again for every text if they were freed each time. Old content never
/// matters.
#[derive(Default)]
struct Room {
    x: Vec<f32>,
    change: Vec<f32>,
    qkv: Vec<f32>,
    wide: Vec<f32>,
    rounded: Rounded,
    attended: Attended,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

/// Replaces two neighbours by their mean; a last one without a neighbour stays.
fn halve(x: &mut Vec<f32>) {
    let rows = x.len() / HIDDEN;
    for row in 0..rows.div_ceil(2) {
        let (from, to) = (2 * row * HIDDEN, row * HIDDEN);
        for i in 0..HIDDEN {
            x[to + i] = if 2 * row + 1 < rows {
                (x[from + i] + x[from + HIDDEN + i]) * 0.5
            } else {
                x[from + i]
            };
        }
    }
    x.truncate(rows.div_ceil(2) * HIDDEN);
}

impl Embedder for Encoder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        HIDDEN
    }

    fn unrelated(&self) -> f32 {
        self.unrelated
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        self.vector(&self.documents, text)
    }

    fn embed_query(&self, question: &str) -> Vec<f32> {
        self.vector(&self.questions, question)
    }
}

fn check_halves(halves: Halves, name: &str) -> Result<(), Unusable> {
    let sound = halves.iter().all(|&half| widen(half).abs() < MOST);
    sound
        .then_some(())
        .ok_or_else(|| Unusable::Values(name.to_owned()))
}

fn check_numbers(numbers: F32s, name: &str) -> Result<(), Unusable> {
    let sound = |number: &[u8; 4]| f32::from_le_bytes(*number).abs() < MOST;
    let sound = numbers.iter().all(sound);
    sound
        .then_some(())
        .ok_or_else(|| Unusable::Values(name.to_owned()))
}

impl Linear {
    fn new(
        model: &Container,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Linear, Unusable> {
        let weights = inputs * outputs;
        Ok(Linear {
            blocks: model
                .items::<BLOCK_BYTES>(&format!("{name}.blocks"), weights / (2 * BLOCK_BYTES))?
                .as_flattened(),
            scales: model.items(&format!("{name}.scales"), weights / GROUP)?,
            bias: model.items(&format!("{name}.bias"), outputs)?,
        })
    }
}

impl Norm {
    fn new(model: &Container, name: &str) -> Result<Norm, Unusable> {
        Ok(Norm {
            gain: model.items(&format!("{name}.gain"), HIDDEN)?,
            bias: model.items(&format!("{name}.bias"), HIDDEN)?,
        })
    }

    fn check(&self, name: &str) -> Result<(), Unusable> {
        check_numbers(self.gain, name)?;
        check_numbers(self.bias, name)
    }

    fn apply(&self, level: Level, x: &mut [f32], added: &[f32]) {
        kernels::add_and_norm(level, x, added, self.gain, self.bias);
    }
}

impl Rows {
    fn new(model: &Container, name: &str, rows: usize) -> Result<Rows, Unusable> {
        let scales = model.items(&format!("{name}.scales"), rows * HIDDEN / GROUP)?;
        Ok(Rows {
            packed: model.items(&format!("{name}.q4"), rows)?,
            scales: scales.as_chunks().0,
        })
    }

    fn check(&self, name: &str) -> Result<(), Unusable> {
        check_halves(self.scales.as_flattened(), name)
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
