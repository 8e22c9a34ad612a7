//! Reads the file that `cargo xtask convert-model` writes: a table of named
//! sections. It never copies a section. A damaged file is a defect of the
//! build, not of the user's input, so it panics with the section's name.

/// Numbers stay bytes until they are used; that costs nothing on
/// little-endian processors and needs no alignment.
pub(super) type F32s = &'static [[u8; 4]];

const MAGIC: &[u8; 8] = b"MFEMBED1";
const ENTRY: usize = 32;
const NAME: usize = 24;

#[derive(Clone, Copy)]
pub(super) struct Container {
    bytes: &'static [u8],
    table: &'static [[u8; ENTRY]],
}

impl Container {
    pub(super) fn new(bytes: &'static [u8]) -> Container {
        assert_eq!(bytes.first_chunk(), Some(MAGIC), "not a model file");
        let sections = u32_at(bytes, MAGIC.len());
        let table = bytes[16..].as_chunks().0;
        Container {
            bytes,
            table: &table[..sections],
        }
    }

    pub(super) fn section(&self, name: &str) -> &'static [u8] {
        let entry = self
            .table
            .iter()
            .find(|entry| {
                entry[..NAME]
                    .strip_prefix(name.as_bytes())
                    .is_some_and(all_zero)
            })
            .unwrap_or_else(|| panic!("the model file has no section `{name}`"));
        let (start, length) = (u32_at(entry, NAME), u32_at(entry, NAME + 4));
        &self.bytes[start..start + length]
    }

    pub(super) fn f32s(&self, name: &str) -> F32s {
        self.section(name).as_chunks().0
    }
}

fn all_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    let number = bytes[at..].first_chunk().expect("the header is complete");
    u32::from_le_bytes(*number) as usize
}
