//! Serves files of the memory as resources with `memory-forge://` addresses.
//! Only files with a role in it can be read: never those that agents load, nor
//! derived ones, nor anything outside.

use forge_app::documents;
use forge_app::quote;
use forge_app::workspace::{RelPath, Workspace};
use rmcp::ErrorData;
use rmcp::model::{
    CompletionInfo, ListResourcesResult, MetaObject, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::reply::{ReplyBudget, fit_lines, one_line};

const URI_SCHEME: &str = "memory-forge://";
/// Upper bound for resources on one page of the list.
const PAGE_RESOURCES: usize = 100;
/// Upper bound for the bytes of a file that are shown.
const MAX_RESOURCE_BYTES: usize = 100_000;
const MARKDOWN_TYPE: &str = "text/markdown";
/// Prefix of a cursor of ours.
const CURSOR_PREFIX: &str = "after:";

/// Files with an address of their own.
const SINGLE_FILES: [(&str, &str, &str); 2] = [
    ("manifest", "_MANIFEST.md", "The map of the workspace"),
    ("memory", "MEMORY.md", "The index of what is remembered"),
];

/// Folders whose files are addressed by their path below them.
const RESOURCE_FOLDERS: [(&str, &str, &str); 2] = [
    ("knowledge", "knowledge", "A document of knowledge/"),
    (
        "agents",
        ".agents/memory",
        "What an agent remembered for itself",
    ),
];

pub(super) fn list_templates() -> Vec<ResourceTemplate> {
    let folders = RESOURCE_FOLDERS.map(|(name, _, about)| {
        ResourceTemplate::new(format!("{URI_SCHEME}{name}/{{+path}}"), name)
            .with_description(about)
            .with_mime_type(MARKDOWN_TYPE)
    });
    let state = ResourceTemplate::new(format!("{URI_SCHEME}state/{{file}}"), "state")
        .with_description("Where the work stands, by the file's name")
        .with_mime_type(MARKDOWN_TYPE);
    folders.into_iter().chain([state]).collect()
}

/// Returns every existing resource, in a stable order.
pub(super) fn list_resources(workspace: &Workspace) -> Vec<Resource> {
    let mut all = Vec::new();
    let there = |path: &RelPath| workspace.absolute_path(path).metadata().ok();
    let resource = |uri: String, path: &RelPath, size: u64| {
        Resource::new(uri, one_line(path.as_str()))
            .with_mime_type(MARKDOWN_TYPE)
            .with_size(size)
    };
    for (name, file, about) in SINGLE_FILES {
        let path = constant_path(file);
        if let Some(found) = there(&path).filter(std::fs::Metadata::is_file) {
            let uri = format!("{URI_SCHEME}{name}");
            all.push(resource(uri, &path, found.len()).with_description(about));
        }
    }
    for path in documents::list_state_files(workspace) {
        if let Some(found) = there(&path).filter(std::fs::Metadata::is_file) {
            let uri = format!("{URI_SCHEME}state/{}", encode_path(path.file_name()));
            all.push(resource(uri, &path, found.len()));
        }
    }
    for found in documents::list_readable_files(workspace, &|path| uri_of(path).is_some()) {
        if let Some(uri) = uri_of(&found.path) {
            all.push(resource(uri, &found.path, found.size));
        }
    }
    all.sort_by(|a, b| sort_key(&a.uri).cmp(&sort_key(&b.uri)));
    all
}

/// Returns the sort key of an address: kinds with few files come first.
fn sort_key(uri: &str) -> (bool, &str) {
    let folder = |(name, _, _): &(&str, &str, &str)| {
        let rest = uri.strip_prefix(URI_SCHEME).unwrap_or(uri);
        rest.strip_prefix(name)
            .is_some_and(|it| it.starts_with('/'))
    };
    (RESOURCE_FOLDERS.iter().any(folder), uri)
}

/// Returns one page of the list, and the cursor of the next.
pub(super) fn page_of_list(
    all: Vec<Resource>,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            let last = cursor
                .strip_prefix(CURSOR_PREFIX)
                .ok_or_else(|| ErrorData::invalid_params("Unknown cursor", None))?;
            // A file that disappeared since the last page is no reason to begin
            // again.
            all.partition_point(|resource| sort_key(&resource.uri) <= sort_key(last))
        }
    };
    let more = all.len() > start + PAGE_RESOURCES;
    let items: Vec<Resource> = all.into_iter().skip(start).take(PAGE_RESOURCES).collect();
    let next = items
        .last()
        .map(|last| format!("{CURSOR_PREFIX}{}", last.uri));
    let mut result = ListResourcesResult::with_all_items(items);
    result.next_cursor = next.filter(|_| more);
    Ok(result)
}

