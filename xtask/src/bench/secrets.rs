//! `bench secrets`: how many formats of secrets are taken out of Markdown, and
//! how often something is taken out that is none.

mod formats;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use forge_app::secrets;

use formats::{PLACED, TOKENS};

/// Samples of each format in each surrounding.
const SAMPLES: usize = 20;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// The share of formats that must be caught.
const LEAST_CAUGHT: f64 = 0.95;
/// How many redactions of documentation may be wrong, per megabyte.
const MAX_FALSE: f64 = 0.2;

/// What a token may stand in.
const AROUND_TOKENS: [&str; 6] = [
    "Use @ for the staging host.\n",
    "- deploy key: `@`\n",
    "| name | value |\n|---|---|\n| staging | @ |\n",
    "```sh\nexport DEPLOY=\"@\"\n```\n",
    "> It was (@), until May.\n",
    "See\n\n    @\n\nfor it.\n",
];

/// What a line with a name and a value may stand in.
const AROUND_PLACED: [&str; 3] = [
    "# Notes\n\n@\n\nMore.\n",
    "Before:\n\n```\n@\n```\n",
    "## Access\n\nSome words first.\n\n@\n",
];

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let show = match rest {
        [] => false,
        ["--show"] => true,
        _ => bail!("usage: bench secrets [--show]"),
    };
    let share = caught(show)?;
    let wrong = redacted_documentation(show)?;
    ensure!(share >= LEAST_CAUGHT, "too few formats are caught");
    ensure!(
        wrong.is_none_or(|it| it <= MAX_FALSE),
        "too much of the documentation is redacted"
    );
    Ok(())
}

/// Prints how many formats are caught and gives their share. A format counts
/// where 19 of 20 of its samples do.
fn caught(show: bool) -> Result<f64> {
    let mut chance = Chance(SEED);
    let (mut formats, mut samples, mut taken) = (0, 0, 0);
    let tokens = TOKENS.iter().map(|it| (it, &AROUND_TOKENS[..]));
    let placed = PLACED.iter().map(|it| (it, &AROUND_PLACED[..]));
    for (&(name, form), around) in tokens.chain(placed) {
        let mut missed: Vec<String> = Vec::new();
        let all = SAMPLES * around.len();
        for around in around {
            for _ in 0..SAMPLES {
                let (text, secret) = sample(form, &mut chance)?;
                let text = around.replace('@', &text);
                if is_there(&secrets::redact_secrets(&text), &secret) {
                    missed.push(text);
                }
            }
        }
        samples += all;
        taken += all - missed.len();
        if missed.len() * 20 <= all {
            formats += 1
        } else {
            println!("  missed: {name} ({} of {all} samples)", missed.len())
        }
        if show && let Some(text) = missed.first() {
            println!("{text}");
        }
    }
    let all = TOKENS.len() + PLACED.len();
    println!(
        "formats caught   {formats} of {all} ({:.1} %)",
        100.0 * formats as f64 / all as f64
    );
    println!(
        "samples caught   {taken} of {samples} ({:.1} %)",
        100.0 * taken as f64 / samples as f64
    );
    Ok(formats as f64 / all as f64)
}

/// Whether a telling part of the secret is still there.
fn is_there(text: &str, secret: &str) -> bool {
    let lines = secret.split("\\n").flat_map(str::lines);
    let mut parts = lines.filter(|line| !line.contains("-----") && line.len() >= 6);
    parts.any(|line| {
        let chars: Vec<char> = line.chars().collect();
        let from = chars.len() / 4;
        let middle: String = chars[from..(from + 12).min(chars.len())].iter().collect();
        text.contains(&middle)
    })
}

/// A text of a format, and the secret in it.
fn sample(form: &str, chance: &mut Chance) -> Result<(String, String)> {
    let mut text = String::new();
    let mut rest = form;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        let inside = &rest[at + 1..];
        let close = inside.find('}');
        let class = close.map(|close| &inside[..close]).unwrap_or_default();
        match made(class, chance) {
            Some(made) => {
                text.push_str(&made);
                rest = &inside[class.len() + 1..];
            }
            None => {
                text.push('{');
                rest = inside;
            }
        }
    }
    text.push_str(rest);
    let (before, rest) = text.split_once('«').context("a format without a secret")?;
    let (secret, after) = rest.split_once('»').context("a secret without an end")?;
    Ok((format!("{before}{secret}{after}"), secret.to_owned()))
}

