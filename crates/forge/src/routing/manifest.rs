//! `_MANIFEST.md`: the map of the workspace.
