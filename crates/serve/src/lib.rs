//! An MCP handler on standard input and output.

use rmcp::ServiceExt;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Cannot start the runtime: {0}")]
    Runtime(#[from] std::io::Error),
    #[error("The connection failed: {0}")]
    Connection(String),
}

pub struct HttpOptions {
    pub port: u16,
    pub token: String,
}

pub fn stdio<H: rmcp::ServerHandler>(handler: H) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let service = handler
            .serve(rmcp::transport::stdio())
            .await
            .map_err(|error| Error::Connection(error.to_string()))?;
        service
            .waiting()
            .await
            .map_err(|error| Error::Connection(error.to_string()))?;
        Ok(())
    });
    runtime.shutdown_background();
    result
}

pub fn http<H, F>(
    _make: F,
    _options: HttpOptions,
    _ready: impl FnOnce(std::net::SocketAddr),
) -> Result<(), Error>
where
    F: Fn() -> H + Send + Sync + 'static,
    H: rmcp::ServerHandler,
{
    Err(Error::Connection("not built".to_owned()))
}

pub fn new_token() -> String {
    String::new()
}
