//! What is wrong with a machine, before and after a run: checks, one file each, over a [`Scene`].
//!
//! A check says what it saw and never guesses: what cannot be looked at is unknown, with the reason.
//! Nothing here starts GPU work, prints, or changes anything.

pub mod against;
mod checks;
pub mod drift;
mod hardware;
mod instance;
mod libraries;
mod look;
pub mod page;
mod scene;
mod settings;
#[cfg(test)]
mod tests;

pub use checks::ALL;
pub use look::Look;
pub use scene::STORED;
pub use scene::Scene;

use crate::base::Fault;
use crate::record::Finding;
use crate::record::Health;

/// Of what a check speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Of a host: its first process looks.
    Host,
    /// Of a process: each looks for itself.
    Process,
}

/// Something that can be looked at from inside a machine.
#[derive(Debug)]
pub struct Check {
    /// In kebab case.
    pub name: &'static str,
    /// What is looked at, in one line.
    pub what: &'static str,
    /// What a user sees when it is not as it should be, and why.
    pub why: &'static str,
    /// Where it is read.
    pub reads: &'static str,
    /// What to do, ready to copy, unless the finding knows better.
    pub hint: &'static str,
    /// Of what it speaks.
    pub scope: Scope,
    /// How bad it is that hosts differ in what they share.
    pub drift: Health,
    /// Looks.
    pub look: fn(&Scene) -> Look,
}

impl Check {
    /// Looks at a scene.
    pub fn find(&self, scene: &Scene) -> Finding {
        (self.look)(scene).finding(self)
    }
}

/// Which checks are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// These only, if there are any.
    pub only: Vec<String>,
    /// All but these.
    pub skip: Vec<String>,
}

impl Selection {
    /// The checks.
    ///
    /// # Errors
    /// `Usage`, naming a check that does not exist.
    pub fn checks(&self) -> Result<Vec<&'static Check>, Fault> {
        for (option, names) in [("--only", &self.only), ("--skip", &self.skip)] {
            if let Some(name) = names.iter().find(|name| by_name(name).is_none()) {
                return Err(Fault::usage(format!(
                    "invalid value `{name}` for `{option}`: there is no such check"
                ))
                .hint("`ncclbench doctor --list` names all"));
            }
        }
        let wanted = |check: &&&Check| {
            let named = |names: &[String]| names.iter().any(|name| name == check.name);
            (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
        };
        let checks: Vec<&Check> = ALL.iter().filter(wanted).copied().collect();
        if checks.is_empty() {
            return Err(Fault::usage("`--only` and `--skip` leave no check"));
        }
        Ok(checks)
    }
}

/// The check of a name.
pub fn by_name(name: &str) -> Option<&'static Check> {
    ALL.iter().find(|check| check.name == name).copied()
}

/// Looks at a scene with these checks; with those of a host only where `is_first` of its host.
pub fn examine(checks: &[&Check], scene: &Scene, is_first: bool) -> Vec<Finding> {
    let mine = |check: &&&Check| is_first || check.scope == Scope::Process;
    let mine = checks.iter().filter(mine);
    mine.map(|check| check.find(scene)).collect()
}
