//! The index file, damaged in any way: it is opened or begun anew, every
//! question is answered or refused, and after a refusal a new index works.

use std::sync::LazyLock;

use forge_app::document::parse_document;
use forge_app::index::{
    DocumentKind, DocumentRecord, DocumentStanding, FileStamp, Index, IndexChange, IndexError,
    PackedVector, PassageSizes, PrefixTerm, TextQuery, chunk,
};

use crate::scratch;

/// A small index as this version writes it, log merged.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = scratch::folder();
    let mut index = Index::open(folder.path()).expect("a new index").index;
    fill(&mut index).expect("a new index takes documents");
    index.checkpoint_log();
    drop(index);
    std::fs::read(folder.path().join("index.db")).expect("the index is there")
});

/// `0…`: bytes of any kind. Otherwise damage to a sound index: two bytes of
/// place, one of length, and what stands there then, again and again; `2…`
/// cuts the file at the first place, `3…` leaves a log beside it.
pub(crate) fn run(data: &[u8]) {
    let Some((&kind, damage)) = data.split_first() else {
        return;
    };
    let folder = scratch::folder();
    let mut bytes = match kind {
        b'0' => damage.to_vec(),
        _ => SOUND.clone(),
    };
    let mut rest = damage;
    while kind != b'0'
        && let Some(([high, low, count], after)) = rest.split_first_chunk()
    {
        let at = usize::from(u16::from_be_bytes([*high, *low])) * bytes.len() / (1 << 16);
        if kind == b'2' {
            bytes.truncate(at);
            break;
        }
        if kind == b'3' {
            break;
        }
        let (new, after) = after.split_at(usize::from(count % 16).min(after.len()));
        let end = (at + new.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&new[..end - at]);
        rest = after;
    }
    let path = folder.path();
    scratch::write(path, "index.db", &bytes);
    if kind == b'3' {
        scratch::write(path, "index.db-wal", damage);
    }
    if let Ok(Some(other)) = Index::open_read_only(path) {
        let _ = ask(&other);
    }
    let opened = Index::open(path).expect("whatever it is, an index is opened");
    let mut index = opened.index;
    let answers = ask(&index)
        .and_then(|()| fill(&mut index))
        .and_then(|()| ask(&index));
    let Err(error) = answers else { return };
    drop(index);
    assert!(error.is_damage(), "{error}: {error:?}");
    let index = Index::open(path).expect("a damaged index is opened");
    let mut index = index
        .index
        .rebuild()
        .expect("a damaged index is begun anew");
    fill(&mut index).expect("a new index takes documents");
    ask(&index).expect("a new index answers");
    assert_eq!(index.verify().expect("a new index can be read"), [""; 0]);
    assert_eq!(found(&index), 2);
}

fn fill(index: &mut Index) -> Result<(), IndexError> {
    let texts = [
        "# Tides\n\nHigh water at noon.\n",
        "# Moon\n\nIt pulls the tides.\n",
    ];
    let put = |(number, text): (usize, &str)| {
        let document = parse_document(text);
        IndexChange::Put(Box::new(DocumentRecord {
            path: format!("knowledge/{number}.md"),
            stamp: FileStamp {
                size: 1,
                mtime_ns: 1,
                recorded_ns: 2,
            },
            hash: format!("{number}"),
            scope: "knowledge".to_owned(),
            kind: DocumentKind::Knowledge,
            title: "Tides".to_owned(),
            names: "sea".to_owned(),
            date: None,
            importance: 5,
            standing: DocumentStanding::Current,
            supersedes: Vec::new(),
            chunks: chunk::split_into_passages(&document, PassageSizes::with_limit(500)),
            traits: 0,
            problem: None,
        }))
    };
    index.apply_changes(texts.into_iter().enumerate().map(put).collect())?;
    index.switch_to_model("test", 8)?;
    let waiting = index.passages_to_embed(10)?;
    let vectors: Vec<_> = waiting
        .into_iter()
        .map(|(chunk, _)| (chunk, PackedVector::from_floats(&[0.5; 8])))
        .collect();
    index.store_vectors(&vectors)
}

/// Everything that can be asked; the first refusal ends it.
fn ask(index: &Index) -> Result<(), IndexError> {
    index.counts()?;
    index.catalogue()?;
    index.content_hashes()?;
    index.usage()?;
    index.replacements()?;
    index.stored_value("model")?;
    let slots = index.load_slots()?;
    let terms = ["tide".to_owned(), "noon".to_owned()];
    let prefixes = [PrefixTerm("ti".to_owned())];
    let words = TextQuery {
        terms: &terms,
        pairs: &[(0, 1)],
        prefixes: &prefixes,
        ..TextQuery::default()
    };
    let hits = index.find_text_hits(&slots, &words, &|_| true, 10)?;
    let chunks: Vec<u32> = hits.hits.iter().map(|hit| hit.0).collect();
    index.passages(&chunks)?;
    if let Some(chunk) = chunks.first() {
        index.explain_score(&slots, &words, *chunk)?;
    }
    let query = PackedVector::from_floats(&[0.5; 8]);
    index.find_vector_hits(&slots, &query, &|_| true, 10)?;
    index.passages_of_file("knowledge/0.md")?;
    index.verify()?;
    Ok(())
}

fn found(index: &Index) -> usize {
    let slots = index.load_slots().expect("a new index answers");
    let terms = ["tide".to_owned()];
    let words = TextQuery {
        terms: &terms,
        ..TextQuery::default()
    };
    let hits = index.find_text_hits(&slots, &words, &|_| true, 10);
    hits.expect("a new index answers").hits.len()
}
