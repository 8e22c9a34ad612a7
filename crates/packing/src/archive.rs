//! Writers of archives: tar with gzip, zip, and the `ar` of Debian. Members are
//! in the order of their names, all of the same age and owned by root, so that
//! an archive depends on what is in it and on nothing else.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Result};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc, GzBuilder};
use sha2::{Digest, Sha256, Sha512};

/// File of an archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// The path inside of the archive.
    pub path: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub is_program: bool,
}

impl Member {
    /// Returns a file of text or data.
    pub fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Member {
        Member {
            path: path.into(),
            bytes: bytes.into(),
            is_program: false,
        }
    }

    /// Returns a program.
    pub fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Member {
        Member {
            is_program: true,
            ..Member::file(path, bytes)
        }
    }

    fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// Seconds of the year 2000. Some tools take zero for "unknown" and complain.
const MEMBER_TIME: u64 = 946_684_800;

/// Returns an uncompressed tar with folders before their files, each path below
/// `folder`.
pub fn tar(folder: &str, members: &[Member]) -> Result<Vec<u8>> {
    let mut members = members.to_vec();
    members.sort();
    let mut tar = tar::Builder::new(Vec::new());
    let mut folders = BTreeSet::new();
    for member in &members {
        let path = match folder {
            "" => member.path.clone(),
            folder => format!("{folder}/{}", member.path),
        };
        for (at, _) in path.match_indices('/') {
            let parent = &path[..=at];
            if parent != "./" && folders.insert(parent.to_owned()) {
                let mut header = header(0, 0o755);
                header.set_entry_type(tar::EntryType::Directory);
                tar.append_data(&mut header, parent, &[][..])?;
            }
        }
        let mut header = header(member.bytes.len() as u64, member.mode());
        tar.append_data(&mut header, path, member.bytes.as_slice())?;
    }
    Ok(tar.into_inner()?)
}

fn header(size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(MEMBER_TIME);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Returns a tar compressed with gzip.
pub fn tar_gz(folder: &str, members: &[Member]) -> Result<Vec<u8>> {
    gzip(&tar(folder, members)?)
}

/// Compresses bytes with gzip, without a name or a time.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packer = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}

/// Returns a zip with the modes of Unix. A zip of more than 4 GiB is refused.
pub fn zip(folder: &str, members: &[Member]) -> Result<Vec<u8>> {
    const DEFLATED: u16 = 8;
    /// The first of January 2000, in the format of DOS.
    const DATE: u16 = (20 << 9) | (1 << 5) | 1;
    /// Names are UTF-8.
    const FLAGS: u16 = 1 << 11;
    let mut members = members.to_vec();
    members.sort();
    let mut out = Vec::new();
    let mut index = Vec::new();
    for member in &members {
        let name = match folder {
            "" => member.path.clone(),
            folder => format!("{folder}/{}", member.path),
        };
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
        packer.write_all(&member.bytes)?;
        let packed = packer.finish()?;
        let mut crc = Crc::new();
        crc.update(&member.bytes);
        let offset = size_of_zip(out.len())?;
        let mut common = Vec::new();
        for number in [20, FLAGS, DEFLATED, 0, DATE] {
            common.extend(number.to_le_bytes());
        }
        common.extend(crc.sum().to_le_bytes());
        common.extend(size_of_zip(packed.len())?.to_le_bytes());
        common.extend(size_of_zip(member.bytes.len())?.to_le_bytes());
        common.extend(u16::try_from(name.len())?.to_le_bytes());
        common.extend(0u16.to_le_bytes());

        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(&packed);

        index.extend(b"PK\x01\x02");
        // Made on Unix, which gives the attributes their meaning.
        index.extend(((3u16 << 8) | 20).to_le_bytes());
        index.extend(&common);
        index.extend([0; 6]);
        let attributes = (0o100_000 | member.mode()) << 16;
        index.extend(attributes.to_le_bytes());
        index.extend(offset.to_le_bytes());
        index.extend(name.as_bytes());
    }
    let start = size_of_zip(out.len())?;
    let count = u16::try_from(members.len())?;
    out.extend(&index);
    out.extend(b"PK\x05\x06");
    out.extend([0; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size_of_zip(index.len())?.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    Ok(out)
}

fn size_of_zip(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).context("a zip of more than 4 GiB")
}

/// Returns an archive of `ar`, in the order of its members.
pub fn ar(members: &[Member]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for member in members {
        let name = &member.path;
        let size = member.bytes.len();
        out.extend(format!("{name:<16}{MEMBER_TIME:<12}0     0     100644  {size:<10}`\n").bytes());
        out.extend(&member.bytes);
        if size % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let sum: [u8; 32] = Sha256::digest(bytes).into();
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the SHA-256 as Python's wheels write it: base64 for addresses,
/// without padding.
pub fn sha256_for_wheel(bytes: &[u8]) -> String {
    let text = base64(&Sha256::digest(bytes));
    text.trim_end_matches('=')
        .replace('+', "-")
        .replace('/', "_")
}

/// Returns the SHA-512 as npm writes it.
pub fn sha512_for_npm(bytes: &[u8]) -> String {
    format!("sha512-{}", base64(&Sha512::digest(bytes)))
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let mut number = 0u32;
        for index in 0..3 {
            number = (number << 8) | u32::from(part.get(index).copied().unwrap_or(0));
        }
        for index in 0..4 {
            let digit = (number >> (18 - 6 * index)) & 63;
            text.push(if index <= part.len() {
                char::from(ALPHABET[digit as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_written_as_each_reader_expects() {
        // Of the three letters `abc`, from FIPS 180.
        let expect = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expect);
        assert_eq!(
            sha256_for_wheel(b"abc"),
            "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"
        );
        let npm = sha512_for_npm(b"abc");
        assert!(npm.starts_with("sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohk"));
        assert!(npm.ends_with("=="), "{npm}");
        assert_eq!(base64(b"ab"), "YWI=");
    }

    #[test]
    fn the_order_in_which_members_come_does_not_matter() {
        let (a, b) = (Member::file("b/a", "1"), Member::program("a", "2"));
        let pair = [a.clone(), b.clone()];
        let turned = [b, a];
        assert_eq!(tar_gz("x", &pair).ok(), tar_gz("x", &turned).ok());
        assert_eq!(zip("x", &pair).ok(), zip("x", &turned).ok());
    }

    #[test]
    fn a_tar_lists_folders_before_their_files() {
        let members = [Member::file("a/b/c", "1"), Member::file("a/d", "2")];
        let bytes = tar(".", &members).expect("it is written");
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().expect("it is read");
        let names: Vec<String> = entries
            .map(|entry| {
                let entry = entry.expect("it is read");
                String::from_utf8_lossy(&entry.path_bytes()).into_owned()
            })
            .collect();
        let names: Vec<&str> = names.iter().map(|it| it.trim_start_matches("./")).collect();
        assert_eq!(names, ["a/", "a/b/", "a/b/c", "a/d"]);
    }
}
