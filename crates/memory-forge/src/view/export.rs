//! The pages as a folder that needs no server: the same modules in one script,
//! and all answers in another. It writes nothing but that folder, and
//! nothing over what is not its own.

use std::path::Path;
use std::sync::Mutex;

use forge_app::document::html;
use forge_app::documents;
use forge_app::workspace::{
    BackupAction, OutsideChange, OutsideFile, RelPath, Workspace, change_outside, is_temp_name,
};
use forge_serve::{PageMethod, PageRequest};
use serde_json::{Map, Value};

use super::bundle::bundle_modules;
use super::{PAGE_ASSETS, PageRefusal, PageService};
use crate::report::CommandError;
use crate::settings::Settings;

/// Mark of a folder that we wrote.
const EXPORT_MARK: &str = "<meta name=\"generator\" content=\"memory-forge view\">";
/// Upper bounds for all answers together, and for all images.
const MAX_ANSWER_BYTES: usize = 50_000_000;
const MAX_IMAGE_BYTES: usize = 40_000_000;
/// Replacement for the header of a server.
const POLICY_TAG: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; base-uri 'none'; form-action 'none'\">";

/// Between these `index.html` has its modules.
const SCRIPTS_START: &str = "<!-- scripts -->\n";
const SCRIPTS_END: &str = "<!-- /scripts -->\n";
/// `defer` runs them in this order, after the document is parsed.
const COPY_SCRIPTS: &str =
    "<script src=\"data.js\" defer></script>\n<script src=\"page.js\" defer></script>\n";

