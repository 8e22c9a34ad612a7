//! Reads what an executable asks of the system that will run it, without
//! running it: ELF of Linux and Mach-O of macOS. It reads programs that were
//! built here, and answers an error instead of a panic where one is cut short.

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

/// What an ELF program asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ElfNeeds {
    /// The loader; `None` for a program that brings everything itself.
    pub(crate) loader: Option<String>,
    /// Names of shared libraries.
    pub(crate) libraries: Vec<String>,
    /// The newest version of the GNU C library whose functions are called.
    pub(crate) glibc: Option<(u32, u32)>,
}

/// What a Mach-O program asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MachoNeeds {
    /// Apple's number of the processor.
    pub(crate) processor: u32,
    /// The oldest macOS on which it starts.
    pub(crate) oldest_system: (u32, u32),
    /// Paths of shared libraries.
    pub(crate) libraries: Vec<String>,
    /// How it is signed; `None` if not at all.
    pub(crate) signature: Option<MachoSignature>,
}

/// The signature of a Mach-O program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MachoSignature {
    /// Whether it has no certificate, which is enough for a program that was
    /// not fetched by a browser.
    pub(crate) is_ad_hoc: bool,
    /// Pages of the program whose hashes were compared and agree.
    pub(crate) pages: usize,
}

pub(crate) const MACHO_X64: u32 = 0x0100_0007;
pub(crate) const MACHO_ARM64: u32 = 0x0100_000c;

