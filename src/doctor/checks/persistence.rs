//! Whether the driver stays loaded.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::look::spans;
use crate::base::counted;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "persistence",
    what: "whether the driver stays loaded while no program uses a GPU",
    why: "Without persistence each start of a program initialises the GPUs anew, which takes seconds and resets clocks and counters.",
    reads: "NVML, else `nvidia-smi -q`",
    hint: "`systemctl enable --now nvidia-persistenced`, or `nvidia-smi -pm 1`",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let told = match hardware::told(scene) {
        Ok(told) => told,
        Err(look) => return look,
    };
    let with = |state: Option<bool>| {
        let gpus = told.gpus.iter().filter(|gpu| gpu.persistence == state);
        gpus.map(|gpu| gpu.index).collect::<Vec<u32>>()
    };
    let (off, untold) = (with(Some(false)), with(None));
    let mut look = Look::default();
    if !off.is_empty() {
        look.warn(format!("off on GPU {}", spans(&off)));
    }
    if !untold.is_empty() {
        look.unclear(format!("not told for GPU {}", spans(&untold)));
    }
    if look.is_silent() {
        look.ok(format!(
            "on for {}",
            counted(told.gpus.len(), "GPU", "GPUs")
        ));
    }
    look
}
