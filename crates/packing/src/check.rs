//! Installs what a release publishes, each way in an empty folder and from a
//! stand-in of its registry on the loopback, and asks the installed program a
//! question. Then flips a bit, and the installer has to notice.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::archive::{sha256, sha512_for_npm};
use crate::channels::{Published, npm};
use crate::loopback::Loopback;
use crate::release::Release;
use crate::table::{self, PROGRAMS, System, TARGETS, Target, VERSION};
use crate::trust;

/// What became of one way in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The installed program answered, and a flipped bit was noticed.
    Works,
    /// A program that the way needs is not on this machine.
    Skipped(String),
}

/// Tries every way in that this machine can run.
pub fn check_ways_in(release: &Release, host: &Target) -> Result<Vec<(&'static str, Outcome)>> {
    let files = release.pack()?;
    let place = tempfile::tempdir()?;
    let trial = Trial {
        release,
        files: &files,
        host,
        place: place.path(),
    };
    type Way<'a> = fn(&Trial<'a>) -> Result<Outcome>;
    let ways: [(&'static str, Way<'_>); 11] = [
        ("checksums", Trial::checksums),
        ("archive", Trial::archive),
        ("install.sh", Trial::install_script),
        ("npm", Trial::npm),
        ("pip", Trial::pip),
        ("uvx", Trial::uvx),
        ("Debian package", Trial::debian),
        ("OCI image", Trial::oci),
        ("MCP bundle", Trial::bundle),
        ("Homebrew formula", Trial::homebrew),
        ("cargo-binstall", Trial::binstall),
    ];
    let mut outcomes = Vec::new();
    for (name, way) in ways {
        let outcome = way(&trial).with_context(|| name.to_owned())?;
        outcomes.push((name, outcome));
    }
    Ok(outcomes)
}

/// A release that is being tried on this machine.
struct Trial<'a> {
    release: &'a Release,
    files: &'a [Published],
    host: &'a Target,
    place: &'a Path,
}

