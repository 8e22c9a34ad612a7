//! Turns a student that `training/export.py` wrote into the container that
//! `forge_app::embed` reads in place. It never changes a weight: 4-bit values and
//! their scales are only put into another order.
//!
//! Container, version 1, all numbers little-endian: eight bytes `MFEMBED1`,
//! the number of sections (u32), four zero bytes; then for every section 24
//! bytes of name padded with zeros, its offset and its length in bytes (u32
//! each). Sections start at multiples of 64.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};
use unicode_categories::UnicodeCategories;

const HIDDEN: usize = 384;
const WIDE: usize = 1536;
const POSITIONS: usize = 256;
/// Of the vocabulary's ids: unknown, begin and end; then the characters and
/// words. Between them stand placeholders that no text is cut into.
const MARKS: Range<usize> = 100..103;
const WORDS: Range<usize> = 999..30522;
/// Weights that share a scale.
const GROUP: usize = 32;
/// Outputs that the kernels compute side by side.
const BLOCK: usize = 16;
const SLOTS: usize = 1 << 16;
/// Entries of the vocabulary to a known start.
const RUN: usize = 16;

/// The file inside the binary. Whoever replaces it also brings its card,
/// `training/reference.py` and the model's id up to date; tests ask for all.
pub(crate) fn builtin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/forge-embed/model/forge-3-6x384.bin")
}

pub(crate) fn run(from: &Path, to: &Path) -> Result<()> {
    let container = container(from)?;
    fs::write(to, &container).with_context(|| format!("Cannot write `{}`", to.display()))?;
    println!("{} bytes, sha256 {}", container.len(), sha256(&container));
    Ok(())
}

fn container(from: &Path) -> Result<Vec<u8>> {
    let assets = from.join("assets");
    let bytes = read(&assets.join("model.safetensors"))?;
    let provenance: Value = serde_json::from_slice(&read(&assets.join("provenance.json"))?)?;
    let tokenizer_bytes = read(&assets.join("tokenizer.json"))?;
    for (what, bytes, key) in [
        ("model.safetensors", &bytes, "bundled_sha256"),
        ("tokenizer.json", &tokenizer_bytes, "tokenizer_sha256"),
    ] {
        let expect = text(&provenance, key)?;
        ensure!(
            sha256(bytes) == expect,
            "`{what}` is not the file that `provenance.json` names ({expect})"
        );
    }
    let source = Safetensors::parse(&bytes)?;
    let mut out = Container::default();
    out.add("shape", shape(&provenance)?);
    vocabulary(&mut out, &serde_json::from_slice(&tokenizer_bytes)?)?;
    out.add("classes", classes());
    words(&mut out, &source)?;
    for tower in ["documents", "questions"] {
        let layers = number(&provenance, tower)?;
        let short = &tower[..1];
        rows(
            &mut out,
            &source,
            &format!("{short}.position"),
            &format!("{tower}.position"),
            POSITIONS,
        )?;
        for part in ["gain", "bias"] {
            let values = source.get(&format!("{tower}.norm_{part}"))?;
            out.add(&format!("{short}.norm.{part}"), values.to_vec());
        }
        for layer in 0..layers {
            encoder_layer(&mut out, &source, tower, layer, layers)?;
        }
    }
    Ok(out.finish())
}

/// How many layers each tower has, before which of its layers neighbouring
/// tokens of a passage become one (255: never), a zero, and as an f32 the
/// cosine of texts that have nothing to do with one another. What the student
/// does not say is as in the built-in model.
fn shape(provenance: &Value) -> Result<Vec<u8>> {
    let layers = |tower: &str| -> Result<u8> {
        u8::try_from(number(provenance, tower)?).context("A tower has too many layers")
    };
    let halved = match &provenance["halved_before"] {
        Value::Null => 1,
        Value::Bool(false) => u8::MAX,
        layer => {
            let layer = layer.as_u64().and_then(|it| u8::try_from(it).ok());
            layer.context("`halved_before` is no layer")?
        }
    };
    let unrelated = provenance["unrelated"].as_f64().unwrap_or(0.62) as f32;
    let mut shape = vec![layers("documents")?, layers("questions")?, halved, 0];
    shape.extend_from_slice(&unrelated.to_le_bytes());
    Ok(shape)
}

