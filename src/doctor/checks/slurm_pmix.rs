//! Slurm's plugin for PMIx, and the library that it opens.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::libraries;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "slurm-pmix",
    what: "Slurm's PMIx plugin and the PMIx library that it opens",
    why: "`srun --mpi=pmix` is refused where Slurm was built without PMIx; `srun --mpi=list` names it even if its library is not there. ncclbench itself needs neither: it takes its ranks from Slurm's variables.",
    reads: "`mpi_pmix*.so` in Slurm's plugin folders, `libpmix.so.2` and `libpmix.so` where the loader looks",
    hint: "install Slurm with `--with-pmix` and the PMIx library (Debian: `libpmix-dev`), or leave out `--mpi=pmix`",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

const FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/slurm-wlm",
    "/usr/lib/x86_64-linux-gnu/slurm",
    "/usr/lib/aarch64-linux-gnu/slurm-wlm",
    "/usr/lib/aarch64-linux-gnu/slurm",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
    "/usr/local/lib/slurm",
    "/opt/slurm/lib/slurm",
];

fn look(scene: &Scene) -> Look {
    let Some(folder) = FOLDERS.iter().find(|folder| scene.is_folder(folder)) else {
        return Look::none("Slurm's plugins are not here");
    };
    let names = scene.list(folder);
    let plugins: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| name.starts_with("mpi_pmix") && name.strip_suffix(".so").is_some())
        .collect();
    let mut look = Look::default();
    if plugins.is_empty() {
        look.share("slurm-pmix", "none");
        look.warn(format!(
            "{folder} has no `mpi_pmix*.so`: `--mpi=pmix` will be refused"
        ));
        return look;
    }
    look.share("slurm-pmix", plugins.join(", "));
    let library = libraries::copies(scene, &["libpmix.so", "libpmix.so.2"], None);
    let is_there = library.iter().any(|copy| copy.is_on_path);
    if is_there {
        look.ok(format!("{} in {folder}", plugins.join(", ")));
    } else {
        look.warn(format!(
            "{} in {folder}, but the loader finds no `libpmix.so`",
            plugins.join(", ")
        ));
    }
    look
}
