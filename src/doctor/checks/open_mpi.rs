//! Copies of Open MPI.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::libraries;
use crate::record::Health;
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "open-mpi",
    what: "copies of Open MPI that the loader or `PATH` finds, and `OPAL_PREFIX`",
    why: "The EFA installer's Open MPI over an image's own gives `opal_shmem_base_select failed` and `MPI_INIT failed`. Open MPI's mpirun may also take OFI for its own traffic on EFA and hang without a line (`--mca pml ^cm --mca btl tcp,self`).",
    reads: "`libmpi.so.40` where the loader looks and vendors install, `mpirun` on `PATH`, `OPAL_PREFIX`",
    hint: "use one Open MPI: take the other's folders out of `PATH` and `LD_LIBRARY_PATH` and `unset OPAL_PREFIX`; ncclbench needs none, in an image start it with plain `srun`",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let copies = libraries::copies(scene, &["libmpi.so.40", "libmpi.so"], None);
    let copies: Vec<_> = copies
        .into_iter()
        .filter(|copy| is_open_mpi(scene, &copy.real))
        .collect();
    let launchers = launchers(scene);
    if copies.is_empty() && launchers.is_empty() {
        return Look::none("no Open MPI here");
    }
    let mut look = Look::default();
    for copy in &copies {
        let aside = if copy.is_on_path {
            ""
        } else {
            ", where the loader does not look"
        };
        look.ok(format!("{}{aside}", copy.real));
    }
    let on_path = copies.iter().filter(|copy| copy.is_on_path);
    let homes: BTreeSet<String> = on_path.map(|copy| home(&copy.real)).collect();
    look.share(
        "open-mpi",
        homes.iter().cloned().collect::<Vec<_>>().join(", "),
    );
    if homes.len() > 1 {
        let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
        look.warn(format!("the loader finds two: {}", homes.join(", ")));
    }
    if launchers.len() > 1 {
        look.warn(format!(
            "`PATH` has two of mpirun: {}",
            launchers.join(", ")
        ));
    }
    prefix(scene, &mut look, &homes);
    look
}

/// MPICH has the name `libmpi.so` too, and in some packages with `.12` behind.
fn is_open_mpi(scene: &Scene, real: &str) -> bool {
    let folder = real.rsplit_once('/').map_or("", |(folder, _)| folder);
    let names = scene.list(folder);
    let open =
        |name: &String| name.starts_with("libopen-pal.so") || name.starts_with("libopen-rte.so");
    names.iter().any(open)
}

/// The programs themselves: two names for one of them are one.
fn launchers(scene: &Scene) -> Vec<String> {
    let path = scene.variable("PATH").unwrap_or_default();
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    let found = folders.filter_map(|folder| {
        let path = format!("{}/mpirun", folder.trim_end_matches('/'));
        scene.exists(&path).then(|| scene.real(&path))?
    });
    // what a symbolic link leads to names the family: `mpirun.openmpi`, `orterun`, `prterun`
    let mut all: Vec<String> = found
        .filter(|real| !real.contains("mpich") && !real.contains("hydra"))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The installation that a library belongs to: what is before its last `lib`.
fn home(real: &str) -> String {
    let at = real.rfind("/lib/").max(real.rfind("/lib64/"));
    at.map_or(real, |at| &real[..at]).to_owned()
}

/// A prefix that belongs to another copy.
fn prefix(scene: &Scene, look: &mut Look, homes: &BTreeSet<String>) {
    let Some(prefix) = scene
        .variable("OPAL_PREFIX")
        .filter(|value| !value.is_empty())
    else {
        return;
    };
    let trimmed = prefix.trim_end_matches('/');
    if !scene.is_folder(trimmed) {
        look.warn(format!("`OPAL_PREFIX={prefix}`: there is no such folder"));
    } else if !homes.is_empty() && !homes.contains(trimmed) {
        look.warn(format!(
            "`OPAL_PREFIX={prefix}`, but the loader finds {}",
            homes.iter().cloned().collect::<Vec<_>>().join(", ")
        ));
    } else {
        look.ok(format!("`OPAL_PREFIX={prefix}`"));
    }
}
