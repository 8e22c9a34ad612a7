//! Whether links lead somewhere: files that are there, and headings in them.
//! Nothing is fetched; addresses on the web are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use forge_app::document::{self, LinkKind};

use super::files_below;

/// The pages at the root that people read on the web as well.
const AT_THE_ROOT: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "STYLE.md",
    "SECURITY.md",
    "CHANGELOG.md",
];

/// `path:line: what is wrong` for each link of the documentation that leads
/// nowhere.
pub(crate) fn broken(repository: &Path) -> Vec<String> {
    let mut pages: Vec<PathBuf> = AT_THE_ROOT.iter().map(|it| repository.join(it)).collect();
    let docs = files_below(&repository.join("docs")).unwrap_or_default();
    pages.extend(
        docs.into_iter()
            .filter(|it| it.extension().is_some_and(|it| it == "md")),
    );
    let mut anchors = BTreeMap::new();
    let mut broken = Vec::new();
    for page in &pages {
        let shown = page.strip_prefix(repository).unwrap_or(page).display();
        let Ok(text) = fs::read_to_string(page) else {
            broken.push(format!("{shown}: cannot be read"));
            continue;
        };
        let parsed = document::parse_document(text.as_str());
        for link in &parsed.links {
            let local = matches!(
                link.kind,
                LinkKind::Inline | LinkKind::Image | LinkKind::Reference
            ) && !link.target.contains("://")
                && !link.target.starts_with("mailto:");
            if !local {
                continue;
            }
            let line = 1 + text[..link.span.start].matches('\n').count();
            let to = if link.target.is_empty() {
                page.clone()
            } else {
                joined(page.parent().unwrap_or(repository), &link.target)
            };
            if !to.exists() {
                broken.push(format!("{shown}:{line}: there is no `{}`", link.target));
                continue;
            }
            let Some(fragment) = &link.fragment else {
                continue;
            };
            let known: &BTreeSet<String> = anchors.entry(to.clone()).or_insert_with(|| {
                let text = fs::read_to_string(&to).unwrap_or_default();
                anchors_of(&text)
            });
            if !known.contains(fragment) {
                broken.push(format!(
                    "{shown}:{line}: `{}` has no heading `#{fragment}`",
                    link.target
                ));
            }
        }
    }
    broken
}

/// The anchors of a page: its headings in small letters, with dashes for
/// spaces, and a number behind those that are there already.
fn anchors_of(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for section in document::parse_document(text)
        .sections
        .iter()
        .filter(|it| it.level > 0)
    {
        let slug: String = section
            .title
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                c if c.is_whitespace() => Some('-'),
                _ => None,
            })
            .collect();
        let before = seen.entry(slug.clone()).or_default();
        anchors.insert(match *before {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *before += 1;
    }
    anchors
}

/// A path without `.` and `..`.
fn joined(folder: &Path, target: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// The page with links that leave `docs/` leading to the sources instead, and
/// those to a README to the index that it becomes.
/// `page` is its path there.
pub(crate) fn leaving(text: &str, page: &Path, sources: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    let folder = Path::new("/docs").join(page.parent().unwrap_or(Path::new("")));
    for link in &document::parse_document(text).links {
        if link.kind != LinkKind::Inline || link.target.contains("://") {
            continue;
        }
        let to = joined(&folder, &link.target);
        let instead = match to.starts_with("/docs") {
            false if link.target.starts_with("..") => format!("{sources}{}", to.display()),
            true if to.ends_with("README.md") => link.target.replace("README.md", "index.md"),
            _ => continue,
        };
        let written = format!("]({}", link.target);
        let Some(found) = text[link.span.clone()].find(&written) else {
            continue;
        };
        let start = link.span.start + found + 2;
        out += &text[at..start];
        out += &instead;
        at = start + link.target.len();
    }
    out + &text[at..]
}

/// The same for a site that was built.
pub(crate) fn broken_in_site(site: &Path) -> Result<Vec<String>> {
    let pages: Vec<PathBuf> = files_below(site)?
        .into_iter()
        // One page with all others in it, and one for what is not there.
        .filter(|it| !it.ends_with("print.html") && !it.ends_with("404.html"))
        .filter(|it| it.extension().is_some_and(|it| it == "html"))
        .collect();
    let mut ids: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for page in &pages {
        let text = fs::read_to_string(page)?;
        ids.insert(page.clone(), values(&text, " id=\"").collect());
    }
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page)?;
        let shown = page.strip_prefix(site)?.display();
        for link in values(&text, " href=\"").chain(values(&text, " src=\"")) {
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            let (target, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let to = match target {
                "" => page.clone(),
                target => joined(page.parent().unwrap_or(site), target),
            };
            let known = ids.get(&to);
            let no_heading = !fragment.is_empty() && known.is_some_and(|it| !it.contains(fragment));
            if !to.exists() || no_heading {
                broken.push(format!("{shown}: {link}"));
            }
        }
    }
    broken.sort();
    broken.dedup();
    Ok(broken)
}

/// The values of an attribute in HTML that a program wrote.
fn values<'a>(html: &'a str, attribute: &'a str) -> impl Iterator<Item = String> + 'a {
    let rest = html.split(attribute).skip(1);
    rest.filter_map(|it| it.split('"').next())
        .map(|it| it.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_of_the_documentation_leads_somewhere() {
        let broken = broken(crate::repository());
        assert!(broken.is_empty(), "\n  {}\n", broken.join("\n  "));
    }

    #[test]
    fn the_summary_leads_to_the_pages() {
        let docs = crate::repository().join("docs");
        let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("it is there");
        let links = document::parse_document(summary.as_str()).links.len();
        assert!(links > 20, "{links} pages");
    }

    #[test]
    fn what_leads_nowhere_is_found() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("docs")).expect("it is new");
        for page in AT_THE_ROOT {
            fs::write(at(page), "# Page\n").expect("it can be written");
        }
        let page = "# A b\n\n## A b\n\n[x](#a-b-1) [x](../README.md#page)\n[x](none.md) [x](../README.md#no)\n";
        fs::write(at("docs/a.md"), page).expect("it can be written");
        assert_eq!(
            broken(folder.path()),
            [
                "docs/a.md:6: there is no `none.md`",
                "docs/a.md:6: `../README.md` has no heading `#no`"
            ]
        );
    }

    #[test]
    fn links_out_of_the_book_lead_to_the_sources() {
        let page = "[a](../../spec/links.md#x) [b](../README.md) [c](https://x.org/../y)\n";
        assert_eq!(
            leaving(page, Path::new("reference/files.md"), "https://s"),
            "[a](https://s/spec/links.md#x) [b](../index.md) [c](https://x.org/../y)\n"
        );
    }

    #[test]
    fn a_site_is_checked_by_its_own_pages() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("it can be written");
        };
        write(
            "a.html",
            r##"<a href="b.html#there"></a><a href="b.html#no"></a><a href="c.html"></a>"##,
        );
        write("b.html", r#"<h1 id="there"></h1>"#);
        let broken = broken_in_site(folder.path()).expect("it can be read");
        assert_eq!(broken, ["a.html: b.html#no", "a.html: c.html"]);
    }
}
