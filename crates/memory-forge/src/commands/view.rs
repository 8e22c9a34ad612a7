//! `view`: the memory as a page in the browser while the command runs, or as a
//! folder to share. It listens on this machine alone and decides nothing about
//! what a page shows.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;
use crate::view::{self, PageService};

/// Look at the memory in a browser
///
/// Shows where the work stands, what memory costs, how documents hang together
/// and what the audit found; documents can be searched, read and edited. The
/// page is served on this machine alone, as long as this command runs, to
/// anyone with the address and its token.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge view                         Open it in the browser; end it with Ctrl-C
  memory-forge view --no-open --port 8123   Print the address alone
  memory-forge view --export site           Write it as a folder, without secrets")]
pub(crate) struct ViewArgs {
    /// Listen on this port; any free one unless given
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) port: u16,

    /// Print the address and do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Write the pages to this folder instead, to be opened without a server
    #[arg(long, value_name = "DIR", conflicts_with_all = ["port", "no_open"])]
    pub(crate) export: Option<PathBuf>,
}

pub(crate) fn run_view(
    args: ViewArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    if let Some(folder) = &args.export {
        return export_view(
            &settings.cwd()?.join(folder),
            workspace.root(),
            settings,
            ui,
        );
    }
    let service = PageService::for_workspace(&workspace, settings);
    let token = forge_serve::new_token();
    let options = forge_serve::PageOptions {
        port: args.port,
        token: token.clone(),
    };
    let mut printed = Ok(());
    let ready = |address| {
        // Behind `#` the token never leaves the browser: it is in no request,
        // no referrer and no log.
        let address = format!("http://{address}/#token={token}");
        printed = ui.print_line(&address).and_then(|()| ui.flush());
        ui.note("This page is served until you press Ctrl-C");
        if !args.no_open && !open_browser(&address) {
            ui.note("No browser could be opened; follow the address above");
        }
    };
    let answer = move |request| service.answer_request(request);
    forge_serve::serve_page(view::PAGE_ASSETS, answer, options, ready)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    printed?;
    Ok(CommandExit::Success)
}

/// Opens the address in the browser of this system. Returns `true` if a program
/// could be started for it.
fn open_browser(address: &str) -> bool {
    let programs: &[(&str, &[&str])] = if cfg!(target_os = "macos") {
        &[("open", &[])]
    } else if cfg!(windows) {
        &[("rundll32", &["url.dll,FileProtocolHandler"])]
    } else {
        &[("xdg-open", &[]), ("wslview", &[])]
    };
    programs.iter().any(|(program, arguments)| {
        let started = Command::new(program)
            .args(*arguments)
            .arg(address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        // The program may take its time, or fail later; the address is printed
        // anyway.
        started.is_ok()
    })
}

fn export_view(
    folder: &Path,
    root: &Path,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let done = view::export_pages(folder, root, settings)?;
    for note in &done.notes {
        ui.note(note);
    }
    ui.print_line(&format!(
        "Wrote {} documents to {}",
        done.documents,
        folder.join("index.html").display()
    ))?;
    Ok(CommandExit::Success)
}
