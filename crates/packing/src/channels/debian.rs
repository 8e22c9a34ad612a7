//! Debian: a package with the program, its pages and completions.

use anyhow::Result;

use super::Published;
use super::python::needed_glibc;
use crate::archive::{self, Member};
use crate::release::{Built, Release};
use crate::table::{AUTHOR, HOMEPAGE, VERSION};

/// Returns the package of a program.
pub(crate) fn package(release: &Release, built: &Built) -> Result<Published> {
    let program = built.program;
    let name = program.name;
    let mut data = vec![Member::program(
        format!("usr/bin/{name}"),
        built.bytes.clone(),
    )];
    for text in release.texts_of(program) {
        let file = text.path.rsplit('/').next().unwrap_or(&text.path);
        if text.path.starts_with("man/") {
            let path = format!("usr/share/man/man1/{file}.gz");
            data.push(Member::file(path, archive::gzip(&text.bytes)?));
            continue;
        }
        let path = match file.rsplit_once('.') {
            Some((_, "bash")) => format!("usr/share/bash-completion/completions/{name}"),
            Some((_, "fish")) => format!("usr/share/fish/vendor_completions.d/{file}"),
            None => format!("usr/share/zsh/vendor-completions/{file}"),
            Some(_) => continue,
        };
        data.push(Member::file(path, text.bytes.clone()));
    }
    let doc = format!("usr/share/doc/{name}");
    let mut copyright = b"Either licence, at your option.\n\n".to_vec();
    for licence in release.licences()? {
        copyright.extend(licence.bytes);
        copyright.push(b'\n');
    }
    data.push(Member::file(format!("{doc}/copyright"), copyright));
    let changes = archive::gzip(&release.read("CHANGELOG.md")?)?;
    data.push(Member::file(format!("{doc}/changelog.gz"), changes));
    for sums in release.sums_beside_program() {
        data.push(Member::file(
            format!("usr/share/{name}/{}", sums.path),
            sums.bytes,
        ));
    }

    let size: usize = data.iter().map(|member| member.bytes.len()).sum();
    let (major, minor) = needed_glibc(&built.bytes);
    let architecture = built.target.debian();
    let control = format!(
        "Package: {name}\nVersion: {VERSION}\nArchitecture: {architecture}\n\
         Maintainer: {AUTHOR} <noreply@users.noreply.github.com>\n\
         Installed-Size: {}\nDepends: libc6 (>= {major}.{minor}), libgcc-s1\n\
         Section: devel\nPriority: optional\nHomepage: {HOMEPAGE}\nDescription: {}\n",
        size.div_ceil(1024),
        program.summary,
    );
    let bytes = archive::ar(&[
        Member::file("debian-binary", "2.0\n"),
        Member::file(
            "control.tar.gz",
            archive::tar_gz(".", &[Member::file("control", control)])?,
        ),
        Member::file("data.tar.gz", archive::tar_gz(".", &data)?),
    ]);
    Ok((format!("{name}_{VERSION}_{architecture}.deb"), bytes))
}
