//! Encodes texts: layers of BERT over 4-bit weights that are used in place. One
//! tower of layers reads passages, of which there are many, another and deeper
//! one reads questions; both share one table of word vectors and give vectors
//! of one space. It keeps nothing of a text, so that one instance serves all
//! threads.

use std::cell::RefCell;

use super::Embedder;
use super::container::{F32s, ModelContainer, ModelError};
use super::kernels::{self, SimdLevel};
use super::maths::{
    AttentionBuffers, BLOCK_BYTES, GROUP_INPUTS, Halves, LinearLayer, QuantizedRows, widen_bfloat16,
};
use super::wordpiece::{MAX_TOKENS, UNKNOWN_ID, WordPiece};

pub(super) const HIDDEN_WIDTH: usize = 384;
pub(super) const FEED_FORWARD_WIDTH: usize = 1536;
/// Rows that are widened together: few enough for what is wide to stay in a
/// cache, and full tiles of every kernel.
const ROWS_PER_BATCH: usize = 48;

/// Aligned so that a row of weights never straddles two cache lines.
#[repr(C, align(64))]
struct AlignedBytes<Bytes: ?Sized>(Bytes);

static BUILTIN_MODEL: &AlignedBytes<[u8]> =
    &AlignedBytes(*include_bytes!("../model/forge-3-6x384.bin"));

/// Positions that every tower knows.
const MAX_POSITIONS: usize = MAX_TOKENS;
/// Upper bound for layers; no model that is worth its time has more.
const MAX_LAYERS: usize = 48;
/// No factor of a sound model is near this, and products of smaller ones stay
/// finite through all layers.
const MAX_FACTOR: f32 = 1000.0;

/// The shape that a file declares: layers for passages and for questions,
/// before which layer of passages neighbours are merged, and the cosine of
/// unrelated texts.
struct ModelShape {
    documents: usize,
    questions: usize,
    halved_before: Option<usize>,
    unrelated: f32,
}

/// The shape of the built-in model, and of files that declare none. The cosine
/// was measured on random pairs of questions and passages; see MODEL.md.
const BUILTIN_SHAPE: ModelShape = ModelShape {
    documents: 3,
    questions: 6,
    halved_before: Some(1),
    unrelated: 0.61,
};

pub(super) struct BertEncoder {
    id: String,
    unrelated: f32,
    tokenizer: WordPiece,
    word: PackedRows,
    documents: LayerTower,
    questions: LayerTower,
    level: SimdLevel,
}

struct LayerTower {
    position: PackedRows,
    norm: LayerNorm,
    layers: Vec<EncoderLayer>,
    /// Before this layer, neighbouring tokens become one.
    halved_before: Option<usize>,
}

struct EncoderLayer {
    qkv: LinearLayer,
    mix: LinearLayer,
    mix_norm: LayerNorm,
    up: LinearLayer,
    down: LinearLayer,
    down_norm: LayerNorm,
}

struct LayerNorm {
    gain: F32s,
    bias: F32s,
}

/// Vectors at 4 bits with a scale for every [`GROUP_INPUTS`].
struct PackedRows {
    packed: &'static [[u8; HIDDEN_WIDTH / 2]],
    scales: &'static [[[u8; 2]; HIDDEN_WIDTH / GROUP_INPUTS]],
}

impl BertEncoder {
    pub(super) fn builtin() -> BertEncoder {
        BertEncoder::with_level(SimdLevel::best())
    }

    pub(super) fn with_level(level: SimdLevel) -> BertEncoder {
        let id = "forge-3-6x384.q4.3".to_owned();
        // Its values are not looked through, which would read all of it; a
        // test does.
        BertEncoder::new(&BUILTIN_MODEL.0, id, level).expect("the build brings a sound model")
    }

    /// Loads a model from a file, checked in every part.
    pub(super) fn from_file(bytes: &'static [u8], id: String) -> Result<BertEncoder, ModelError> {
        let encoder = BertEncoder::new(bytes, id, SimdLevel::best())?;
        encoder.tokenizer.check()?;
        encoder.word.check("word")?;
        encoder.documents.check("d")?;
        encoder.questions.check("q")?;
        Ok(encoder)
    }

    fn new(bytes: &'static [u8], id: String, level: SimdLevel) -> Result<BertEncoder, ModelError> {
        let model = ModelContainer::new(bytes)?;
        let shape = ModelShape::read_from(&model)?;
        let tokenizer = WordPiece::new(&model)?;
        Ok(BertEncoder {
            id,
            unrelated: shape.unrelated,
            word: PackedRows::new(&model, "word", tokenizer.vocabulary_size())?,
            tokenizer,
            documents: LayerTower::new(&model, "d", shape.documents, shape.halved_before)?,
            questions: LayerTower::new(&model, "q", shape.questions, None)?,
            level,
        })
    }

    pub(super) fn word_rank(&self, word: &str) -> Option<usize> {
        self.tokenizer.word_rank(word)
    }