fn made(class: &str, chance: &mut Chance) -> Option<String> {
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const DIGITS: &str = "0123456789";
    if class == "uuid" {
        let parts = ["h8", "h4", "h4", "h4", "h12"].map(|part| made(part, chance));
        let parts: Option<Vec<String>> = parts.into_iter().collect();
        return parts.map(|it| it.join("-"));
    }
    for (mark, word) in [("B ", "BEGIN"), ("E ", "END")] {
        if let Some(kind) = class.strip_prefix(mark) {
            return Some(format!(
                "-----{word} {}-----",
                kind.replace("KEY", "PRIVATE KEY")
            ));
        }
    }
    let count: usize = class.get(1..)?.parse().ok()?;
    let alphabet = match class.as_bytes().first()? {
        b'd' => DIGITS.to_owned(),
        b'h' => format!("{DIGITS}abcdef"),
        b'l' => format!("{LOWER}{DIGITS}"),
        b'u' => format!("{UPPER}{DIGITS}"),
        b'w' => format!("{LOWER}{UPPER}{DIGITS}"),
        b't' => format!("{LOWER}{UPPER}{DIGITS}_-"),
        // Without the four that look alike.
        b'c' => format!("{LOWER}{UPPER}{DIGITS}").replace(['0', 'O', 'I', 'l'], ""),
        b'b' => format!("{LOWER}{UPPER}{DIGITS}+/"),
        b'p' => format!("{LOWER}{UPPER}{DIGITS}!$%^+#"),
        _ => return None,
    };
    let letters: Vec<char> = alphabet.chars().collect();
    let mut text: String = (0..count)
        .map(|_| letters[chance.below(letters.len())])
        .collect();
    // A password has some of each, and begins and ends with a letter.
    if class.starts_with('p') {
        text.replace_range(0..1, "k");
        text.replace_range(2..5, "Q7!");
        text.replace_range(count - 1..count, "w");
    }
    Some(text)
}

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }
}

/// Prints what is taken out of documentation that others wrote for everyone,
/// and gives how often that is per megabyte.
fn redacted_documentation(show: bool) -> Result<Option<f64>> {
    let folder = super::data_folder().map(|it| it.join("md"));
    let Some(folder) = folder.filter(|it| it.is_dir()) else {
        println!("false redactions skipped: the trees of Markdown are not here");
        return Ok(None);
    };
    let mut archives: Vec<_> = std::fs::read_dir(&folder)?
        .flatten()
        .map(|it| it.path())
        .collect();
    archives.retain(|it| it.to_string_lossy().ends_with(".tar.gz"));
    archives.sort();
    let (mut bytes, mut wrong) = (0, 0);
    let mut by_rule: BTreeMap<&str, usize> = BTreeMap::new();
    for archive in &archives {
        let mut tar = tar::Archive::new(GzDecoder::new(File::open(archive)?));
        let (mut here, mut found) = (0, 0);
        for entry in tar.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            if path.extension().is_none_or(|it| it != "md") {
                continue;
            }
            let mut text = String::new();
            if entry.read_to_string(&mut text).is_err() {
                continue;
            }
            here += text.len();
            for secret in secrets::find_secrets(&text) {
                found += 1;
                *by_rule.entry(secret.rule).or_default() += 1;
                if show {
                    let from = text.floor_char_boundary(secret.span.start.saturating_sub(60));
                    let to =
                        text.floor_char_boundary(secret.span.end.min(secret.span.start + 80) + 10);
                    println!(
                        "  {}: {}: {:?}",
                        secret.rule,
                        path.display(),
                        &text[from..to]
                    );
                }
            }
        }
        let name = archive.file_name().unwrap_or_default().to_string_lossy();
        println!("  {name:<28} {found:>4} in {:6.1} MB", here as f64 / 1e6);
        bytes += here;
        wrong += found;
    }
    ensure!(bytes > 0, "no Markdown in {}", folder.display());
    let rate = wrong as f64 / (bytes as f64 / 1e6);
    for (rule, count) in by_rule {
        println!("  {rule:<28} {count:>4}");
    }
    println!(
        "false redactions {wrong} in {:.1} MB ({rate:.2} per MB)",
        bytes as f64 / 1e6
    );
    Ok(Some(rate))
}
