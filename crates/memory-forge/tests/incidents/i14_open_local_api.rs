//! A local interface without authentication, path traversal.
