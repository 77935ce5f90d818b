//! Baselines: what is in force, everything that ever was, and how one is accepted.

use super::Store;
use super::files::{self, Placed};
use crate::base::{Fault, FaultContext, Kind};
use crate::baseline::fingerprint;
use crate::record::Fingerprint;
use crate::record::baseline::{BASELINE_SCHEMA, BaselineEntry};
use std::path::{Path, PathBuf};

/// A baseline of the store; one that cannot be read is named all the same.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The entry in force, or why it cannot be read.
    pub entry: Result<BaselineEntry, Fault>,
}

impl Store {
    /// Every baseline, by name, the retired ones too.
    ///
    /// # Errors
    /// `Missing`, if the folder cannot be read.
    pub fn baselines(&self) -> Result<Vec<Listed>, Fault> {
        let names = files::names(&self.baselines_folder())?.into_iter();
        let listed = names.filter_map(|file| {
            let name = file.strip_suffix(".json")?.to_owned();
            Some(Listed {
                entry: self.baseline(&name),
                name,
            })
        });
        Ok(listed.collect())
    }

    /// The entry of a baseline that is in force: the latest one. A name with a `/` in it or with the
    /// ending `.json` is a file's path.
    ///
    /// # Errors
    /// `Missing`, if there is none; `Usage`, if it cannot be read.
    pub fn baseline(&self, name: &str) -> Result<BaselineEntry, Fault> {
        let is_path = name.contains('/') || name.to_ascii_lowercase().ends_with(".json");
        if is_path {
            return read(Path::new(name))?.ok_or_else(|| self.unknown(name));
        }
        require_name(name)?;
        let current = read(&self.current(name))?;
        let last = self.entries(name)?.last().copied();
        match (current, last) {
            // the writer of the last entry died before it had moved it to its place
            (Some(current), Some(last)) if current.entry < last => self.entry(name, last),
            (Some(current), _) => Ok(current),
            (None, Some(last)) => self.entry(name, last),
            (None, None) => Err(self.unknown(name)),
        }
    }

    /// Everything that a baseline ever was, oldest first.
    ///
    /// # Errors
    /// `Missing`, if there is none; `Usage`, if an entry cannot be read.
    pub fn history_of(&self, name: &str) -> Result<Vec<BaselineEntry>, Fault> {
        let current = self.baseline(name)?;
        let mut all = Vec::new();
        for number in self.entries(&current.name)? {
            all.push(self.entry(&current.name, number)?);
        }
        if !all.iter().any(|entry| entry.entry == current.entry) {
            all.push(current);
        }
        Ok(all)
    }

    /// The baseline in force for a fingerprint, if there is one; what cannot be read is left out, and
    /// given back.
    ///
    /// # Errors
    /// `Usage`, if there are several, with their names.
    pub fn baseline_for(
        &self,
        wanted: &Fingerprint,
    ) -> Result<(Option<BaselineEntry>, Vec<Fault>), Fault> {
        let (mut found, mut faults) = (Vec::new(), Vec::new());
        for listed in self.baselines()? {
            match listed.entry {
                Ok(entry) if entry.retired => {}
                Ok(entry) if fingerprint::differences(&entry.fingerprint, wanted).is_empty() => {
                    found.push(entry);
                }
                Ok(_) => {}
                Err(fault) => faults.push(fault),
            }
        }
        if found.len() > 1 {
            let names = found.iter().map(|entry| entry.name.clone());
            return Err(names
                .fold(
                    Fault::usage("several baselines have this run's fingerprint"),
                    Fault::detail,
                )
                .hint("choose one with `--baseline NAME`, or retire the others"));
        }
        Ok((found.pop(), faults))
    }

