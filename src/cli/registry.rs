//! Finds what an option names in the registry that lists it.

use crate::backend;
use crate::backend::Backend;
use crate::base::Fault;
use crate::launcher;

/// The backend called `name`; without a name the first one.
pub(super) fn backend(name: Option<&str>) -> Result<&'static dyn Backend, Fault> {
    let found = match name {
        None => backend::ALL.first(),
        Some(name) => backend::ALL.iter().find(|one| one.name() == name),
    };
    found.copied().ok_or_else(|| {
        let names = backend::ALL.iter().map(|one| one.name());
        unknown("--backend", name.unwrap_or_default(), names)
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
