//! ncclbench measures and checks collective communication between GPUs.
//!
//! The rooms of this crate stand on floors; an import goes strictly down, and rooms on the same
//! floor do not know each other (`tests/tidy.rs` enforces it, `docs/ARCHITECTURE.md` explains it):
//!
//! | floor | rooms |
//! |---|---|
//! | 0 | [`base`] |
//! | 1 | [`record`], [`ops`] |
//! | 2 | [`collective`], [`ffi`], [`bootstrap`], [`digest`], [`baseline`], [`report`] |
//! | 2 | [`collective`], [`ffi`], [`bootstrap`], [`digest`], [`report`], [`path`] |
//! | 3 | [`launcher`], [`backend`], [`probe`], [`plan`], [`import`] |
//! | 3 | [`launcher`], [`backend`], [`probe`], [`plan`] |
//! | 4 | [`engine`], [`doctor`] |
//! | 3 | [`launcher`], [`backend`], [`probe`], [`plan`], [`store`] |
//! | 4 | [`engine`] |
//! | 5 | [`cli`] |
//! | 6 | [`app`] |

pub mod app;
pub mod backend;
pub mod base;
pub mod baseline;
pub mod bootstrap;
pub mod cli;
pub mod collective;
pub mod digest;
pub mod doctor;
pub mod engine;
pub mod ffi;
pub mod hunt;
pub mod import;
pub mod launcher;
pub mod ops;
pub mod path;
pub mod plan;
pub mod probe;
pub mod record;
pub mod report;
pub mod store;