pub(super) fn read_resource(
    workspace: &Workspace,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let missing = || {
        let message = format!("Resource not found: {}", one_line(uri));
        ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
    };
    let path = locate_file(workspace, uri).ok_or_else(missing)?;
    let text = match workspace.read_text(&path) {
        Ok(text) => quote::sanitize_text(&text).into_owned(),
        Err(error) if error.is_not_found() => return Err(missing()),
        Err(error) => {
            let message = one_line(&format!("Cannot read `{path}`: {}", error.reason()));
            return Err(ErrorData::internal_error(
                message,
                Some(json!({ "uri": uri })),
            ));
        }
    };
    let (shown, left_out) = fit_lines(
        &text,
        ReplyBudget::Bytes(MAX_RESOURCE_BYTES),
        |part, left| match left {
            0 => part.to_owned(),
            left => format!("{part}\n[… {left} more lines left out]\n"),
        },
    );
    let contents = ResourceContents::text(shown, uri).with_mime_type(MARKDOWN_TYPE);
    if left_out == 0 {
        return Ok(contents);
    }
    let mut meta = MetaObject::default();
    meta.insert("memory-forge/leftOutLines".to_owned(), left_out.into());
    Ok(contents.with_meta(meta))
}

/// Returns the paths below a template's folder that begin with `value`.
pub(super) fn complete_path(workspace: &Workspace, template: &str, value: &str) -> CompletionInfo {
    let Some(prefix) = template.split_once('{').map(|(prefix, _)| prefix) else {
        return CompletionInfo::default();
    };
    let mut values: Vec<String> = list_resources(workspace)
        .iter()
        .filter_map(|resource| {
            let encoded = resource.uri.strip_prefix(prefix)?;
            let plain = decode_path(encoded)?;
            // As part of an address a name hides nothing, and leads to its
            // file.
            if one_line(&plain) == plain {
                Some(plain)
            } else {
                Some(encoded.to_owned())
            }
        })
        .filter(|rest| rest.starts_with(value))
        .collect();
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let more = total > values.len();
    CompletionInfo::with_pagination(values, u32::try_from(total).ok(), more).unwrap_or_default()
}

/// Returns the file behind an address, if it may be read.
fn locate_file(workspace: &Workspace, uri: &str) -> Option<RelPath> {
    let rest = decode_path(uri.strip_prefix(URI_SCHEME)?)?;
    if let Some((_, file, _)) = SINGLE_FILES.iter().find(|(name, _, _)| *name == rest) {
        return Some(constant_path(file));
    }
    let (kind, below) = rest.split_once('/')?;
    if kind == "state" {
        let mut files = documents::list_state_files(workspace).into_iter();
        return files.find(|path| path.file_name() == below);
    }
    let (_, folder, _) = RESOURCE_FOLDERS.iter().find(|(name, _, _)| *name == kind)?;
    // `..` in an address must not lead out of its folder.
    let path = RelPath::new(&format!("{folder}/{below}")).ok()?;
    (path.starts_with(folder) && documents::is_readable(workspace, &path)).then_some(path)
}

fn uri_of(path: &RelPath) -> Option<String> {
    RESOURCE_FOLDERS.iter().find_map(|(name, folder, _)| {
        let below = path.as_str().strip_prefix(folder)?.strip_prefix('/')?;
        Some(format!("{URI_SCHEME}{name}/{}", encode_path(below)))
    })
}

fn constant_path(path: &str) -> RelPath {
    RelPath::new(path).expect("a constant that is a path")
}

/// Encodes a path as part of an address: characters that RFC 3986 reserves
/// become `%XX`; slashes stay.
fn encode_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decode_path(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_survives_the_way_through_an_address() {
        for path in ["a.md", "b c/ü %41.md", "漢/?#[x].md", "100%.md"] {
            assert_eq!(decode_path(&encode_path(path)).as_deref(), Some(path));
        }
        for broken in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decode_path(broken), None, "{broken}");
        }
    }

    #[test]
    fn pages_follow_one_another_though_files_vanish() {
        let names = |from: usize, to: usize| -> Vec<Resource> {
            let uri = |n| format!("{URI_SCHEME}knowledge/{n:04}.md");
            (from..to).map(|n| Resource::new(uri(n), "x")).collect()
        };
        let first = page_of_list(names(0, 250), None).expect("no cursor");
        assert_eq!(first.resources.len(), PAGE_RESOURCES);
        let cursor = first.next_cursor.expect("there is more");
        let mut without_last = names(0, 250);
        without_last.remove(PAGE_RESOURCES - 1);
        let second = page_of_list(without_last, Some(&cursor)).expect("the cursor is ours");
        assert_eq!(second.resources[0].uri, names(100, 101)[0].uri);
        let last = page_of_list(names(0, 200), second.next_cursor.as_deref()).expect("ours");
        assert!(last.next_cursor.is_none());
        assert!(page_of_list(names(0, 3), Some("x")).is_err());
    }
}
