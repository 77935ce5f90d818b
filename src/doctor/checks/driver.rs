//! The version of the GPU driver: its kernel module and its library.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "driver",
    what: "version of the GPU driver, its module and its library, and the latest CUDA that it serves",
    why: "A module and a library of different versions start nothing (`Driver/library version mismatch`, after an update without a reboot), and nodes with different drivers are slow or fail in ways that nobody can repeat.",
    reads: "`/proc/driver/nvidia/version`; NVML, else `nvidia-smi -q`",
    hint: "install one driver version on all nodes; after an update reboot, or reload the module (`rmmod nvidia_uvm nvidia; modprobe nvidia`)",
    scope: Scope::Host,
    drift: Health::Failure,
    look,
};

fn look(scene: &Scene) -> Look {
    let module = scene.text("/proc/driver/nvidia/version");
    let module = module.as_deref().and_then(version_in);
    let mut look = Look::default();
    match (&module, scene.gpus()) {
        (_, Ok(told)) => {
            let library = told.driver.as_deref().unwrap_or("of unknown version");
            let cuda = told.cuda.as_deref().unwrap_or("unknown");
            look.share("driver", library);
            look.share("cuda", cuda);
            match &module {
                Some(module) if module != library => {
                    look.fail(format!("the module is {module}, the library {library}"));
                }
                _ => look.ok(format!("driver {library}, CUDA {cuda}")),
            }
        }
        (Some(module), Err(why)) => {
            look.share("driver", module);
            look.fail(format!(
                "the module is {module}, but its library does not answer: {why}"
            ));
            if why.contains("mismatch") {
                return look;
            }
            look.hint("mount the driver's libraries into the container (NVIDIA container toolkit, `NVIDIA_DRIVER_CAPABILITIES=compute,utility`), or look at `dmesg`");
        }
        (None, Err(why)) if hardware::has_gpus(scene) => {
            look.fail(format!("there are GPUs and no driver: {why}"));
            look.hint("load the module (`modprobe nvidia`), or give the job GPUs (`--gres=gpu:N`)");
        }
        (None, Err(why)) => return Look::none(format!("no GPU and no driver: {why}")),
    }
    look
}

/// `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …`.
fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let is_version = |word: &&str| {
        word.contains('.')
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    line.split_whitespace().find(is_version).map(str::to_owned)
}
