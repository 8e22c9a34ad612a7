//! Compares a program with the signed checksums of its release, which every
//! archive has beside it. It uses no network, and it never takes the key from
//! the files that it checks.

use std::path::{Path, PathBuf};

use minisign_verify::{PublicKey, Signature};
use sha2::{Digest, Sha256};

use crate::diagnostic::Diagnostic;
use crate::regular::{self, FileReadError, LinkPolicy};

/// Checksums of the programs of a release: `<sum>  <target>/<file>`.
pub const SUMS_FILE: &str = "memory-forge.sums";
/// The signature of that file, in the format of minisign.
pub const SIGNATURE_FILE: &str = "memory-forge.sums.minisig";

/// Upper bound for the two files.
const MAX_SUMS_BYTES: u64 = 1 << 16;
/// Upper bound for a program.
const MAX_PROGRAM_BYTES: u64 = 1 << 30;

/// Program that is the one of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedProgram {
    /// The file.
    pub program: PathBuf,
    /// The signed checksums that list it.
    pub sums: PathBuf,
    /// Its entry there: the target and the name of the file.
    pub entry: String,
    /// Its SHA-256.
    pub sum: String,
    /// What the owner of the release signed beside the checksums.
    pub comment: String,
}

/// Reason why a program is not known to be the one of a release.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseCheckError {
    /// Nothing to compare with.
    #[error("There is no `{SUMS_FILE}` beside `{}`", .0.display())]
    NoSums(PathBuf),
    /// A file that cannot be read.
    #[error("Cannot read `{}`: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: FileReadError,
    },
    /// A key that is none.
    #[error("The key is not a public key of minisign: {0}")]
    BadKey(minisign_verify::Error),
    /// Checksums that the key did not sign.
    #[error("`{}` is not signed by this key: {error}", path.display())]
    BadSignature {
        /// The checksums.
        path: PathBuf,
        /// What is wrong.
        error: minisign_verify::Error,
    },
    /// Another program than those of the release.
    #[error("`{}` (SHA-256 {sum}) is not among the signed checksums", program.display())]
    OtherProgram {
        /// The file.
        program: PathBuf,
        /// Its SHA-256.
        sum: String,
    },
}

impl Diagnostic for ReleaseCheckError {
    fn code(&self) -> &'static str {
        match self {
            ReleaseCheckError::NoSums(_) => "release-check.no-sums",
            ReleaseCheckError::Unreadable { .. } => "release-check.unreadable",
            ReleaseCheckError::BadKey(_) => "release-check.bad-key",
            ReleaseCheckError::BadSignature { .. } => "release-check.bad-signature",
            ReleaseCheckError::OtherProgram { .. } => "release-check.other-program",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            ReleaseCheckError::NoSums(_) => {
                "A program that you built has none; those of a release are in its archive"
            }
            ReleaseCheckError::BadSignature { .. } | ReleaseCheckError::OtherProgram { .. } => {
                "Install it again from the release, and report it if that does not help"
            }
            ReleaseCheckError::Unreadable { .. } | ReleaseCheckError::BadKey(_) => {
                return Vec::new();
            }
        };
        vec![hint.to_owned()]
    }
}

/// Compares a program with the signed checksums beside it. `key` is the public
/// key, alone or as the file that minisign writes.
pub fn verify_program(program: &Path, key: &str) -> Result<VerifiedProgram, ReleaseCheckError> {
    let key = key.trim();
    let key = match key.lines().count() {
        0 | 1 => PublicKey::from_base64(key),
        _ => PublicKey::decode(key),
    }
    .map_err(ReleaseCheckError::BadKey)?;

    let sums_path = find_sums(program)?;
    let sums = read(&sums_path, MAX_SUMS_BYTES)?;
    let signature_path = sums_path.with_file_name(SIGNATURE_FILE);
    let signature = read(&signature_path, MAX_SUMS_BYTES)?;
    let bad = |error| ReleaseCheckError::BadSignature {
        path: sums_path.clone(),
        error,
    };
    let signature = Signature::decode(&String::from_utf8_lossy(&signature)).map_err(bad)?;
    // Signatures over the file itself are of old versions of minisign.
    key.verify(&sums, &signature, false).map_err(bad)?;

    let digest: [u8; 32] = Sha256::digest(read(program, MAX_PROGRAM_BYTES)?).into();
    let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = String::from_utf8_lossy(&sums);
    let entry = list.lines().find_map(|line| {
        let (listed, entry) = line.split_once("  ")?;
        (listed == sum).then(|| entry.to_owned())
    });
    match entry {
        Some(entry) => Ok(VerifiedProgram {
            program: program.to_owned(),
            sums: sums_path,
            entry,
            sum,
            comment: signature.trusted_comment().to_owned(),
        }),
        None => Err(ReleaseCheckError::OtherProgram {
            program: program.to_owned(),
            sum,
        }),
    }
}

