//! What this machine is: reads the outside.

pub mod address;
pub mod command;
pub mod cpu;
pub mod gpu_health;
pub mod host;
pub mod interface;
pub mod library;
pub mod nccl_log;
mod netlink;
pub mod nics;
pub mod rdma;
pub mod resolver;
pub mod throttle;

use crate::base::Fault;
use crate::bootstrap::Here;

/// This process and its machine; `label` overrides what its host is told from others by.
///
/// # Errors
/// `Missing` if the kernel does not say which host this is.
pub fn here(label: Option<&str>) -> Result<Here, Fault> {
    Ok(Here {
        host: host::name(),
        identity: host::identity(label)?,
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        addresses: address::own(),
    })
}