impl Trial<'_> {
    /// Makes an empty folder.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.place.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn bytes(&self, name: &str) -> Result<&[u8]> {
        let found = self.files.iter().find(|(file, _)| file == name);
        Ok(&found.with_context(|| format!("`{name}` was not made"))?.1)
    }

    fn archive_name(&self) -> String {
        table::archive_name(&PROGRAMS[0], self.host)
    }

    /// Every file has the checksum that is published, and a flipped bit in any
    /// kind of file is noticed.
    fn checksums(&self) -> Result<Outcome> {
        let folder = self.folder("published")?;
        for (name, bytes) in self.files {
            fs::write(folder.join(name), bytes)?;
        }
        trust::verify(&folder)?;
        for (name, bytes) in self.files {
            let path = folder.join(name);
            fs::write(&path, flip_a_bit(bytes))?;
            ensure!(
                trust::verify(&folder).is_err(),
                "a bit of `{name}` was flipped"
            );
            fs::write(&path, bytes)?;
        }
        fs::write(folder.join("another"), "x")?;
        ensure!(trust::verify(&folder).is_err(), "a file was added");
        Ok(Outcome::Works)
    }

    fn archive(&self) -> Result<Outcome> {
        let folder = self.folder("archive")?;
        let archive = folder.join(self.archive_name());
        fs::write(&archive, self.bytes(&self.archive_name())?)?;
        let mut tar = Command::new("tar");
        run(tar.arg("-xzf").arg(&archive).arg("-C").arg(&folder))?;
        let program = folder
            .join(table::archive_stem(&PROGRAMS[0], self.host))
            .join(PROGRAMS[0].name);
        self.answers(&program)?;
        fs::write(&archive, flip_a_bit(self.bytes(&self.archive_name())?))?;
        let mut tar = Command::new("tar");
        let damaged = run(tar.arg("-xzf").arg(&archive).arg("-C").arg(&folder));
        ensure!(damaged.is_err(), "tar unpacked a damaged archive");
        Ok(Outcome::Works)
    }

    fn install_script(&self) -> Result<Outcome> {
        let home = self.folder("home of install.sh")?;
        let script = self.place.join("install.sh");
        fs::write(&script, self.bytes("install.sh")?)?;
        let (listener, address) = Loopback::bind()?;
        let name = self.archive_name();
        let archive = self.bytes(&name)?;
        let pages = [
            (format!("/good/{name}"), archive.to_vec()),
            (format!("/bad/{name}"), flip_a_bit(archive)),
        ];
        let server = Loopback::serve(listener, address, pages.into_iter().collect());
        let install = |from: &str, into: &Path| {
            let mut shell = Command::new("sh");
            shell.arg(&script).env("HOME", &home);
            shell.env("MEMORY_FORGE_INSTALL_DIR", into);
            shell.env(
                "MEMORY_FORGE_DOWNLOAD_URL",
                format!("{}/{from}", server.address()),
            );
            run(&mut shell)
        };
        let folder = home.join(".local/bin");
        install("good", &folder)?;
        self.answers(&folder.join(PROGRAMS[0].name))?;
        // A second time, over the first.
        install("good", &folder)?;

        let other = home.join("other");
        let refused = install("bad", &other);
        let error = format!(
            "{:?}",
            refused.err().context("a damaged archive was installed")?
        );
        ensure!(error.contains("nothing was installed"), "{error}");
        ensure!(!other.exists(), "something was installed");
        ensure!(
            install("absent", &other).is_err() && !other.exists(),
            "no archive"
        );
        Ok(Outcome::Works)
    }

    fn npm(&self) -> Result<Outcome> {
        if !is_here("npm") || !is_here("node") {
            return Ok(Outcome::Skipped("npm is not here".to_owned()));
        }
        let program = &PROGRAMS[0];
        let own = npm::package_name(program, self.host);
        let own_file = format!("{own}-{VERSION}.tgz");
        for is_damaged in [false, true] {
            let (listener, address) = Loopback::bind()?;
            let mut pages = BTreeMap::new();
            let mut publish = |manifest: Value, bytes: Option<&[u8]>| {
                let name = manifest["name"].as_str().unwrap_or_default().to_owned();
                let tarball = format!("/{name}/-/{name}-{VERSION}.tgz");
                let mut version = manifest;
                version["dist"] = json!({ "tarball": format!("{address}{tarball}") });
                if let Some(bytes) = bytes {
                    version["dist"]["integrity"] = json!(sha512_for_npm(bytes));
                    let served = if is_damaged && name == own {
                        flip_a_bit(bytes)
                    } else {
                        bytes.to_vec()
                    };
                    pages.insert(tarball, served);
                }
                let page = json!({
                    "name": name,
                    "dist-tags": { "latest": VERSION },
                    "versions": { VERSION: version },
                });
                pages.insert(format!("/{name}"), page.to_string().into_bytes());
            };
            let wrapper = self.bytes(&format!("{}-{VERSION}.tgz", program.name))?;
            publish(npm::wrapper_manifest(program), Some(wrapper));
            for target in &TARGETS {
                let bytes = self.bytes(&own_file).ok();
                let bytes = bytes.filter(|_| target == self.host);
                publish(npm::platform_manifest(program, target), bytes);
            }
            let server = Loopback::serve(listener, address.clone(), pages);
            let folder = self.folder(if is_damaged { "npm, damaged" } else { "npm" })?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
                .args(["--fetch-retries", "0", "--registry", server.address()])
                .arg("--cache")
                .arg(folder.join("cache"))
                .arg("--prefix")
                .arg(&folder)
                .arg(program.name)
                .env("HOME", &folder)
                .current_dir(&folder);
            let installed = run(&mut npm);
            let command = folder.join("node_modules/.bin").join(program.name);
            if is_damaged {
                // npm goes on without an optional package that it refuses.
                let answered = installed.is_ok() && self.answers(&command).is_ok();
                ensure!(!answered, "npm installed a damaged package");
            } else {
                installed?;
                self.answers(&command)?;
            }
        }
        Ok(Outcome::Works)
    }

    /// Returns a page of an index for wheels, and the wheels.
    fn python_index(&self, is_damaged: bool) -> Result<Loopback> {
        let (listener, address) = Loopback::bind()?;
        let start = format!("{}-{VERSION}-", PROGRAMS[0].name.replace('-', "_"));
        let mut pages = BTreeMap::new();
        let mut links = String::from("<!DOCTYPE html>\n");
        for (name, bytes) in self.files {
            if !name.starts_with(&start) || !name.ends_with(".whl") {
                continue;
            }
            links += &format!(
                "<a href=\"/wheels/{name}#sha256={}\">{name}</a>\n",
                sha256(bytes)
            );
            let served = if is_damaged {
                flip_a_bit(bytes)
            } else {
                bytes.clone()
            };
            pages.insert(format!("/wheels/{name}"), served);
        }
        let page = format!("/simple/{}/", PROGRAMS[0].name);
        pages.insert(page, links.into_bytes());
        Ok(Loopback::serve(listener, address, pages))
    }

    fn pip(&self) -> Result<Outcome> {
        if !is_here("python3") {
            return Ok(Outcome::Skipped("python3 is not here".to_owned()));
        }
        let folder = self.folder("pip")?;
        let mut venv = Command::new("python3");
        if let Err(error) = run(venv.args(["-m", "venv"]).arg(folder.join("venv"))) {
            return Ok(Outcome::Skipped(format!("python3 has no venv: {error:#}")));
        }
        for is_damaged in [true, false] {
            let server = self.python_index(is_damaged)?;
            let mut pip = Command::new(folder.join("venv/bin/pip"));
            pip.args(["install", "--isolated", "--no-cache-dir", "--retries", "0"])
                .args(["--disable-pip-version-check", "--index-url"])
                .arg(format!("{}/simple/", server.address()))
                .arg(PROGRAMS[0].name)
                .env("HOME", &folder);
            let installed = run(&mut pip);
            if is_damaged {
                ensure!(installed.is_err(), "pip installed a damaged wheel");
            } else {
                installed?;
            }
        }
        self.answers(&folder.join("venv/bin").join(PROGRAMS[0].name))?;
        Ok(Outcome::Works)
    }

    fn uvx(&self) -> Result<Outcome> {
        if !is_here("uvx") {
            return Ok(Outcome::Skipped("uvx is not here".to_owned()));
        }
        let folder = self.folder("uvx")?;
        let server = self.python_index(false)?;
        let memory = self.memory("memory of uvx")?;
        let mut uvx = Command::new("uvx");
        uvx.arg("--default-index")
            .arg(format!("{}/simple/", server.address()))
            .arg("--cache-dir")
            .arg(folder.join("cache"))
            .arg(PROGRAMS[0].name)
            .args(QUESTION)
            .env("HOME", &folder)
            .current_dir(memory);
        let output = run(&mut uvx)?;
        ensure!(output.contains(ANSWER), "{output}");
        Ok(Outcome::Works)
    }

    fn debian(&self) -> Result<Outcome> {
        if !is_here("dpkg-deb") || self.host.system != System::LinuxGnu {
            return Ok(Outcome::Skipped("dpkg-deb is not here".to_owned()));
        }
        let folder = self.folder("deb")?;
        let name = PROGRAMS[0].name;
        let file = format!("{name}_{VERSION}_{}.deb", self.host.debian());
        let package = folder.join(&file);
        fs::write(&package, self.bytes(&file)?)?;
        let root = folder.join("root");
        let unpack = || {
            let mut dpkg = Command::new("dpkg-deb");
            run(dpkg.arg("-x").arg(&package).arg(&root))
        };
        unpack()?;
        self.answers(&root.join("usr/bin").join(name))?;
        let mut dpkg = Command::new("dpkg-deb");
        let control = run(dpkg.arg("-f").arg(&package))?;
        for line in [format!("Package: {name}"), format!("Version: {VERSION}")] {
            ensure!(control.contains(&line), "{control}");
        }
        fs::write(&package, flip_a_bit(self.bytes(&file)?))?;
        ensure!(unpack().is_err(), "dpkg unpacked a damaged package");
        Ok(Outcome::Works)
    }

    /// Follows the hashes from the index to the layers, and starts the program
    /// of the layer for this processor.
    fn oci(&self) -> Result<Outcome> {
        let name = format!("{}-v{VERSION}-oci.tar", PROGRAMS[0].name);
        let Ok(image) = self.bytes(&name) else {
            let reason = "there is no static program in this release";
            return Ok(Outcome::Skipped(reason.to_owned()));
        };
        let folder = self.folder("oci")?;
        fs::write(folder.join(&name), image)?;
        let mut tar = Command::new("tar");
        run(tar
            .arg("-xf")
            .arg(folder.join(&name))
            .arg("-C")
            .arg(&folder))?;
        let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
        let mut layers = Vec::new();
        for manifest in index["manifests"].as_array().into_iter().flatten() {
            let bytes = blob(&folder, manifest)?;
            let described: Value = serde_json::from_slice(&bytes)?;
            blob(&folder, &described["config"])?;
            for layer in described["layers"].as_array().into_iter().flatten() {
                blob(&folder, layer)?;
                if manifest["platform"]["architecture"] == self.host.debian() {
                    layers.push(layer.clone());
                }
            }
        }
        let root = self.folder("oci/root")?;
        for layer in &layers {
            let mut tar = Command::new("tar");
            run(tar
                .arg("-xzf")
                .arg(blob_path(&folder, layer))
                .arg("-C")
                .arg(&root))?;
        }
        let Some(layer) = layers.first() else {
            return Ok(Outcome::Skipped(
                "the image is for another processor".to_owned(),
            ));
        };
        self.answers(&root.join("usr/local/bin").join(PROGRAMS[0].name))?;
        let damaged = flip_a_bit(&blob(&folder, layer)?);
        fs::write(blob_path(&folder, layer), damaged)?;
        ensure!(
            blob(&folder, layer).is_err(),
            "a damaged layer has the right hash"
        );
        Ok(Outcome::Works)
    }

    fn bundle(&self) -> Result<Outcome> {
        if !is_here("unzip") {
            return Ok(Outcome::Skipped("unzip is not here".to_owned()));
        }
        let folder = self.folder("bundle")?;
        let (_, _, flavour) = self.host.npm();
        let is_ours = |name: &str| {
            let stem = name.strip_suffix(".mcpb").unwrap_or_default();
            name.ends_with(".mcpb") && stem.ends_with("musl") == (flavour == "-musl")
        };
        let processor = self.host.rust.split('-').next().unwrap_or_default();
        let found = self.files.iter().find(|(name, _)| {
            is_ours(name) && name.contains(processor) && name.contains(self.host.npm().0)
        });
        let (_, bytes) = found.context("there is no bundle for this machine")?;
        let file = folder.join("bundle.mcpb");
        let unzip = |bytes: &[u8]| {
            fs::write(&file, bytes)?;
            let mut unzip = Command::new("unzip");
            run(unzip.arg("-oq").arg(&file).arg("-d").arg(&folder))
        };
        unzip(bytes)?;
        let manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json"))?)?;
        let entry = manifest["server"]["entry_point"].as_str();
        self.answers(&folder.join(entry.context("no entry point")?))?;
        ensure!(
            unzip(&flip_a_bit(bytes)).is_err(),
            "unzip took a damaged bundle"
        );
        Ok(Outcome::Works)
    }

    /// Ruby reads the formula, if it is here; the checksum is the archive's.
    fn homebrew(&self) -> Result<Outcome> {
        let formula = self.bytes(&format!("{}.rb", PROGRAMS[0].name))?;
        let text = String::from_utf8(formula.to_vec())?;
        if self.host.homebrew().is_some() {
            let sum = sha256(self.bytes(&self.archive_name())?);
            ensure!(text.contains(&sum), "another checksum than the archive's");
        }
        if !is_here("ruby") {
            return Ok(Outcome::Skipped("ruby is not here".to_owned()));
        }
        let file = self.place.join("formula.rb");
        fs::write(&file, formula)?;
        run(Command::new("ruby").arg("-c").arg(&file))?;
        Ok(Outcome::Works)
    }

    /// The crate's description leads cargo-binstall to the archive, and inside
    /// of it to the program.
    fn binstall(&self) -> Result<Outcome> {
        let manifest = self.release.read("crates/memory-forge/Cargo.toml")?;
        let manifest: toml::Table = String::from_utf8(manifest)?.parse()?;
        for target in &TARGETS {
            let url = binstall_text(&manifest, target, "pkg-url")?;
            let expect = format!(
                "{}/{}",
                table::download_folder(),
                table::archive_name(&PROGRAMS[0], target)
            );
            ensure!(url == expect, "`{url}` instead of `{expect}`");
            let program = binstall_text(&manifest, target, "bin-dir")?;
            let expect = format!(
                "{}/{}{}",
                table::archive_stem(&PROGRAMS[0], target),
                PROGRAMS[0].name,
                target.exe_suffix()
            );
            ensure!(program == expect, "`{program}` instead of `{expect}`");
        }
        Ok(Outcome::Works)
    }

    /// Makes a folder with a document.
    fn memory(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder(name)?;
        fs::create_dir_all(folder.join("knowledge"))?;
        fs::write(
            folder.join("knowledge/tides.md"),
            "# Tides\n\nHigh water at noon.\n",
        )?;
        Ok(folder)
    }

    /// Asks an installed program a question about a folder with one document.
    fn answers(&self, program: &Path) -> Result<()> {
        let folder = self.memory("memory")?;
        let mut command = Command::new(program);
        command
            .args(QUESTION)
            .env("HOME", &folder)
            .current_dir(&folder);
        let output = run(&mut command)?;
        ensure!(output.contains(ANSWER), "the program answered `{output}`");
        Ok(())
    }
}

