//! Variables as NCCL sees them: the process's, and those of its configuration files.

use super::Look;
use super::Scene;
use crate::record::Health;
use std::collections::BTreeMap;

/// Variables that NCCL and its plugin act on, each with where it was set.
#[derive(Debug)]
pub(super) struct Settings(BTreeMap<String, Setting>);

/// A value and its origin.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) value: String,
    /// The file that sets it; none is the environment.
    pub(super) file: Option<String>,
}

impl Settings {
    /// The environment wins over the user's file, that over the system's.
    ///
    /// # Source
    /// NCCL, `src/misc/param.cc`, `initEnv`: `NCCL_CONF_FILE` or `~/.nccl.conf`, then `/etc/nccl.conf`.
    pub(super) fn of(scene: &Scene) -> Self {
        let env = scene.variables().iter().map(|(name, value)| {
            let setting = Setting {
                value: value.to_owned(),
                file: None,
            };
            (name.to_owned(), setting)
        });
        let mut all: BTreeMap<String, Setting> = env.collect();
        for path in files(scene) {
            let text = scene.text(&path).unwrap_or_default();
            for (name, value) in pairs(&text) {
                all.entry(name.to_owned()).or_insert(Setting {
                    value: value.to_owned(),
                    file: Some(path.clone()),
                });
            }
        }
        Self(all)
    }

    /// A variable that is set to something.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.0.get(name).filter(|one| !one.value.trim().is_empty())
    }

    /// A variable's value, if it is set to something.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(|one| one.value.trim())
    }

    /// All that are set to something and whose names begin so, by name.
    pub(super) fn starting<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Setting)> + 'a {
        let all = self
            .0
            .iter()
            .filter(move |(name, one)| name.starts_with(start) && !one.value.trim().is_empty());
        all.map(|(name, one)| (name.as_str(), one))
    }
}

impl Setting {
    /// `NCCL_NET=IB`, with the file that sets it.
    pub(super) fn shown(&self, name: &str) -> String {
        let value = self.value.trim();
        match &self.file {
            None => format!("`{name}={value}`"),
            Some(file) => format!("`{name}={value}` (set in {file})"),
        }
    }
}

/// The configuration files that NCCL would read, in its order.
pub(super) fn files(scene: &Scene) -> Vec<String> {
    let named = scene.variable("NCCL_CONF_FILE").map(str::to_owned);
    let home = scene
        .variable("HOME")
        .map(|home| format!("{home}/.nccl.conf"));
    let user = named.or(home);
    user.into_iter()
        .chain(["/etc/nccl.conf".to_owned()])
        .collect()
}

/// `NAME=VALUE` lines; `#` opens a comment.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        Some((name.trim(), value.trim()))
    })
}

/// A setting that does harm where somebody forgot it.
pub(super) struct Harm {
    pub(super) name: &'static str,
    /// Whether this value does.
    pub(super) when: fn(&str) -> bool,
    pub(super) health: Health,
    /// What it does.
    pub(super) effect: &'static str,
}

/// Any value.
pub(super) fn any(_: &str) -> bool {
    true
}

/// A value that switches something on.
pub(super) fn on(value: &str) -> bool {
    !off(value)
}

/// A value that switches something off.
pub(super) fn off(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "0" | "false" | "no" | "off"
    )
}

/// What of a table of harms is set; `what` names them where none is.
pub(super) fn harms(scene: &Scene, table: &[Harm], what: &str) -> Look {
    let settings = Settings::of(scene);
    let mut look = Look::default();
    let mut names = Vec::new();
    for harm in table {
        let Some(setting) = settings.get(harm.name) else {
            continue;
        };
        look.share(harm.name, setting.value.trim());
        if (harm.when)(setting.value.trim()) {
            names.push(harm.name);
            let line = format!("{}: {}", setting.shown(harm.name), harm.effect);
            look.add(harm.health, line);
        } else {
            look.ok(setting.shown(harm.name));
        }
    }
    if look.is_silent() {
        look.ok(format!("{what}: none is set"));
    }
    if !names.is_empty() {
        look.hint(unset(&names));
    }
    look
}

/// A line that takes variables back.
pub(super) fn unset(names: &[&str]) -> String {
    format!(
        "`unset {}` (look in the job script, the image's `ENV`, /etc/nccl.conf and ~/.nccl.conf)",
        names.join(" ")
    )
}