/// `text` holds the entries in the order of their ids, `lengths` how long each
/// is, `starts` where every sixteenth begins, `slots` an open-addressing table
/// of ids under the FNV-1a hash.
fn vocabulary(out: &mut Container, tokenizer: &Value) -> Result<()> {
    let entries = tokenizer["model"]["vocab"]
        .as_object()
        .context("`tokenizer.json` has no vocabulary")?;
    let mut by_id = BTreeMap::new();
    for (entry, id) in entries {
        let id = id.as_u64().context("A token's id is not a number")? as usize;
        by_id.insert(id, entry.as_str());
    }
    let (mut text, mut lengths, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let mut slots = vec![u16::MAX; SLOTS];
    for (id, old) in MARKS.chain(WORDS).enumerate() {
        let entry = by_id
            .get(&old)
            .with_context(|| format!("No token has the id {old}"))?;
        if id % RUN == 0 {
            starts.extend_from_slice(&(text.len() as u32).to_le_bytes());
        }
        text.extend_from_slice(entry.as_bytes());
        lengths.push(u8::try_from(entry.len()).context("A token is too long")?);
        let mut slot = fnv(entry.as_bytes()) as usize % SLOTS;
        while slots[slot] != u16::MAX {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = id as u16;
    }
    out.add("vocab.text", text);
    out.add("vocab.lengths", lengths);
    out.add("vocab.starts", starts);
    out.add(
        "vocab.slots",
        slots.iter().flat_map(|id| id.to_le_bytes()).collect(),
    );
    Ok(())
}

fn fnv(bytes: &[u8]) -> u32 {
    let mixed = bytes.iter().fold(0x811c_9dc5_u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    mixed ^ (mixed >> 16)
}

/// What the tokenizer does with a character, as the places where the answer
/// changes: `first character << 3 | class`, sorted. 0 keep, 1 drop, 2 accent,
/// 3 punctuation, 4 ideograph. The Unicode tables are those of the reference
/// tokenizer, old as they are: the model saw text cut that way.
fn classes() -> Vec<u8> {
    let mut changes = Vec::new();
    let mut before = u32::MAX;
    for code in 0..=u32::from(char::MAX) {
        let class = char::from_u32(code).map_or(0, class);
        if class != before {
            changes.extend_from_slice(&((code << 3) | class).to_le_bytes());
            before = class;
        }
    }
    changes
}

fn class(c: char) -> u32 {
    match c {
        '\t' | '\n' | '\r' => 0,
        '\0' | '\u{fffd}' => 1,
        _ if c.is_other() => 1,
        _ if c.is_mark_nonspacing() => 2,
        _ if c.is_ascii_punctuation() || c.is_punctuation() => 3,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}' => 4,
        _ => 0,
    }
}

/// The vectors of the words that [`vocabulary`] keeps, in its order.
fn words(out: &mut Container, source: &Safetensors<'_>) -> Result<()> {
    for (part, row) in [("q4", HIDDEN / 2), ("scales", HIDDEN / GROUP * 2)] {
        let table = source.get(&format!("word.{part}"))?;
        let kept = |ids: Range<usize>| {
            table
                .get(ids.start * row..ids.end * row)
                .context("The table of words is too short")
        };
        out.add(
            &format!("word.{part}"),
            [kept(MARKS)?, kept(WORDS)?].concat(),
        );
    }
    Ok(())
}

/// Rows stay as they are, two values to a byte with a scale for every 32: only
/// the rows of a text's own tokens are ever expanded.
fn rows(
    out: &mut Container,
    source: &Safetensors<'_>,
    section: &str,
    tensor: &str,
    count: usize,
) -> Result<()> {
    for (part, row) in [("q4", HIDDEN / 2), ("scales", HIDDEN / GROUP * 2)] {
        let table = source.get(&format!("{tensor}.{part}"))?;
        ensure!(table.len() == count * row, "`{tensor}` has another size");
        out.add(&format!("{section}.{part}"), table.to_vec());
    }
    Ok(())
}

/// The layers of a tower lie in one tensor, one after the other.
fn encoder_layer(
    out: &mut Container,
    source: &Safetensors<'_>,
    tower: &str,
    layer: usize,
    layers: usize,
) -> Result<()> {
    let at = |name: &str| -> Result<&[u8]> {
        let all = source.get(&format!("{tower}.{name}"))?;
        let length = all.len() / layers;
        Ok(&all[layer * length..][..length])
    };
    let to = format!("{}.{layer}", &tower[..1]);
    for (section, part, inputs, outputs) in [
        ("qkv", "qkv", HIDDEN, 3 * HIDDEN),
        ("mix", "o", HIDDEN, HIDDEN),
        ("up", "up", HIDDEN, WIDE),
        ("down", "down", WIDE, HIDDEN),
    ] {
        let matrix = Matrix {
            inputs,
            packed: at(&format!("{part}.q4"))?,
            scales: at(&format!("{part}.scales"))?.as_chunks().0,
            bias: at(&format!("{part}_bias"))?,
        };
        ensure!(
            matrix.packed.len() == inputs * outputs / 2
                && matrix.scales.len() == inputs * outputs / GROUP
                && matrix.bias.len() == outputs * 4,
            "`{part}` of {tower} has another size than {inputs}×{outputs}"
        );
        matrix.write(out, &format!("{to}.{section}"));
    }
    for (section, part) in [("mix", "o"), ("down", "down")] {
        for kind in ["gain", "bias"] {
            let values = at(&format!("{part}_norm_{kind}"))?;
            ensure!(
                values.len() == HIDDEN * 4,
                "A norm of {tower} has another size"
            );
            out.add(&format!("{to}.{section}.norm.{kind}"), values.to_vec());
        }
    }
    Ok(())
}

/// A linear layer: 4-bit values with an offset of eight, one row per output,
/// and for every 32 of them a scale, the upper half of an f32.
struct Matrix<'a> {
    inputs: usize,
    packed: &'a [u8],
    scales: &'a [[u8; 2]],
    bias: &'a [u8],
}

impl Matrix<'_> {
    /// For every 16 outputs and 32 inputs 16 scales in one section and four
    /// times 64 bytes in another. Byte `4·output + i` of the `q`-th 64 holds
    /// input `4q + i` in its low half and input `4q + i + 16` in its high half,
    /// so that one vector register meets four inputs of all sixteen outputs at
    /// once.
    fn write(&self, out: &mut Container, section: &str) {
        let groups = self.inputs / GROUP;
        let outputs = self.scales.len() / groups;
        let (mut blocks, mut scales) = (Vec::new(), Vec::new());
        for block in 0..outputs / BLOCK {
            for group in 0..groups {
                let value = |output: usize, input: usize| {
                    let at = (block * BLOCK + output) * self.inputs + group * GROUP + input;
                    self.packed[at / 2] >> (4 * (at % 2)) & 15
                };
                for output in 0..BLOCK {
                    scales.extend(self.scales[(block * BLOCK + output) * groups + group]);
                }
                for quad in 0..4 {
                    for output in 0..BLOCK {
                        for i in 0..4 {
                            let (low, high) = (4 * quad + i, 4 * quad + i + 16);
                            blocks.push(value(output, low) | (value(output, high) << 4));
                        }
                    }
                }
            }
        }
        out.add(&format!("{section}.blocks"), blocks);
        out.add(&format!("{section}.scales"), scales);
        out.add(&format!("{section}.bias"), self.bias.to_vec());
    }
}

