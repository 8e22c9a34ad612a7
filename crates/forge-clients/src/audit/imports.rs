//! `@path` in an instruction file: what it brings in, how deep, and where it
//! leads nowhere. It follows paths and never judges what they hold.

use std::collections::HashSet;
use std::rc::Rc;

use super::loads::{Load, Loads};
use super::source::{Place, Reader, Source};
use super::{Finding, Kind, Level, Origin};
use crate::document::{Link, LinkKind};

/// Makes the load of an instruction file.
type Taking = fn(&Rc<Source>, Origin, &str) -> Load;

/// Takes instruction files with all that they import, each file once.
pub(super) struct Importer<'a> {
    reader: &'a Reader<'a>,
    take: Taking,
    most_hops: usize,
    taken: HashSet<Place>,
    imported: HashSet<Place>,
    out: Loads,
}

impl<'a> Importer<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, take: Taking, most_hops: usize) -> Importer<'a> {
        Importer {
            reader,
            take,
            most_hops,
            taken: HashSet::new(),
            imported: HashSet::new(),
            out: Loads::default(),
        }
    }

    /// Takes a file and what it imports. A file that was taken is not taken
    /// again, whichever way leads to it.
    pub(super) fn file(&mut self, source: &Rc<Source>, why: &str) {
        if self.taken.insert(source.place.clone()) {
            let load = (self.take)(source, self.reader.origin(&source.place), why);
            self.out.loads.push(load);
            self.follow(source, &mut vec![source.place.clone()]);
        }
    }

    /// Takes a file in which `@path` means nothing.
    pub(super) fn file_alone(&mut self, source: &Rc<Source>, why: &str) {
        if self.taken.insert(source.place.clone()) {
            let load = (self.take)(source, self.reader.origin(&source.place), why);
            self.out.loads.push(load);
        }
    }

    pub(super) fn has(&self, place: &Place) -> bool {
        self.taken.contains(place)
    }

    /// Whether some file that was taken imports this one.
    pub(super) fn imported(&self, place: &Place) -> bool {
        self.imported.contains(place)
    }

    pub(super) fn finish(self) -> Loads {
        self.out
    }

    /// `trail` leads from the first file to this one.
    fn follow(&mut self, source: &Rc<Source>, trail: &mut Vec<Place>) {
        for link in &source.document.links {
            if link.kind != LinkKind::Import {
                continue;
            }
            let line = source.document.line_of(link.span.start);
            let say = |level, what: String, advice: &str| {
                let message = format!("{}:{line}: {what}", source.shown);
                let finding = Finding::new(level, Kind::Import, &source.shown, message);
                finding.line(line).advice(advice)
            };
            let Some(place) = self.reader.resolve(&source.place, &link.target) else {
                continue;
            };
            if is_binary(&link.target) {
                continue;
            }
            if let Some(mark) = mark_behind(source, link) {
                if self.reader.read(&place).is_some() {
                    let what = format!(
                        "`@{}` is not loaded, because the `{mark}` behind it counts as part of it",
                        link.target
                    );
                    let advice = "Put a space behind the path, or backticks around it if it is \
                                  no import";
                    self.out.findings.push(say(Level::Warning, what, advice));
                }
                continue;
            }
            self.imported.insert(place.clone());
            if trail.contains(&place) {
                if trail.last() != Some(&place) {
                    self.out.findings.push(say(
                        Level::Notice,
                        format!("import of `{}` goes round in a circle", link.target),
                        "It is loaded once; remove one of the two imports",
                    ));
                }
                continue;
            }
            if self.taken.contains(&place) {
                continue;
            }
            let Some(found) = self.reader.read(&place) else {
                if names_a_text(&link.target) {
                    self.out.findings.push(say(
                        Level::Warning,
                        format!("imports `{}`, which is not there", link.target),
                        "Correct the path, or put it in backticks if it is no import",
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
                self.out.findings.push(say(Level::Warning, what, advice));
                continue;
            }
            self.taken.insert(place.clone());
            let why = format!("imported by {}", source.shown);
            let origin = self.reader.origin(&place);
            self.out.loads.push((self.take)(&found, origin, &why));
            trail.push(place);
            self.follow(&found, trail);
            trail.pop();
        }
    }
}

/// A mark that ends a clause and touches the path. Clients read up to the next
/// space and then find no such file.
fn mark_behind(source: &Source, link: &Link) -> Option<char> {
    let next = source.text()[link.span.end..].chars().next()?;
    let marks = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '…'];
    marks.contains(&next).then_some(next)
}

/// Whether a missing target was surely meant as a file: `@types/node` and
/// `@/components` are not, `@docs/guide.md` is.
fn names_a_text(target: &str) -> bool {
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