    /// Adds an entry to a baseline; its number follows the latest one. What was in force stays in the
    /// history.
    ///
    /// # Errors
    /// `Output`, if it cannot be written or somebody else added one at the same moment; `Usage`, if the
    /// name is not one.
    pub fn accept(&self, mut entry: BaselineEntry) -> Result<BaselineEntry, Fault> {
        require_name(&entry.name)?;
        let current = match self.baseline(&entry.name) {
            Ok(current) => current.entry,
            Err(fault) if fault.kind == Kind::Missing => 0,
            Err(fault) => return Err(fault),
        };
        entry.schema = BASELINE_SCHEMA;
        entry.entry = current + 1;
        let text = serde_json::to_string_pretty(&entry)
            .map_err(|error| Fault::new(Kind::Output, error.to_string()))?
            + "\n";
        // the author and the moment tell two writers apart
        let unique: String = format!("{}-{}", entry.at, entry.author)
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(48)
            .collect();
        match files::place_new(&self.numbered(&entry.name, entry.entry), &text, &unique)? {
            Placed::New => files::replace(&self.current(&entry.name), &text, &unique)?,
            Placed::Taken => {
                let text = format!(
                    "baseline `{}` was changed by somebody else just now",
                    entry.name
                );
                return Err(Fault::new(Kind::Output, text)
                    .hint(format!(
                        "look at it with `ncclbench baseline show {}`",
                        entry.name
                    ))
                    .hint("run this again if it is still to be changed"));
            }
        }
        Ok(entry)
    }

    fn unknown(&self, name: &str) -> Fault {
        let folder = self.baselines_folder();
        Fault::new(Kind::Missing, format!("no baseline `{name}`"))
            .detail(format!("looked for it in `{}`", folder.display()))
            .hint("list them with `ncclbench baseline list`")
            .hint("make one with `ncclbench baseline accept --name NAME --reason TEXT RUN…`")
    }

    fn current(&self, name: &str) -> PathBuf {
        self.baselines_folder().join(format!("{name}.json"))
    }

    fn numbered(&self, name: &str, number: u32) -> PathBuf {
        self.history_folder().join(format!("{name}.{number}.json"))
    }

    fn history_folder(&self) -> PathBuf {
        self.baselines_folder().join("history")
    }

    /// The numbers of a baseline's entries in the history, ascending.
    fn entries(&self, name: &str) -> Result<Vec<u32>, Fault> {
        let files = files::names(&self.history_folder())?;
        let number = |file: &String| {
            let rest = file.strip_prefix(name)?.strip_prefix('.')?;
            rest.strip_suffix(".json")?.parse().ok()
        };
        let mut numbers: Vec<u32> = files.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn entry(&self, name: &str, number: u32) -> Result<BaselineEntry, Fault> {
        read(&self.numbered(name, number))?.ok_or_else(|| self.unknown(name))
    }
}

/// A baseline's file; none where there is no such file.
fn read(path: &Path) -> Result<Option<BaselineEntry>, Fault> {
    let Some(bytes) = files::read(path)? else {
        return Ok(None);
    };
    parse(&bytes)
        .map(Some)
        .while_doing(|| format!("reading `{}`", path.display()))
}

fn parse(bytes: &[u8]) -> Result<BaselineEntry, Fault> {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: u32,
    }
    let not_one = |error: serde_json::Error| Fault::usage(format!("not a baseline: {error}"));
    let Schema { schema } = serde_json::from_slice(bytes).map_err(not_one)?;
    if !(1..=BASELINE_SCHEMA).contains(&schema) {
        return Err(Fault::usage(format!(
            "its schema is {schema}; this version reads schemas up to {BASELINE_SCHEMA}"
        )));
    }
    serde_json::from_slice(bytes).map_err(not_one)
}

/// A name becomes a file's name, here and on any system that the folder is copied to.
fn require_name(name: &str) -> Result<(), Fault> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let ends_in_number = name
        .rsplit('.')
        .next()
        .is_some_and(|end| name.contains('.') && end.chars().all(|letter| letter.is_ascii_digit()));
    if (1..=64).contains(&name.len())
        && name.chars().all(allowed)
        && !name.starts_with(['.', '-'])
        && !ends_in_number
    {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "`{name}` is no name for a baseline; expected at most 64 letters, digits, `-`, `_` and `.`, \
         the first a letter or digit, and no number behind the last `.`"
    )))
}
