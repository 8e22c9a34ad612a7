//! Tests that cannot run on this machine say so, and are counted as skipped.

use std::io::Write;

/// The file to which skipped tests add a line, where someone counts them.
const LOG: &str = "MEMORY_FORGE_SKIP_LOG";

/// Says why the running test proves nothing here. The caller returns after it.
pub fn skip(why: impl std::fmt::Display) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{test}: {}\n", why.to_string().trim().replace('\n', " "));
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os(LOG)
        && let Ok(mut file) = std::fs::File::options()
            .create(true)
            .append(true)
            .open(path)
    {
        let _ = file.write_all(line.as_bytes());
    }
}
