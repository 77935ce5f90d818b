//! NVLinks: how many are up, and their errors.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::base::counted;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "nvlink",
    what: "how many NVLinks of each GPU are up, and their counters of errors",
    why: "One dead NVLink makes a node visibly slower than its peers; without any, PCIe is the bottleneck inside the node and hides what the network can do.",
    reads: "NVML, else `nvidia-smi nvlink -s`",
    hint: "`nvidia-smi nvlink -s` and `-e`; reset the GPU (`nvidia-smi -r`), then look at the fabric manager's log; a link that stays down is a ticket",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

/// NVLinks by the start of what follows `NVIDIA `, for GPUs whose links all lead to switches or peers.
///
/// # Source
/// NVIDIA's data sheets of V100 (SXM), A100, H100, H200, B200 and their HGX boards.
const SPECS: &[(&str, u32)] = &[
    ("Tesla V100-SXM", 6),
    ("A100-SXM", 12),
    ("H100 80GB HBM3", 18),
    ("H200", 18),
    ("B200", 18),
    ("B300", 18),
    ("GB200", 18),
    ("GB300", 18),
];

fn look(scene: &Scene) -> Look {
    let told = match scene.gpus() {
        Ok(told) if told.gpus.len() > 1 => told,
        Ok(told) => {
            return Look::none(format!(
                "{}: nothing to link",
                counted(told.gpus.len(), "GPU", "GPUs")
            ));
        }
        Err(why) if hardware::has_gpus(scene) => return Look::unknown(why.to_owned()),
        Err(_) => return Look::none("no GPU"),
    };
    let known: Vec<_> = told
        .gpus
        .iter()
        .filter_map(|gpu| Some((gpu, gpu.nvlinks?)))
        .collect();
    if known.is_empty() {
        return Look::default().and(Health::Ok, "no NVLink: inside the node PCIe is the bottleneck, so measure the network with one GPU a node");
    }
    let most = known.iter().map(|(_, (up, _))| *up).max().unwrap_or(0);
    let mut look = Look::default();
    look.share("nvlinks", most.to_string());
    for (gpu, (up, _)) in &known {
        let spec = spec(&gpu.name).unwrap_or(most);
        if *up < spec.max(most) {
            look.fail(format!(
                "GPU {}: {up} NVLinks of {} are up",
                gpu.index,
                spec.max(most)
            ));
        }
        if let Some(errors) = gpu
            .nvlink_errors
            .filter(|errors| errors.iter().any(|count| *count > 0))
        {
            let [crc, replay, recovery] = errors;
            look.warn(format!(
                "GPU {}: NVLink errors: CRC {crc}, replay {replay}, recovery {recovery}",
                gpu.index
            ));
        }
    }
    if known.len() < told.gpus.len() {
        look.fail(format!(
            "{} of {} GPUs have NVLinks",
            known.len(),
            told.gpus.len()
        ));
    }
    if look.is_silent() {
        look.ok(format!(
            "{most} NVLinks of each of {} are up",
            counted(known.len(), "GPU", "GPUs")
        ));
    }
    look
}

fn spec(name: &str) -> Option<u32> {
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    SPECS
        .iter()
        .find(|(start, _)| name.starts_with(start))
        .map(|(_, links)| *links)
}
