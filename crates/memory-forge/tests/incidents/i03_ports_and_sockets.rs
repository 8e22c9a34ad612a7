//! Port conflicts, zombie sockets, a machine locked out.
