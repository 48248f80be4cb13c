//! The maps of the laboratory's programs.

pub mod fault;
pub mod generator;
pub mod histogram;
pub mod receiver;
pub mod sink;
pub mod tag;
