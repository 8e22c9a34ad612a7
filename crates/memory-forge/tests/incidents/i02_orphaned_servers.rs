//! MCP servers that outlive their client.
