//! A project's configuration that runs code.
