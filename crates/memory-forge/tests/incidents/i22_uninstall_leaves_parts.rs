//! An uninstall that leaves parts that run.
