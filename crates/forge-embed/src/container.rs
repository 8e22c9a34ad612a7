//! Reads the file that `cargo xtask convert-model` writes: a table of named
//! sections. It never copies a section, and believes nothing: a file that a
//! setting names may hold any bytes, and what does not fit is an error.

/// Numbers stay bytes until they are used; that costs nothing on
/// little-endian processors and needs no alignment.
pub(super) type F32s = &'static [[u8; 4]];

const FILE_MAGIC: &[u8; 8] = b"MFEMBED1";
const ENTRY_BYTES: usize = 32;
const NAME_BYTES: usize = 24;

/// The reason why a file cannot be used as a model. The file is at fault, or
/// the setting that names it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The file does not begin as a model file does.
    #[error("it is not a model file of this program")]
    Foreign,
    /// A section ends behind the end of the file, as after an interrupted
    /// download.
    #[error("it is cut short")]
    CutShort,
    /// A section that every model needs is missing.
    #[error("it has no section `{0}`")]
    Missing(String),
    /// The sizes of two sections contradict each other.
    #[error("its section `{0}` does not have the size that the others require")]
    Size(String),
    /// A section holds values that no trained model has.
    #[error("its section `{0}` contains invalid values")]
    Values(String),
}

#[derive(Clone, Copy)]
pub(super) struct ModelContainer {
    bytes: &'static [u8],
    table: &'static [[u8; ENTRY_BYTES]],
}

impl ModelContainer {
    pub(super) fn new(bytes: &'static [u8]) -> Result<ModelContainer, ModelError> {
        if bytes.first_chunk() != Some(FILE_MAGIC) {
            return Err(ModelError::Foreign);
        }
        let table = bytes.get(16..).unwrap_or_default().as_chunks().0;
        let table = read_u32_at(bytes, FILE_MAGIC.len()).and_then(|sections| table.get(..sections));
        Ok(ModelContainer {
            bytes,
            table: table.ok_or(ModelError::CutShort)?,
        })
    }

    /// Finds an optional section.
    pub(super) fn find_section(&self, name: &str) -> Result<Option<&'static [u8]>, ModelError> {
        let is_it = |entry: &&[u8; ENTRY_BYTES]| {
            let name = entry[..NAME_BYTES].strip_prefix(name.as_bytes());
            name.is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
        };
        let Some(entry) = self.table.iter().find(is_it) else {
            return Ok(None);
        };
        let section = || {
            let (start, length) = (
                read_u32_at(entry, NAME_BYTES)?,
                read_u32_at(entry, NAME_BYTES + 4)?,
            );
            self.bytes.get(start..)?.get(..length)
        };
        section().map(Some).ok_or(ModelError::CutShort)
    }

    pub(super) fn section(&self, name: &str) -> Result<&'static [u8], ModelError> {
        let missing = || ModelError::Missing(name.to_owned());
        self.find_section(name)?.ok_or_else(missing)
    }

    /// Returns a section that has exactly `count` items of `BYTES` bytes.
    pub(super) fn section_items<const BYTES: usize>(
        &self,
        name: &str,
        count: usize,
    ) -> Result<&'static [[u8; BYTES]], ModelError> {
        let (items, rest) = self.section(name)?.as_chunks();
        if items.len() == count && rest.is_empty() {
            Ok(items)
        } else {
            Err(ModelError::Size(name.to_owned()))
        }
    }
}

fn read_u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*number) as usize)
}
