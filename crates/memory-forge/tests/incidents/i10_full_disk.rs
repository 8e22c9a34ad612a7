//! A disk that fills up.
