//! What the hub is made of.

use super::auth::Secret;
use super::core::Core;
use super::desk::Desk;
use crate::base::Clock;
use crate::bootstrap::{Ending, Pulse};
use mio::net::TcpListener;
use std::sync::Arc;

/// What a hub works with.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) listeners: Vec<TcpListener>,
    pub(super) core: Core,
    pub(super) members: usize,
    pub(super) desk: Arc<Desk>,
    pub(super) pulse: Arc<Pulse>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) job: u64,
    pub(super) secret: Secret,
}

/// Why a hub stops.
#[derive(Debug)]
pub(super) enum Stop {
    Ended(Box<Ending>),
    Left,
}
