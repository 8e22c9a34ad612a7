//! A hook that blocks the session or the machine.
