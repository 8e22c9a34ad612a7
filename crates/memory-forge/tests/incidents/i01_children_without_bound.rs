//! Child processes without bound, gigabytes of memory.
