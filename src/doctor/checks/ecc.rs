//! Errors of GPU memory.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::base::counted;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "ecc",
    what: "whether ECC is on, uncorrectable errors, and rows that were or could not be remapped",
    why: "Uncorrectable errors mean wrong data or dead runs: no-go whatever the speed. A pending remap needs a reset, a failed one a replacement.",
    reads: "NVML, else `nvidia-smi -q`",
    hint: "drain the node; `nvidia-smi -r` after the jobs have ended applies pending remaps; a failed remap, or errors that come back, is a replacement",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let told = match hardware::told(scene) {
        Ok(told) => told,
        Err(look) => return look,
    };
    let mut look = Look::default();
    for gpu in &told.gpus {
        let index = gpu.index;
        if gpu.remap_failed == Some(true) {
            look.fail(format!("GPU {index}: a row could not be remapped"));
        }
        if gpu.remap_pending == Some(true) {
            look.fail(format!("GPU {index}: a remap waits for a reset"));
        }
        if let Some(count) = gpu.uncorrectable_volatile.filter(|count| *count > 0) {
            look.fail(format!(
                "GPU {index}: {count} uncorrectable errors since the driver was loaded"
            ));
        }
        if let Some(count) = gpu.uncorrectable_aggregate.filter(|count| *count > 0) {
            look.warn(format!(
                "GPU {index}: {count} uncorrectable errors over its life"
            ));
        }
        if let Some(count) = gpu.remapped_uncorrectable.filter(|count| *count > 0) {
            look.warn(format!(
                "GPU {index}: {count} rows were remapped after uncorrectable errors"
            ));
        }
        match gpu.ecc {
            Some(false) => look.warn(format!("GPU {index}: ECC is off")),
            None => look.unclear(format!("GPU {index}: whether ECC is on is not told")),
            Some(true) => {}
        }
    }
    if look.is_silent() {
        look.ok(format!(
            "{}: ECC on, no uncorrectable error",
            counted(told.gpus.len(), "GPU", "GPUs")
        ));
    }
    look
}