struct Safetensors<'a> {
    tensors: BTreeMap<String, &'a [u8]>,
}

impl<'a> Safetensors<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Safetensors<'a>> {
        let (length, rest) = bytes
            .split_first_chunk::<8>()
            .context("The file is too short")?;
        let (header, data) = rest
            .split_at_checked(u64::from_le_bytes(*length) as usize)
            .context("The header is cut off")?;
        let header: BTreeMap<String, Value> = serde_json::from_slice(header)?;
        let mut tensors = BTreeMap::new();
        for (name, entry) in header {
            let Some(offsets) = entry["data_offsets"].as_array() else {
                continue;
            };
            let at = |i: usize| offsets.get(i).and_then(Value::as_u64).unwrap_or(u64::MAX) as usize;
            let tensor = data
                .get(at(0)..at(1))
                .with_context(|| format!("`{name}` lies outside the file"))?;
            tensors.insert(name, tensor);
        }
        Ok(Safetensors { tensors })
    }

    fn get(&self, name: &str) -> Result<&'a [u8]> {
        self.tensors
            .get(name)
            .copied()
            .with_context(|| format!("The file holds no `{name}`"))
    }
}

#[derive(Default)]
struct Container {
    sections: Vec<(String, Vec<u8>)>,
}

impl Container {
    fn add(&mut self, name: &str, bytes: Vec<u8>) {
        assert!(name.len() <= 24, "`{name}` is too long for the table");
        self.sections.push((name.to_owned(), bytes));
    }

    fn finish(self) -> Vec<u8> {
        let mut head = b"MFEMBED1".to_vec();
        head.extend_from_slice(&(self.sections.len() as u64).to_le_bytes());
        let mut offset = (head.len() + 32 * self.sections.len()).next_multiple_of(64);
        let mut body = Vec::new();
        let start = offset;
        for (name, bytes) in &self.sections {
            let mut padded = [0; 24];
            padded[..name.len()].copy_from_slice(name.as_bytes());
            head.extend_from_slice(&padded);
            head.extend_from_slice(&(offset as u32).to_le_bytes());
            head.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            body.extend_from_slice(bytes);
            body.resize(body.len().next_multiple_of(64), 0);
            offset = start + body.len();
        }
        head.resize(start, 0);
        head.extend(body);
        head
    }
}

fn text<'a>(object: &'a Value, key: &str) -> Result<&'a str> {
    object[key]
        .as_str()
        .with_context(|| format!("`provenance.json` has no `{key}`"))
}

fn number(object: &Value, key: &str) -> Result<usize> {
    let number = object[key]
        .as_u64()
        .with_context(|| format!("`provenance.json` has no `{key}`"))?;
    Ok(number as usize)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("Cannot read `{}`", path.display()))
}
