//! Finds what an option names in the registry that lists it.

use crate::backend;
use crate::backend::Backend;
use crate::base::{Env, Fault};
use crate::launcher;

/// Names a backend where no option does.
const BACKEND: &str = "NCCLBENCH_BACKEND";

/// The backend that the option names, else the variable; else the first one.
pub(super) fn backend_of(option: Option<&str>, env: &Env) -> Result<&'static dyn Backend, Fault> {
    match (option, env.get(BACKEND)) {
        (None, Some(name)) => named(BACKEND, Some(name)),
        (option, _) => backend(option),
    }
}

/// The backend called `name`; without a name the first one.
pub(super) fn backend(name: Option<&str>) -> Result<&'static dyn Backend, Fault> {
    named("--backend", name)
}

fn named(asked: &str, name: Option<&str>) -> Result<&'static dyn Backend, Fault> {
    let found = match name {
        None => backend::ALL.first(),
        Some(name) => backend::ALL.iter().find(|one| one.name() == name),
    };
    found.copied().ok_or_else(|| {
        let names = backend::ALL.iter().map(|one| one.name());
        unknown(asked, name.unwrap_or_default(), names)
    })
}

/// Name and summary of every launcher.
pub(super) fn launchers() -> impl Iterator<Item = (&'static str, &'static str)> {
    launcher::ALL.iter().map(|one| (one.name(), one.summary()))
}

fn unknown(option: &str, name: &str, names: impl Iterator<Item = &'static str>) -> Fault {
    let names: Vec<_> = names.collect();
    Fault::usage(format!(
        "unknown name `{name}` for `{option}`; accepted: {}",
        names.join(", ")
    ))
}
