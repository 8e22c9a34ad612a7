//! Python: a wheel for each platform that puts the program where an environment
//! keeps its programs, for `pip`, `pipx` and `uvx`.

use anyhow::Result;

use super::Published;
use crate::archive::{self, Member};
use crate::release::{Built, Release};
use crate::table::{AUTHOR, HOMEPAGE, LICENCE, VERSION};

/// Returns the wheel of a program.
pub(crate) fn wheel(release: &Release, built: &Built) -> Result<Published> {
    let (program, target) = (built.program, built.target);
    let tag = format!("py3-none-{}", target.wheel(needed_glibc(&built.bytes)));
    let name = program.name.replace('-', "_");
    let info = format!("{name}-{VERSION}.dist-info");
    let data = format!("{name}-{VERSION}.data");

    let readme = String::from_utf8(release.read(program.readme)?)?;
    let metadata = format!(
        "Metadata-Version: 2.1\nName: {}\nVersion: {VERSION}\nSummary: {}\nHome-page: {HOMEPAGE}\n\
         Author: {AUTHOR}\nLicense: {LICENCE}\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}",
        program.name, program.summary,
    );
    let format = format!(
        "Wheel-Version: 1.0\nGenerator: {} {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n",
        program.name
    );
    let file = format!("{}{}", program.name, target.exe_suffix());
    let mut members = vec![
        Member::program(format!("{data}/scripts/{file}"), built.bytes.clone()),
        Member::file(format!("{info}/METADATA"), metadata),
        Member::file(format!("{info}/WHEEL"), format),
    ];
    for licence in release.licences()? {
        members.push(Member::file(
            format!("{info}/licenses/{}", licence.path),
            licence.bytes,
        ));
    }
    for sums in release.sums_beside_program() {
        let path = format!("{data}/data/share/{}/{}", program.name, sums.path);
        members.push(Member::file(path, sums.bytes));
    }
    members.sort();
    let mut record = String::new();
    for member in &members {
        let sum = archive::sha256_for_wheel(&member.bytes);
        record += &format!("{},sha256={sum},{}\n", member.path, member.bytes.len());
    }
    record += &format!("{info}/RECORD,,\n");
    members.push(Member::file(format!("{info}/RECORD"), record));
    Ok((
        format!("{name}-{VERSION}-{tag}.whl"),
        archive::zip("", &members)?,
    ))
}

/// Returns the newest version of glibc whose symbols a program names, at least
/// the oldest for which wheels are defined.
pub(crate) fn needed_glibc(program: &[u8]) -> (u32, u32) {
    const MARK: &[u8] = b"GLIBC_2.";
    let mut newest = 17;
    for (at, _) in program
        .windows(MARK.len())
        .enumerate()
        .filter(|(_, part)| *part == MARK)
    {
        let digits = program[at + MARK.len()..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .take(3);
        let minor = digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        newest = newest.max(minor);
    }
    (2, newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides_which_glibc_is_needed() {
        assert_eq!(
            needed_glibc(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.28"),
            (2, 34)
        );
        assert_eq!(needed_glibc(b"static"), (2, 17));
        assert_eq!(needed_glibc(b"GLIBC_2."), (2, 17));
    }
}
