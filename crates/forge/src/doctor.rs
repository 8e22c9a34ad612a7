//! The doctor.
pub mod legacy;
pub mod stub;
