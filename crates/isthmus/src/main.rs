//! The command line of Isthmus.
fn main() {}