/// Bytes in the order of small processors; every read is checked.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn array<const N: usize>(self, at: usize) -> Result<[u8; N]> {
        let found = self.0.get(at..).and_then(|rest| rest.first_chunk::<N>());
        found.copied().context("the program is cut short")
    }

    fn u16(self, at: usize) -> Result<usize> {
        Ok(usize::from(u16::from_le_bytes(self.array(at)?)))
    }

    fn u32(self, at: usize) -> Result<usize> {
        Ok(u32::from_le_bytes(self.array(at)?) as usize)
    }

    fn u64(self, at: usize) -> Result<usize> {
        Ok(usize::try_from(u64::from_le_bytes(self.array(at)?))?)
    }

    /// Reads a number as Apple's signatures hold it.
    fn big_u32(self, at: usize) -> Result<usize> {
        Ok(u32::from_be_bytes(self.array(at)?) as usize)
    }

    fn slice(self, at: usize, length: usize) -> Result<&'a [u8]> {
        let end = at.checked_add(length).context("a size is too large")?;
        self.0.get(at..end).context("the program is cut short")
    }

    /// Reads a text that ends with a zero.
    fn text(self, at: usize) -> Result<String> {
        let rest = self.0.get(at..).context("the program is cut short")?;
        let end = rest.iter().position(|&byte| byte == 0);
        let text = &rest[..end.context("a text has no end")?];
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

/// Reads the headers of a 64-bit ELF program.
pub(crate) fn read_elf(program: &[u8]) -> Result<ElfNeeds> {
    const LOAD: usize = 1;
    const DYNAMIC: usize = 2;
    const INTERPRETER: usize = 3;
    let bytes = Bytes(program);
    ensure!(
        bytes.array(0)? == *b"\x7fELF\x02\x01",
        "not a 64-bit program of Linux"
    );
    let (first, size, count) = (bytes.u64(32)?, bytes.u16(54)?, bytes.u16(56)?);
    let mut needs = ElfNeeds::default();
    let mut loads = Vec::new();
    let mut dynamic = None;
    for segment in 0..count {
        let at = first + segment * size;
        let (offset, address, length) =
            (bytes.u64(at + 8)?, bytes.u64(at + 16)?, bytes.u64(at + 32)?);
        match bytes.u32(at)? {
            LOAD => loads.push((address, offset, length)),
            DYNAMIC => dynamic = Some((offset, length)),
            INTERPRETER => needs.loader = Some(bytes.text(offset)?),
            _ => {}
        }
    }
    let Some((dynamic, length)) = dynamic else {
        return Ok(needs);
    };
    let place = |address: usize| {
        let holds = |load: &&(usize, usize, usize)| (load.0..load.0 + load.2).contains(&address);
        let load = loads.iter().find(holds);
        load.map(|load| address - load.0 + load.1)
            .context("an address is in no segment")
    };
    let (mut texts, mut versions, mut names) = (None, None, Vec::new());
    for entry in 0..length / 16 {
        let at = dynamic + entry * 16;
        let value = bytes.u64(at + 8)?;
        match bytes.u64(at)? {
            0 => break,
            1 => names.push(value),
            5 => texts = Some(place(value)?),
            0x6fff_fffe => versions = Some(place(value)?),
            _ => {}
        }
    }
    let Some(texts) = texts else {
        return Ok(needs);
    };
    for name in names {
        needs.libraries.push(bytes.text(texts + name)?);
    }
    // Libraries, and for each the versions that are asked of it; both lists
    // are linked by distances, of which zero is the end.
    while let Some(library) = versions {
        let mut version = library + bytes.u32(library + 8)?;
        loop {
            let name = bytes.text(texts + bytes.u32(version + 8)?)?;
            needs.glibc = needs.glibc.max(glibc_version(&name));
            match bytes.u32(version + 12)? {
                0 => break,
                distance => version += distance,
            }
        }
        versions = match bytes.u32(library + 12)? {
            0 => None,
            distance => Some(library + distance),
        };
    }
    Ok(needs)
}

/// Reads `GLIBC_2.17`; a private version has no number.
fn glibc_version(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Reads the headers of a 64-bit Mach-O program.
pub(crate) fn read_macho(program: &[u8]) -> Result<MachoNeeds> {
    const HEADER_BYTES: usize = 32;
    const EXECUTABLE: usize = 2;
    let bytes = Bytes(program);
    ensure!(
        bytes.array(0)? == 0xfeed_facf_u32.to_le_bytes() && bytes.u32(12)? == EXECUTABLE,
        "not a 64-bit program of macOS"
    );
    let mut oldest = None;
    let mut libraries = Vec::new();
    let mut signature = None;
    let mut at = HEADER_BYTES;
    for _ in 0..bytes.u32(16)? {
        let size = bytes.u32(at + 4)?;
        match bytes.u32(at)? {
            // Needed, weak, and passed on.
            0xc | 0x8000_0018 | 0x8000_001f => {
                libraries.push(bytes.text(at + bytes.u32(at + 8)?)?);
            }
            // Of the system with this number: macOS.
            0x32 if bytes.u32(at + 8)? == 1 => oldest = Some(bytes.u32(at + 12)?),
            // The older command for the same.
            0x24 => oldest = Some(bytes.u32(at + 8)?),
            0x1d => {
                let place = bytes.u32(at + 8)?;
                let code = bytes.slice(0, place)?;
                let data = bytes.slice(place, bytes.u32(at + 12)?)?;
                signature = Some(read_macho_signature(code, Bytes(data))?);
            }
            _ => {}
        }
        ensure!(size >= 8, "a load command has no size");
        at += size;
    }
    let oldest = u32::try_from(oldest.context("it does not say for which macOS it is")?)?;
    Ok(MachoNeeds {
        processor: u32::from_le_bytes(bytes.array(4)?),
        oldest_system: (oldest >> 16, (oldest >> 8) & 0xff),
        libraries,
        signature,
    })
}

/// Reads a signature and compares the hashes of all pages, as the system does
/// before it runs one.
fn read_macho_signature(code: &[u8], bytes: Bytes<'_>) -> Result<MachoSignature> {
    const COLLECTION: usize = 0xfade_0cc0;
    const DIRECTORY: usize = 0xfade_0c02;
    const AD_HOC: usize = 2;
    const SHA256: u8 = 2;
    ensure!(bytes.big_u32(0)? == COLLECTION, "the signature is no such");
    for blob in 0..bytes.big_u32(8)? {
        let start = bytes.big_u32(12 + 8 * blob + 4)?;
        if bytes.big_u32(start)? != DIRECTORY {
            continue;
        }
        let directory = Bytes(bytes.slice(start, bytes.big_u32(start + 4)?)?);
        let [hash_bytes, hash_kind, _, page_bits] = directory.array(36)?;
        ensure!(
            hash_kind == SHA256 && hash_bytes == 32 && page_bits < 24,
            "the signature has another hash than SHA-256"
        );
        let hashes = directory.big_u32(16)?;
        let count = directory.big_u32(28)?;
        let covered = code.get(..directory.big_u32(32)?);
        let covered = covered.context("the signature covers more than there is")?;
        ensure!(
            covered.len() == code.len(),
            "the signature does not cover the whole program"
        );
        let pages = covered.chunks(1 << page_bits);
        ensure!(pages.len() == count, "the signature lacks pages");
        for (page, bytes) in pages.enumerate() {
            let signed = directory.slice(hashes + page * 32, 32)?;
            ensure!(
                Sha256::digest(bytes).as_slice() == signed,
                "page {page} is not the one that was signed"
            );
        }
        return Ok(MachoSignature {
            is_ad_hoc: directory.big_u32(12)? & AD_HOC != 0,
            pages: count,
        });
    }
    bail!("the signature has no list of pages")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a program with these load commands, of an ARM Mac.
    fn macho(commands: &[Vec<u8>]) -> Vec<u8> {
        let mut program = Vec::new();
        let size: usize = commands.iter().map(Vec::len).sum();
        for number in [0xfeed_facf, MACHO_ARM64, 0, 2] {
            program.extend(number.to_le_bytes());
        }
        for number in [commands.len() as u32, size as u32, 0, 0] {
            program.extend(number.to_le_bytes());
        }
        program.extend(commands.concat());
        program
    }

    fn command(numbers: &[u32], text: &str) -> Vec<u8> {
        let mut text = text.as_bytes().to_vec();
        text.resize(text.len().next_multiple_of(8), 0);
        let size = 4 * (numbers.len() + 1) + text.len();
        let mut command = numbers[0].to_le_bytes().to_vec();
        command.extend((size as u32).to_le_bytes());
        for number in &numbers[1..] {
            command.extend(number.to_le_bytes());
        }
        command.extend(text);
        command
    }

    /// Returns a signed program of two and a half pages.
    fn signed() -> Vec<u8> {
        const PLACE: u32 = 2048 + 512;
        let commands = [
            command(&[0x32, 1, 11 << 16, 15 << 16, 0], ""),
            command(&[0xc, 24, 0, 0, 0], "/usr/lib/libSystem.B.dylib\0"),
            command(&[0x1d, PLACE, 20 + 44 + 3 * 32], ""),
        ];
        let mut program = macho(&commands);
        program.resize(PLACE as usize, 7);
        let hashes: Vec<u8> = (program.chunks(1024))
            .flat_map(|page| Sha256::digest(page).to_vec())
            .collect();
        let directory_bytes = 44 + hashes.len() as u32;
        for number in [0xfade_0cc0, 20 + directory_bytes, 1, 0, 20] {
            program.extend(u32::to_be_bytes(number));
        }
        for number in [0xfade_0c02, directory_bytes, 0x20400, 2, 44, 0, 0, 3, PLACE] {
            program.extend(u32::to_be_bytes(number));
        }
        program.extend([32, 2, 0, 10, 0, 0, 0, 0]);
        program.extend(hashes);
        program
    }

    #[test]
    fn a_signed_program_of_macos_is_read() {
        let needs = read_macho(&signed()).unwrap();
        let expected = MachoNeeds {
            processor: MACHO_ARM64,
            oldest_system: (11, 0),
            libraries: vec!["/usr/lib/libSystem.B.dylib".to_owned()],
            signature: Some(MachoSignature {
                is_ad_hoc: true,
                pages: 3,
            }),
        };
        assert_eq!(needs, expected);
    }

    #[test]
    fn a_flipped_bit_anywhere_below_the_signature_is_noticed() {
        for at in [200, 1024, 2559] {
            let mut program = signed();
            program[at] ^= 1;
            let error = read_macho(&program).unwrap_err().to_string();
            assert!(error.ends_with("is not the one that was signed"), "{error}");
        }
    }

    #[test]
    fn a_program_that_is_cut_short_is_an_error() {
        let program = signed();
        for length in 0..program.len() {
            assert!(read_macho(&program[..length]).is_err(), "{length}");
        }
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in [3, 40, 70, 200] {
            if cfg!(target_os = "linux") {
                assert!(read_elf(&this[..length]).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn a_program_without_a_signature_has_none() {
        let program = macho(&[command(&[0x24, (10 << 16) | (12 << 8), 0], "")]);
        let needs = read_macho(&program).unwrap();
        assert_eq!(needs.oldest_system, (10, 12));
        assert_eq!(needs.signature, None);
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn this_program_names_its_loader_and_libraries() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = read_elf(&this).unwrap();
        assert!(needs.loader.is_some_and(|it| it.contains("ld-linux")));
        assert!(needs.libraries.iter().any(|it| it.starts_with("libc.so")));
        let glibc = needs.glibc.unwrap();
        assert!(((2, 17)..(3, 0)).contains(&glibc), "{glibc:?}");
    }

    #[test]
    fn private_versions_of_the_c_library_have_no_number() {
        assert_eq!(glibc_version("GLIBC_2.31"), Some((2, 31)));
        assert_eq!(glibc_version("GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(glibc_version("GLIBC_PRIVATE"), None);
        assert_eq!(glibc_version("GCC_3.0"), None);
    }
}
