//! Stand-in for a server of releases or a registry: it answers on the loopback
//! with the bytes of a table, and with 404 to everything else.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

/// Limit for a client that connects and says nothing.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// Server that runs until the process ends.
pub(crate) struct Loopback {
    address: String,
}

impl Loopback {
    /// Returns a listener and its address, so that pages can name the address.
    pub(crate) fn bind() -> Result<(TcpListener, String)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        Ok((listener, address))
    }

    /// Answers with these pages, by path.
    pub(crate) fn serve(
        listener: TcpListener,
        address: String,
        pages: BTreeMap<String, Vec<u8>>,
    ) -> Loopback {
        let pages = Arc::new(pages);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let pages = Arc::clone(&pages);
                // A client that hangs up early is no concern of the others.
                std::thread::spawn(move || drop(answer(&stream, &pages)));
            }
        });
        Loopback { address }
    }

    /// Returns the address, without a slash at the end.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

fn answer(stream: &TcpStream, pages: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    stream.set_read_timeout(Some(READ_LIMIT))?;
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
    }
    let mut words = request.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let page = pages.get(path).map(Vec::as_slice);
    let status = if page.is_some() {
        "200 OK"
    } else {
        "404 Not Found"
    };
    let kind = match path.rsplit_once('.') {
        Some((_, "tgz" | "whl" | "gz" | "zip")) => "application/octet-stream",
        _ if page.is_some_and(|page| page.starts_with(b"{")) => "application/json",
        _ => "text/html",
    };
    let body = page.unwrap_or(b"");
    let mut writer = stream;
    write!(
        writer,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        writer.write_all(body)?;
    }
    Ok(())
}