/// Finds the checksums where archives and packages put them: beside the
/// program, or in the folder for data of the prefix that it is installed in.
fn find_sums(program: &Path) -> Result<PathBuf, ReleaseCheckError> {
    let folder = program.parent().unwrap_or(Path::new("."));
    let mut places = vec![folder.join(SUMS_FILE)];
    if let Some(prefix) = folder.parent() {
        places.push(prefix.join("share/memory-forge").join(SUMS_FILE));
    }
    let found = places.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| ReleaseCheckError::NoSums(program.to_owned()))
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReleaseCheckError> {
    regular::read_regular(path, LinkPolicy::Follow, limit).map_err(|error| {
        ReleaseCheckError::Unreadable {
            path: path.to_owned(),
            error,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with a key that was thrown away.
    const KEY: &str = "RWR0ZXN0a2V5IWHsC/RVubfL26VHS1cG04BHdUnOSK20acA16pXxQLBg";
    const PROGRAM: &str = "the program of a release\n";
    const SUMS: &str = "\
05ebccb4592ce3a34d8a78a65fdfdfc127e0ae713cfd43b9b5b60f52ef450ca6  x86_64-unknown-linux-gnu/memory-forge
4e6e90d4892a9fcb7d590fb76102d68de443ab935e4bed3aada11c5911cb7bd8  x86_64-unknown-linux-gnu/memory-forge-engines
";
    const SIGNATURE: &str = "\
untrusted comment: signature of a test key
RUR0ZXN0a2V5Ie/Gkmd4gYQ/yWvjkIqUU5nRFozqC0b/U4O8dbENfnhRH0Lrzd+nWwnrHFUOoYGk8rxxSOP3+E9tArDhZw5IbQs=
trusted comment: memory-forge.sums of a test
e01kNRtepIZeOxhfb2Lw0hMOqhnAIOL4DuxF15/I94E8po71HBp5P27IRODIQJ4Z1SSPgwEy2g0BgSGkTZMyDQ==
";

    fn installed(program: &str, sums: &str, signature: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a folder can be made");
        let write = |name: &str, text: &str| {
            std::fs::write(place.path().join(name), text).expect("it can be written");
        };
        write("memory-forge", program);
        write(SUMS_FILE, sums);
        write(SIGNATURE_FILE, signature);
        place
    }

    fn verify(place: &tempfile::TempDir) -> Result<VerifiedProgram, ReleaseCheckError> {
        verify_program(&place.path().join("memory-forge"), KEY)
    }

    #[test]
    fn the_program_of_a_release_is_known_by_its_signed_checksum() {
        let place = installed(PROGRAM, SUMS, SIGNATURE);
        let known = verify(&place).expect("it is the program");
        assert_eq!(known.entry, "x86_64-unknown-linux-gnu/memory-forge");
        assert_eq!(known.comment, "memory-forge.sums of a test");
        let file = format!("untrusted comment: minisign public key\n{KEY}\n");
        verify_program(&known.program, &file).expect("the file of the key is a key");
    }

    #[test]
    fn the_checksums_may_be_in_the_data_of_the_prefix() {
        let place = tempfile::tempdir().expect("a folder can be made");
        let (bin, share) = (
            place.path().join("bin"),
            place.path().join("share/memory-forge"),
        );
        for folder in [&bin, &share] {
            std::fs::create_dir_all(folder).expect("it can be made");
        }
        std::fs::write(bin.join("memory-forge"), PROGRAM).expect("written");
        std::fs::write(share.join(SUMS_FILE), SUMS).expect("written");
        std::fs::write(share.join(SIGNATURE_FILE), SIGNATURE).expect("written");
        verify_program(&bin.join("memory-forge"), KEY).expect("it is the program");
    }

    #[test]
    fn a_flipped_bit_is_noticed_wherever_it_is() {
        let flip = |text: &str, at: usize| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= 1;
            String::from_utf8(bytes).expect("it is still ASCII")
        };
        for at in 0..SUMS.len() {
            let place = installed(PROGRAM, &flip(SUMS, at), SIGNATURE);
            assert!(verify(&place).is_err(), "checksums at {at}");
        }
        for at in 0..PROGRAM.len() {
            let place = installed(&flip(PROGRAM, at), SUMS, SIGNATURE);
            let error = verify(&place).expect_err("it is another program");
            assert_eq!(error.code(), "release-check.other-program");
        }
        let lines: Vec<&str> = SIGNATURE.lines().collect();
        // The comment that is not signed may change, and padding has no bits.
        let signed = lines[0].len() + 1..SIGNATURE.len() - 3;
        let padding = lines[0].len() + 1 + lines[1].len() - 1;
        for at in signed.filter(|at| *at != padding) {
            let place = installed(PROGRAM, SUMS, &flip(SIGNATURE, at));
            let known = verify(&place);
            assert!(known.is_err(), "signature at {at}: {known:?}");
        }
    }

    #[test]
    fn another_key_and_no_checksums_are_refused() {
        let place = installed(PROGRAM, SUMS, SIGNATURE);
        let program = place.path().join("memory-forge");
        let code = |key: &str| verify_program(&program, key).map_err(|error| error.code());
        assert_eq!(code("not a key").err(), Some("release-check.bad-key"));
        let other = KEY.replacen("HsC", "HsD", 1);
        assert_eq!(code(&other).err(), Some("release-check.bad-signature"));
        std::fs::remove_file(place.path().join(SUMS_FILE)).expect("removed");
        assert_eq!(code(KEY).err(), Some("release-check.no-sums"));
    }
}
