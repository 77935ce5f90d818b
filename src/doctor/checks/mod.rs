//! Every check, one file each: what it looks at, why it matters, and what to do.
//!
//! They know a [`Scene`](super::Scene) and nothing of each other or of who asks.

mod cpu_governor;
mod cpu_idle;
mod cpu_mask;
mod cpus_per_task;
mod cuda;
mod driver;
mod ecc;
mod efa_devices;
mod efa_driver;
mod efa_installer;
mod efa_provider;
mod efa_settings;
mod enroot;
mod fabric_manager;
mod fi_provider;
mod gdrcopy;
mod gpudirect;
mod gpudirect_variables;
mod gpus;
mod host_name;
mod huge_pages;
mod ib_links;
mod infiniband_devices;
mod infiniband_variables;
mod interfaces;
mod launch_environment;
mod libfabric;
mod link_errors;
mod machine;
mod memlock;
mod nccl;
mod nccl_net;
mod net_plugin;
mod net_plugin_variable;
mod numa;
mod numa_balancing;
mod nvlink;
mod open_mpi;
mod pcie;
mod persistence;
mod roce_gid;
mod shm;
mod slurm_pmix;
mod socket_buffers;
mod socket_interface;
mod swap;
mod sysfs;
mod throttle;
mod transport_variables;
mod tuner_variables;
mod tuning_variables;
mod xid;

use super::Check;

/// Every check, in the order in which they are shown: what is installed, devices, settings, the
/// process, the network, the GPUs, the kernel.
pub const ALL: &[&Check] = &[
    &machine::CHECK,
    &driver::CHECK,
    &cuda::CHECK,
    &gpus::CHECK,
    &nccl::CHECK,
    &net_plugin::CHECK,
    &net_plugin_variable::CHECK,
    &libfabric::CHECK,
    &efa_installer::CHECK,
    &efa_driver::CHECK,
    &efa_devices::CHECK,
    &efa_provider::CHECK,
    &infiniband_devices::CHECK,
    &ib_links::CHECK,
    &link_errors::CHECK,
    &roce_gid::CHECK,
    &gdrcopy::CHECK,
    &gpudirect::CHECK,
    &sysfs::CHECK,
    &infiniband_variables::CHECK,
    &nccl_net::CHECK,
    &fi_provider::CHECK,
    &efa_settings::CHECK,
    &tuning_variables::CHECK,
    &transport_variables::CHECK,
    &gpudirect_variables::CHECK,
    &tuner_variables::CHECK,
    &socket_interface::CHECK,
    &launch_environment::CHECK,
    &slurm_pmix::CHECK,
    &open_mpi::CHECK,
    &enroot::CHECK,
    &cpu_mask::CHECK,
    &cpus_per_task::CHECK,
    &numa::CHECK,
    &memlock::CHECK,
    &shm::CHECK,
    &host_name::CHECK,
    &interfaces::CHECK,
    &pcie::CHECK,
    &nvlink::CHECK,
    &fabric_manager::CHECK,
    &ecc::CHECK,
    &throttle::CHECK,
    &persistence::CHECK,
    &xid::CHECK,
    &cpu_governor::CHECK,
    &cpu_idle::CHECK,
    &huge_pages::CHECK,
    &numa_balancing::CHECK,
    &swap::CHECK,
    &socket_buffers::CHECK,
];
