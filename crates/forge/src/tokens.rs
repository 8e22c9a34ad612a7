//! How many tokens a text costs. An exact count loads a vocabulary (about
//! 100 ms), so hooks and hot paths use [`estimate`] alone.