    #[cfg(test)]
    pub(super) fn tokens(&self, text: &str) -> Vec<u16> {
        self.tokenizer.token_ids(text)
    }

    fn embed_with(&self, tower: &LayerTower, text: &str) -> Vec<f32> {
        let ids = self.tokenizer.token_ids(text);
        // Between the two marks at the ends.
        if ids[1..ids.len() - 1].iter().all(|&id| id == UNKNOWN_ID) {
            return vec![0.0; HIDDEN_WIDTH];
        }
        let mut sums = [0f64; HIDDEN_WIDTH];
        ROOM.with_borrow_mut(|room| {
            let states = tower.final_states(self.level, &self.word, &ids, room);
            for row in states.as_chunks::<HIDDEN_WIDTH>().0 {
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
            vec![0.0; HIDDEN_WIDTH]
        }
    }
}

impl ModelShape {
    /// Reads four bytes (layers for passages, for questions, the halved one or
    /// 255, zero) and an f32.
    fn read_from(model: &ModelContainer) -> Result<ModelShape, ModelError> {
        let Some(section) = model.find_section("shape")? else {
            return Ok(BUILTIN_SHAPE);
        };
        let wrong = || ModelError::Values("shape".to_owned());
        let &[documents, questions, halved, _, a, b, c, d] = section else {
            return Err(ModelError::Size("shape".to_owned()));
        };
        let shape = ModelShape {
            documents: usize::from(documents),
            questions: usize::from(questions),
            halved_before: (halved != u8::MAX).then_some(usize::from(halved)),
            unrelated: f32::from_le_bytes([a, b, c, d]),
        };
        let layers = 1..=MAX_LAYERS;
        let sound = layers.contains(&shape.documents)
            && layers.contains(&shape.questions)
            && (-1.0..=0.99).contains(&shape.unrelated);
        sound.then_some(shape).ok_or_else(wrong)
    }
}

impl LayerTower {
    fn new(
        model: &ModelContainer,
        name: &str,
        layers: usize,
        halved_before: Option<usize>,
    ) -> Result<LayerTower, ModelError> {
        let layer = |i: usize| -> Result<EncoderLayer, ModelError> {
            let linear = |part: &str, inputs, outputs| {
                LinearLayer::new(model, &format!("{name}.{i}.{part}"), inputs, outputs)
            };
            let norm = |part: &str| LayerNorm::new(model, &format!("{name}.{i}.{part}.norm"));
            Ok(EncoderLayer {
                qkv: linear("qkv", HIDDEN_WIDTH, 3 * HIDDEN_WIDTH)?,
                mix: linear("mix", HIDDEN_WIDTH, HIDDEN_WIDTH)?,
                mix_norm: norm("mix")?,
                up: linear("up", HIDDEN_WIDTH, FEED_FORWARD_WIDTH)?,
                down: linear("down", FEED_FORWARD_WIDTH, HIDDEN_WIDTH)?,
                down_norm: norm("down")?,
            })
        };
        Ok(LayerTower {
            position: PackedRows::new(model, &format!("{name}.position"), MAX_POSITIONS)?,
            norm: LayerNorm::new(model, &format!("{name}.norm"))?,
            layers: (0..layers).map(layer).collect::<Result<_, _>>()?,
            halved_before,
        })
    }

    fn check(&self, name: &str) -> Result<(), ModelError> {
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
    fn final_states<'a>(
        &self,
        level: SimdLevel,
        word: &PackedRows,
        ids: &[u16],
        room: &'a mut EncoderBuffers,
    ) -> &'a [f32] {
        let EncoderBuffers {
            x,
            change,
            qkv,
            wide,
            rounded,
            attended,
        } = room;
        let mut rows = ids.len();
        x.clear();
        x.resize(rows * HIDDEN_WIDTH, 0.0);
        for (position, (row, &id)) in x.as_chunks_mut().0.iter_mut().zip(ids).enumerate() {
            word.add_row(usize::from(id), row);
            self.position.add_row(position, row);
        }
        change.clear();
        change.resize(rows * HIDDEN_WIDTH, 0.0);
        self.norm.apply(level, x, change);

        for (i, layer) in self.layers.iter().enumerate() {
            if self.halved_before == Some(i) {
                halve_rows(x);
                rows = x.len() / HIDDEN_WIDTH;
                change.truncate(rows * HIDDEN_WIDTH);
            }
            qkv.resize(rows * 3 * HIDDEN_WIDTH, 0.0);
            kernels::round(level, x, HIDDEN_WIDTH, rounded);
            kernels::multiply_rows(level, &layer.qkv, rounded, qkv);
            kernels::attention(level, qkv, HIDDEN_WIDTH, change, attended);
            kernels::round(level, change, HIDDEN_WIDTH, rounded);
            kernels::multiply_rows(level, &layer.mix, rounded, change);
            layer.mix_norm.apply(level, x, change);

            for (x, change) in x
                .chunks(ROWS_PER_BATCH * HIDDEN_WIDTH)
                .zip(change.chunks_mut(ROWS_PER_BATCH * HIDDEN_WIDTH))
            {
                wide.resize(x.len() / HIDDEN_WIDTH * FEED_FORWARD_WIDTH, 0.0);
                kernels::round(level, x, HIDDEN_WIDTH, rounded);
                kernels::multiply_rows(level, &layer.up, rounded, wide);
                kernels::gelu(level, wide);
                kernels::round(level, wide, FEED_FORWARD_WIDTH, rounded);
                kernels::multiply_rows(level, &layer.down, rounded, change);
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
struct EncoderBuffers {
    x: Vec<f32>,
    change: Vec<f32>,
    qkv: Vec<f32>,
    wide: Vec<f32>,
    rounded: QuantizedRows,
    attended: AttentionBuffers,
}

thread_local! {
    static ROOM: RefCell<EncoderBuffers> = RefCell::default();
}

/// Replaces two neighbours by their mean; a last one without a neighbour stays.
fn halve_rows(x: &mut Vec<f32>) {
    let rows = x.len() / HIDDEN_WIDTH;
    for row in 0..rows.div_ceil(2) {
        let (from, to) = (2 * row * HIDDEN_WIDTH, row * HIDDEN_WIDTH);
        for i in 0..HIDDEN_WIDTH {
            x[to + i] = if 2 * row + 1 < rows {
                (x[from + i] + x[from + HIDDEN_WIDTH + i]) * 0.5
            } else {
                x[from + i]
            };
        }
    }
    x.truncate(rows.div_ceil(2) * HIDDEN_WIDTH);
}

impl Embedder for BertEncoder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        HIDDEN_WIDTH
    }

    fn unrelated_cosine(&self) -> f32 {
        self.unrelated
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        self.embed_with(&self.documents, text)
    }

    fn embed_query(&self, question: &str) -> Vec<f32> {
        self.embed_with(&self.questions, question)
    }
}

fn check_halves(halves: Halves, name: &str) -> Result<(), ModelError> {
    let sound = halves
        .iter()
        .all(|&half| widen_bfloat16(half).abs() < MAX_FACTOR);
    sound
        .then_some(())
        .ok_or_else(|| ModelError::Values(name.to_owned()))
}

fn check_numbers(numbers: F32s, name: &str) -> Result<(), ModelError> {
    let sound = |number: &[u8; 4]| f32::from_le_bytes(*number).abs() < MAX_FACTOR;
    let sound = numbers.iter().all(sound);
    sound
        .then_some(())
        .ok_or_else(|| ModelError::Values(name.to_owned()))
}

impl LinearLayer {
    fn new(
        model: &ModelContainer,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<LinearLayer, ModelError> {
        let weights = inputs * outputs;
        Ok(LinearLayer {
            blocks: model
                .section_items::<BLOCK_BYTES>(
                    &format!("{name}.blocks"),
                    weights / (2 * BLOCK_BYTES),
                )?
                .as_flattened(),
            scales: model.section_items(&format!("{name}.scales"), weights / GROUP_INPUTS)?,
            bias: model.section_items(&format!("{name}.bias"), outputs)?,
        })
    }
}

impl LayerNorm {
    fn new(model: &ModelContainer, name: &str) -> Result<LayerNorm, ModelError> {
        Ok(LayerNorm {
            gain: model.section_items(&format!("{name}.gain"), HIDDEN_WIDTH)?,
            bias: model.section_items(&format!("{name}.bias"), HIDDEN_WIDTH)?,
        })
    }

    fn check(&self, name: &str) -> Result<(), ModelError> {
        check_numbers(self.gain, name)?;
        check_numbers(self.bias, name)
    }

    fn apply(&self, level: SimdLevel, x: &mut [f32], added: &[f32]) {
        kernels::add_and_norm(level, x, added, self.gain, self.bias);
    }
}

impl PackedRows {
    fn new(model: &ModelContainer, name: &str, rows: usize) -> Result<PackedRows, ModelError> {
        let scales = model.section_items(
            &format!("{name}.scales"),
            rows * HIDDEN_WIDTH / GROUP_INPUTS,
        )?;
        Ok(PackedRows {
            packed: model.section_items(&format!("{name}.q4"), rows)?,
            scales: scales.as_chunks().0,
        })
    }

    fn check(&self, name: &str) -> Result<(), ModelError> {
        check_halves(self.scales.as_flattened(), name)
    }

    fn add_row(&self, index: usize, to: &mut [f32; HIDDEN_WIDTH]) {
        let groups = to.as_chunks_mut::<GROUP_INPUTS>().0.iter_mut();
        let packed = self.packed[index].as_chunks::<{ GROUP_INPUTS / 2 }>().0;
        for ((to, packed), scale) in groups.zip(packed).zip(&self.scales[index]) {
            let scale = widen_bfloat16(*scale);
            for (to, &byte) in to.as_chunks_mut::<2>().0.iter_mut().zip(packed) {
                to[0] += (f32::from(byte & 15) - 8.0) * scale;
                to[1] += (f32::from(byte >> 4) - 8.0) * scale;
            }
        }
    }
}