const QUESTION: [&str; 4] = ["search", "noon", "--mode", "text"];
const ANSWER: &str = "knowledge/tides.md";

/// Reads a file of an image by its description, and compares its hash.
fn blob(folder: &Path, described: &Value) -> Result<Vec<u8>> {
    let bytes = fs::read(blob_path(folder, described)).context("a file of the image is missing")?;
    let digest = format!("sha256:{}", sha256(&bytes));
    ensure!(
        described["digest"] == digest.as_str(),
        "another hash than described"
    );
    ensure!(
        described["size"] == bytes.len(),
        "another size than described"
    );
    Ok(bytes)
}

fn blob_path(folder: &Path, described: &Value) -> PathBuf {
    let digest = described["digest"].as_str().unwrap_or_default();
    folder.join("blobs").join(digest.replace(':', "/"))
}

/// Returns a template of cargo-binstall for a target, filled in.
fn binstall_text(manifest: &toml::Table, target: &Target, key: &str) -> Result<String> {
    let package = manifest.get("package").context("no package")?;
    let table = package["metadata"].get("binstall").context("no binstall")?;
    let own = table.get("overrides").and_then(|all| all.get(target.rust));
    let text = own.and_then(|own| own.get(key)).or_else(|| table.get(key));
    let text = text.and_then(toml::Value::as_str).context("no text")?;
    Ok(text
        .replace("{ repo }", table::HOMEPAGE)
        .replace("{ name }", PROGRAMS[0].name)
        .replace("{ bin }", PROGRAMS[0].name)
        .replace("{ version }", VERSION)
        .replace("{ target }", target.rust)
        .replace("{ binary-ext }", target.exe_suffix()))
}

/// Returns the bytes with one bit changed, in the middle.
fn flip_a_bit(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    bytes
}

fn is_here(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // `unzip` knows no `--version` and ends with an error.
    found.is_ok()
}

/// Runs a program in an empty environment, and returns what it printed.
fn run(command: &mut Command) -> Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    let output = command
        .env_clear()
        .env("PATH", path)
        .envs(own)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("Cannot run {:?}", command.get_program()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("{:?} failed:\n{text}{errors}", command.get_program());
    }
    Ok(text)
}

/// Prints the outcomes, a line each.
pub fn print_outcomes(
    out: &mut impl Write,
    outcomes: &[(&'static str, Outcome)],
) -> std::io::Result<()> {
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Works => writeln!(out, "{name}: works")?,
            Outcome::Skipped(why) => writeln!(out, "{name}: skipped: {why}")?,
        }
    }
    Ok(())
}
