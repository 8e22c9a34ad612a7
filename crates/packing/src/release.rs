//! A release: the built programs and the texts beside them, and all files that
//! are made of them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::archive::{self, Member};
use crate::channels::{
    Archive, Published, debian, homebrew, mcp, npm, oci, python, scripts, windows,
};
use crate::table::{self, PROGRAMS, Program, System, Target};
use crate::trust;

/// Built program.
#[derive(Clone, Debug)]
pub struct Built {
    /// Which of the two.
    pub program: &'static Program,
    /// For which system.
    pub target: &'static Target,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Everything that a release is made of.
#[derive(Clone, Debug)]
pub struct Release {
    /// The repository, for texts and the list of dependencies.
    pub repository: PathBuf,
    /// The programs.
    pub built: Vec<Built>,
    /// Manual pages in `man/` and completions in `completions/`, as the program
    /// prints them.
    pub texts: Vec<Member>,
    /// The commit that the programs were built from, if it is known.
    pub commit: Option<String>,
    /// Names and checksums of the programs with their signature, if the owner of
    /// the release made one.
    pub signed_sums: Option<(Vec<u8>, Vec<u8>)>,
}

impl Release {
    /// Returns every file of the release.
    pub fn pack(&self) -> Result<Vec<Published>> {
        let mut files: Vec<Published> = Vec::new();
        for built in &self.built {
            let name = table::archive_name(built.program, built.target);
            files.push((name, self.archive(built)?));
        }
        let sums: Vec<String> = (files.iter())
            .map(|(_, bytes)| archive::sha256(bytes))
            .collect();
        let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
        let archives: Vec<Archive<'_>> = (self.built.iter().zip(names.iter().zip(&sums)))
            .map(|(built, (name, sum))| Archive {
                program: built.program,
                target: built.target,
                name,
                sum,
            })
            .collect();
        for built in &self.built {
            files.push(npm::platform_package(self, built)?);
            files.push(python::wheel(self, built)?);
            if built.target.system == System::LinuxGnu {
                files.push(debian::package(self, built)?);
            }
            if built.program.has_commands {
                files.push(mcp::bundle(self, built)?);
            }
        }
        for program in &PROGRAMS {
            let of_it: Vec<&Archive<'_>> = archives
                .iter()
                .filter(|archive| archive.program == program)
                .collect();
            if of_it.is_empty() {
                continue;
            }
            files.push(npm::wrapper_package(self, program)?);
            files.push(homebrew::formula(program, &of_it));
            files.extend(oci::layout(self, program)?);
            files.extend(windows::manifests(program, &of_it)?);
            if program.has_commands {
                let glibc = |archive: &Archive<'_>| {
                    let built = self.built.iter().find(|built| {
                        built.program == archive.program && built.target == archive.target
                    });
                    built.map_or(0, |built| python::needed_glibc(&built.bytes).1)
                };
                files.push(scripts::for_shell(program, &of_it, glibc));
                files.extend(scripts::for_powershell(program, &of_it));
            }
        }
        files.push(mcp::server_entry(&files)?);
        files.push(trust::bill_of_materials(&self.repository)?);
        files.push(trust::provenance(self.commit.as_deref(), &files)?);
        files.push((
            trust::SUMS_FILE.to_owned(),
            trust::sums(&files).into_bytes(),
        ));
        Ok(files)
    }

    /// Returns the archive of one program: the program, its texts and licences.
    fn archive(&self, built: &Built) -> Result<Vec<u8>> {
        let program_file = format!("{}{}", built.program.name, built.target.exe_suffix());
        let mut members = vec![Member::program(program_file, built.bytes.clone())];
        for name in ["README.md", "CHANGELOG.md"] {
            members.push(Member::file(name, self.read(name)?));
        }
        members.extend(self.licences()?);
        members.extend(self.texts_of(built.program).to_vec());
        members.extend(self.sums_beside_program());
        let folder = table::archive_stem(built.program, built.target);
        match built.target.system {
            System::Windows => archive::zip(&folder, &members),
            _ => archive::tar_gz(&folder, &members),
        }
    }

    /// Returns pages and completions, which only one of the programs has.
    pub(crate) fn texts_of(&self, program: &Program) -> &[Member] {
        if program.has_commands {
            &self.texts
        } else {
            &[]
        }
    }

    /// Returns the signed list that `doctor --self` reads beside the program.
    pub(crate) fn sums_beside_program(&self) -> Vec<Member> {
        let Some((sums, signature)) = &self.signed_sums else {
            return Vec::new();
        };
        vec![
            Member::file(trust::PROGRAM_SUMS_FILE, sums.clone()),
            Member::file(trust::PROGRAM_SIGNATURE_FILE, signature.clone()),
        ]
    }

    /// Returns the texts of both licences.
    pub(crate) fn licences(&self) -> Result<Vec<Member>> {
        ["LICENSE-MIT", "LICENSE-APACHE"]
            .into_iter()
            .map(|name| Ok(Member::file(name, self.read(name)?)))
            .collect()
    }

    /// Reads a text of the repository.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>> {
        fs::read(self.repository.join(path)).with_context(|| format!("Cannot read `{path}`"))
    }
}
