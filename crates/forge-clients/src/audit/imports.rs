//! Follows `@path` in an instruction file: what it brings in, how deep, and
//! which targets are missing. It follows paths and never judges what they hold.

use std::collections::HashSet;
use std::rc::Rc;

use super::loads::{ClientLoads, FileLoad};
use super::source::{AuditSource, SourcePlace, SourceReader};
use super::{AuditFinding, AuditFindingKind, AuditLevel, FileOrigin};
use crate::document::{DocumentLink, LinkKind};

/// Constructor of the load of an instruction file.
type LoadBuilder = fn(&Rc<AuditSource>, FileOrigin, &str) -> FileLoad;

/// Collector of instruction files with all that they import, each file once.
pub(super) struct InstructionImporter<'a> {
    reader: &'a SourceReader<'a>,
    take: LoadBuilder,
    most_hops: usize,
    /// Whether Copilot CLI's rules apply: `@docs/a.md,` names `docs/a.md`, and
    /// files from outside the project are not imported.
    as_copilot: bool,
    taken: HashSet<SourcePlace>,
    imported: HashSet<SourcePlace>,
    out: ClientLoads,
}

impl<'a> InstructionImporter<'a> {
    pub(super) fn new(
        reader: &'a SourceReader<'a>,
        take: LoadBuilder,
        most_hops: usize,
    ) -> InstructionImporter<'a> {
        InstructionImporter {
            reader,
            take,
            most_hops,
            as_copilot: false,
            taken: HashSet::new(),
            imported: HashSet::new(),
            out: ClientLoads::default(),
        }
    }

    /// Returns the collector with the rules of Copilot CLI.
    pub(super) fn with_copilot_rules(mut self) -> InstructionImporter<'a> {
        self.as_copilot = true;
        self
    }

    /// Adds a file and what it imports. A file that was added before is not
    /// added again, whichever import leads to it.
    pub(super) fn add_file(&mut self, source: &Rc<AuditSource>, why: &str) {
        if self.taken.insert(source.place.clone()) {
            let load = (self.take)(source, self.reader.origin_of(&source.place), why);
            self.out.loads.push(load);
            self.follow_imports(source, &mut vec![source.place.clone()]);
        }
    }

    /// Adds a file in which `@path` means nothing.
    pub(super) fn add_file_alone(&mut self, source: &Rc<AuditSource>, why: &str) {
        if self.taken.insert(source.place.clone()) {
            let load = (self.take)(source, self.reader.origin_of(&source.place), why);
            self.out.loads.push(load);
        }
    }

    /// Returns `true` if the file was added.
    pub(super) fn has_taken(&self, place: &SourcePlace) -> bool {
        self.taken.contains(place)
    }

    /// Returns `true` if some added file imports this one.
    pub(super) fn is_imported(&self, place: &SourcePlace) -> bool {
        self.imported.contains(place)
    }

    pub(super) fn finish(self) -> ClientLoads {
        self.out
    }

    /// Adds the imports of a file. `trail` leads from the first file to this
    /// one.
    fn follow_imports(&mut self, source: &Rc<AuditSource>, trail: &mut Vec<SourcePlace>) {
        for link in &source.document.links {
            if link.kind != LinkKind::Import {
                continue;
            }
            let line = source.document.line_number_at(link.span.start);
            let say = |level, what: String, advice: &str| {
                let message = format!("{}:{line}: {what}", source.shown);
                let finding =
                    AuditFinding::new(level, AuditFindingKind::Import, &source.shown, message);
                finding.at_line(line).with_advice(advice)
            };
            let Some(place) = self.reader.resolve_target(&source.place, &link.target) else {
                continue;
            };
            let from_home = matches!(&source.place, SourcePlace::Beyond(_));
            if self.as_copilot
                && (link.target.starts_with(['/', '~'])
                    || (!from_home && matches!(&place, SourcePlace::Beyond(_))))
            {
                continue;
            }
            // Images and archives are not read as instructions.
            if is_binary(&link.target) {
                continue;
            }
            let mark = punctuation_after(source, link).filter(|_| !self.as_copilot);
            if let Some(mark) = mark {
                if self.reader.read_source(&place).is_some() {
                    let what = format!(
                        "`@{}` is not loaded, because the `{mark}` behind it counts as part of it",
                        link.target
                    );
                    let advice = "Put a space after the path, or backticks around it if it is \
                                  not an import";
                    self.out
                        .findings
                        .push(say(AuditLevel::Warning, what, advice));
                }
                continue;
            }
            self.imported.insert(place.clone());
            if trail.contains(&place) {
                // A file that names itself is no circle worth a finding.
                if trail.last() != Some(&place) {
                    self.out.findings.push(say(
                        AuditLevel::Notice,
                        format!("import of `{}` is circular", link.target),
                        "It is loaded once; remove one of the two imports",
                    ));
                }
                continue;
            }
            // Loaded by another path already; clients read each file once.
            if self.taken.contains(&place) {
                continue;
            }
            let Some(found) = self.reader.read_source(&place) else {
                if is_text_target(&link.target) {
                    self.out.findings.push(say(
                        AuditLevel::Warning,
                        format!("imports `{}`, which is not there", link.target),
                        "Correct the path, or put it in backticks if it is not an import",
                    ));
                }
                continue;
            };
            if trail.len() > self.most_hops {
                let what = format!(
                    "import of `{}` is more than {} hops deep and is not loaded",
                    link.target, self.most_hops
                );
                let advice = "Import it from a file nearer to the start";
                self.out
                    .findings
                    .push(say(AuditLevel::Warning, what, advice));
                continue;
            }
            self.taken.insert(place.clone());
            let why = format!("imported by {}", source.shown);
            let origin = self.reader.origin_of(&place);
            self.out.loads.push((self.take)(&found, origin, &why));
            trail.push(place);
            self.follow_imports(&found, trail);
            trail.pop();
        }
    }
}

/// Returns a punctuation mark that touches the end of the path. Clients read up
/// to the next space and then find no such file.
fn punctuation_after(source: &AuditSource, link: &DocumentLink) -> Option<char> {
    let next = source.text()[link.span.end..].chars().next()?;
    let marks = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '…'];
    marks.contains(&next).then_some(next)
}

/// Returns `true` if a missing target was surely meant as a file:
/// `@docs/guide.md` is, `@types/node` and `@/components` are not.
fn is_text_target(target: &str) -> bool {
    let extension = target.rsplit_once('.').map_or("", |(_, e)| e);
    matches!(extension, "md" | "mdc" | "markdown" | "txt")
}

fn is_binary(target: &str) -> bool {
    let extension = target.rsplit_once('.').map_or("", |(_, e)| e);
    matches!(
        extension.to_ascii_lowercase().as_str(),
        "png"
            | "jpg"
            | "jpeg"
            | "gif"
            | "webp"
            | "ico"
            | "pdf"
            | "zip"
            | "gz"
            | "woff"
            | "woff2"
            | "ttf"
            | "mp4"
            | "mp3"
            | "wasm"
            | "exe"
            | "so"
            | "dylib"
            | "bin"
            | "sqlite"
            | "db"
    )
}
