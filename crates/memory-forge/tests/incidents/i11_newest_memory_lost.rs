//! The newest memory silently lost.