/// Result of an export.
pub(crate) struct PageExport {
    pub(crate) documents: usize,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn export_pages(
    folder: &Path,
    root: &Path,
    settings: &Settings,
) -> Result<PageExport, CommandError> {
    let page = |path: &str| OutsideFile {
        base: folder.parent().unwrap_or(folder).to_owned(),
        path: folder.join(path),
    };
    refuse_foreign(folder, &page("index.html"))?;
    let workspace = Workspace::open(root)?;
    let service = PageService {
        audience: documents::DocumentAudience::Others,
        memory: Mutex::new(crate::library::open_library(workspace.clone(), settings)),
        ..PageService::for_workspace(&workspace, settings)
    };
    let mut notes = Vec::new();
    let mut answers = Map::new();
    for name in ["overview", "trend", "graph", "timeline", "audit", "repair"] {
        answers.insert(name.to_owned(), read_page_answer(&service, name, "")?);
    }
    let mut list = read_page_answer(&service, "documents", "")?;
    let mut size: usize = answers.values().map(|it| it.to_string().len()).sum();
    let mut kept = Vec::new();
    let mut images: Vec<String> = Vec::new();
    let mut left_out = 0;
    for row in list["documents"].as_array().into_iter().flatten() {
        let path = row[0].as_str().unwrap_or_default();
        let query = format!("path={}", forge_app::document::percent_encode(path));
        let Ok(mut document) = read_page_answer(&service, "document", &query) else {
            left_out += 1;
            continue;
        };
        let bytes = document.to_string().len();
        if size + bytes > MAX_ANSWER_BYTES {
            left_out += 1;
            continue;
        }
        size += bytes;
        images.extend(image_paths(document["html"].as_str().unwrap_or_default()));
        document["notEditable"] = "This is a copy".into();
        answers.insert(format!("document?{path}"), document);
        kept.push(row.clone());
    }
    if left_out > 0 {
        notes.push(format!("{left_out} documents are not in it: they cannot be read, or all would be more than {MAX_ANSWER_BYTES} bytes"));
    }
    let documents = kept.len();
    list["documents"] = kept.into();
    list["leftOut"] = left_out.into();
    answers.insert("documents".to_owned(), list);
    notes.push("Secrets are masked; private files, other workspaces and the history of documents are not in it".to_owned());

    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for asset in PAGE_ASSETS {
        let name = asset.path.trim_start_matches('/').to_owned();
        let bytes = match name.as_str() {
            "index.html" => index_page(asset.bytes),
            "theme.js" => asset.bytes.to_vec(),
            // `page.js` has all modules.
            module if module.ends_with(".js") => continue,
            _ => asset.bytes.to_vec(),
        };
        files.push((name, bytes));
    }
    let script = bundle_modules(PAGE_ASSETS, "/start.js")
        .map_err(|error| CommandError::failure(error.to_string()))?;
    files.push(("page.js".to_owned(), script.into_bytes()));
    images.sort();
    images.dedup();
    let mut of_images = 0;
    let mut named = Map::new();
    for path in images {
        let Ok(relative) = RelPath::new(&path) else {
            continue;
        };
        match workspace.read_up_to_limit(&relative, 8_000_000) {
            Ok(bytes) if of_images + bytes.len() <= MAX_IMAGE_BYTES => {
                of_images += bytes.len();
                // Not by its own name: in a folder of the workspace it would be
                // a second file of that name, and links could mean either.
                let extension = path.rsplit('.').next().unwrap_or_default();
                let id = forge_app::document::text_version(&path);
                let name = format!("files/{}.{}", &id[..16], extension.to_ascii_lowercase());
                named.insert(path, name.clone().into());
                files.push((name, bytes));
            }
            _ => notes.push(format!("The image `{relative}` is not in it")),
        }
    }
    answers.insert("files".to_owned(), named.into());
    let data = Value::Object(answers).to_string();
    let data = format!("\"use strict\";\nwindow.MEMORY_FORGE_COPY = {data};\n");
    files.push(("data.js".to_owned(), data.into_bytes()));
    let changes: Result<Vec<OutsideChange>, forge_app::workspace::WorkspaceError> = files
        .into_iter()
        .map(|(name, bytes)| {
            let file = page(&name);
            Ok(OutsideChange {
                before: file.read()?,
                after: Some(bytes),
                file,
                backup: BackupAction::Leave,
            })
        })
        .collect();
    let changes: Vec<OutsideChange> = changes?
        .into_iter()
        .filter(|it| it.before != it.after)
        .collect();
    change_outside(&changes, &[])?;
    Ok(PageExport { documents, notes })
}

fn read_page_answer(service: &PageService, name: &str, query: &str) -> Result<Value, CommandError> {
    let reply = service.answer_request(PageRequest {
        method: PageMethod::Get,
        name: name.to_owned(),
        query: query.to_owned(),
        body: Vec::new(),
    });
    let value: Value = serde_json::from_slice(&reply.body)
        .map_err(|error| CommandError::failure(format!("`{name}`: {error}")))?;
    match reply.status {
        200 => Ok(value),
        _ => Err(CommandError::failure(format!(
            "`{name}`: {}",
            value["error"].as_str().unwrap_or_default()
        ))),
    }
}

/// Returns the page with its data and one classic script instead of modules.
fn index_page(bytes: &[u8]) -> Vec<u8> {
    let page = String::from_utf8_lossy(bytes);
    let page = page.replacen(
        "<!-- policy -->",
        &format!("{POLICY_TAG}\n{EXPORT_MARK}"),
        1,
    );
    let (before, rest) = page.split_once(SCRIPTS_START).unwrap_or((&page, ""));
    let (_, after) = rest.split_once(SCRIPTS_END).unwrap_or_default();
    format!("{before}{COPY_SCRIPTS}{after}").into_bytes()
}

/// Returns the images that a rendered document refers to.
fn image_paths(html: &str) -> Vec<String> {
    let parts = html.split("<img data-path=\"").skip(1);
    let paths = parts.filter_map(|rest| rest.split('"').next());
    let plain = |path: &str| {
        path.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&")
    };
    paths
        .map(plain)
        .filter(|it| html::image_media_type(it).is_some())
        .collect()
}

/// Fails for a folder with files that we did not write.
fn refuse_foreign(folder: &Path, index: &OutsideFile) -> Result<(), CommandError> {
    let entries = match std::fs::read_dir(folder) {
        // An export that was cut off at its first file left only a temporary
        // file.
        Ok(mut entries) => entries.any(|it| !it.is_ok_and(|it| is_temp_name(&it.file_name()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => {
            let message = format!("Cannot look into `{}`: {error}", folder.display());
            return Err(CommandError::failure(message));
        }
    };
    let ours = || {
        index
            .read_text()
            .ok()
            .flatten()
            .is_some_and(|it| it.contains(EXPORT_MARK))
    };
    if entries && !ours() {
        Err(CommandError::usage(format!(
            "`{}` is not empty and was not written by `view --export`",
            folder.display()
        ))
        .hint("Name a new folder, or empty this one"))
    } else {
        Ok(())
    }
}

impl From<PageRefusal> for CommandError {
    fn from(refused: PageRefusal) -> CommandError {
        CommandError::failure(refused.why)
    }
}
