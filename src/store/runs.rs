//! Runs: a new one's file, those of a fingerprint, and one that a person names.

use super::Store;
use super::brief::{self, Brief};
use super::files::{self, fault, missing};
use crate::base::{Fault, FaultContext, Kind};
use crate::baseline::fingerprint;
use crate::record::baseline::Launch;
use crate::record::{Fingerprint, Header};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many folders deep runs are looked for.
const DEPTH: u32 = 4;

/// How many names are tried for a new run.
const TRIES: u32 = 100;

/// A run that is about to be written.
#[derive(Debug)]
pub struct NewRun {
    /// Where.
    pub path: PathBuf,
    /// The empty file.
    pub file: File,
}

/// A run in the store, and what it holds or why it cannot be read.
pub type Read = (StoredRun, Result<Brief, Fault>);

/// A run in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Its file.
    pub path: PathBuf,
    /// Its name: the file's, without ending.
    pub name: String,
}

impl StoredRun {
    /// Reads it for what comparisons need.
    ///
    /// # Errors
    /// `Missing`, if it cannot be read; `Usage`, if it is not a run's file.
    pub fn read(&self) -> Result<Brief, Fault> {
        read(&self.path)
    }
}

/// Reads any run's file for what comparisons need.
///
/// # Errors
/// `Missing`, if it cannot be read; `Usage`, if it is not a run's file.
pub(super) fn read(path: &Path) -> Result<Brief, Fault> {
    let bytes = std::fs::read(path).map_err(|error| missing(&error, "reading", path))?;
    brief::read(&stem(path), &bytes).while_doing(|| format!("reading `{}`", path.display()))
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

impl Store {
    /// Creates the file of a run that is about to begin; it is not there before, whoever else writes.
    ///
    /// # Errors
    /// `Output`, if it cannot be created.
    pub fn create(&self, header: &Header) -> Result<NewRun, Fault> {
        let fields = fingerprint::of(header);
        let folder = self.runs_folder().join(fingerprint::digest(&fields));
        files::make_folder(&folder)?;
        for attempt in 0..TRIES {
            let name = name(header, attempt);
            let path = folder.join(format!("{name}.jsonl"));
            match File::create_new(&path) {
                Ok(file) => {
                    describe(&folder, &fields, &name)?;
                    return Ok(NewRun { path, file });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fault(&error, "creating", &path)),
            }
        }
        let text = format!("no free name in `{}`", folder.display());
        Err(Fault::new(Kind::Output, text))
    }

    /// Every run in the store, by name, wherever in the folder it lies: those that were put there by hand
    /// too. Names begin with the moment.
    ///
    /// # Errors
    /// `Missing`, if a folder cannot be read.
    pub fn runs(&self) -> Result<Vec<StoredRun>, Fault> {
        let mut all = Vec::new();
        gather(&self.root, DEPTH, &mut all)?;
        all.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
        Ok(all)
    }

    /// Every run in the store, read, in the order of [`Store::runs`]; files are read on all processors.
    ///
    /// # Errors
    /// `Missing`, if a folder cannot be read.
    pub fn read_all(&self) -> Result<Vec<Read>, Fault> {
        let runs = self.runs()?;
        let read = in_parallel(&runs, StoredRun::read);
        Ok(runs.into_iter().zip(read).collect())
    }

    /// The launches with a fingerprint, given by its twelve digits, and what could not be read.
    ///
    /// # Errors
    /// `Missing`, if a folder cannot be read.
    pub fn launches_of(&self, digest: &str) -> Result<(Vec<Launch>, Vec<Fault>), Fault> {
        let (mut launches, mut faults) = (Vec::new(), Vec::new());
        for read in in_parallel(&self.runs()?, |run| launch_of(&run.path, digest)) {
            match read {
                Ok(launch) => launches.extend(launch),
                Err(fault) => faults.push(fault),
            }
        }
        Ok((launches, faults))
    }

    /// The run that a person names: a file's path, the name of a stored run or the beginning of one, or
    /// `last`.
    ///
    /// # Errors
    /// `Missing`, if there is none; `Usage`, if several begin so.
    pub fn find(&self, word: &str) -> Result<PathBuf, Fault> {
        let path = PathBuf::from(word);
        if path.is_file() {
            return Ok(path);
        }
        let runs = self.runs()?;
        if word == "last" {
            return newest(&runs).ok_or_else(|| self.nothing(word));
        }
        let found: Vec<&StoredRun> = runs
            .iter()
            .filter(|run| run.name.starts_with(word))
            .collect();
        if let Some(exact) = found.iter().find(|run| run.name == word) {
            return Ok(exact.path.clone());
        }
        match found.as_slice() {
            [one] => Ok(one.path.clone()),
            [] => Err(self.nothing(word)),
            several => Err(several
                .iter()
                .take(8)
                .fold(
                    Fault::usage(format!("{} stored runs begin with `{word}`", several.len())),
                    |fault, run| fault.detail(run.name.clone()),
                )
                .hint("give more of the name")),
        }
    }

    fn nothing(&self, word: &str) -> Fault {
        let text = format!("no file and no stored run `{word}`");
        Fault::new(Kind::Missing, text)
            .detail(format!("looked for it under `{}`", self.root.display()))
            .hint("list what is stored with `ncclbench results list`")
            .hint("name another store with `--store DIR`")
    }

    /// Reads the run that a person names.
    ///
    /// # Errors
    /// Those of [`Store::find`], and `Usage`, if it is not a run's file.
    pub fn read_run(&self, word: &str) -> Result<Brief, Fault> {
        read(&self.find(word)?)
    }
}

/// `20261130T014356Z-1a2b3c`: when the run began, and six digits that differ between runs that begin at
/// once, since their processes do.
fn name(header: &Header, attempt: u32) -> String {
    let started: String = header
        .started
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let seconds = started.get(..15).unwrap_or(&started);
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(header).unwrap_or_default());
    hash.update(attempt.to_le_bytes());
    let digits = fingerprint::hexadecimal(&hash.finalize()[..3]);
    format!("{seconds}Z-{digits}")
}

/// Says beside the runs, for people, what they have in common.
fn describe(folder: &Path, fields: &Fingerprint, unique: &str) -> Result<(), Fault> {
    let path = folder.join("fingerprint.json");
    if path.exists() {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(fields)
        .map_err(|error| Fault::new(Kind::Output, error.to_string()))?;
    files::replace(&path, &(text + "\n"), unique)
}

/// The runs of a folder and of those in it, hidden ones left out.
fn gather(folder: &Path, depth: u32, found: &mut Vec<StoredRun>) -> Result<(), Fault> {
    for file in files::names(folder)? {
        let path = folder.join(&file);
        if let Some(name) = file.strip_suffix(".jsonl") {
            found.push(StoredRun {
                name: name.to_owned(),
                path,
            });
        } else if depth > 0 && path.is_dir() {
            gather(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

/// The launch of a run, if its fingerprint is the one that is wanted.
fn launch_of(path: &Path, digest: &str) -> Result<Option<Launch>, Fault> {
    let bytes = std::fs::read(path).map_err(|error| missing(&error, "reading", path))?;
    let reading = || format!("reading `{}`", path.display());
    let header = brief::read_header(&bytes).while_doing(reading)?;
    if fingerprint::digest(&fingerprint::of(&header)) != digest {
        return Ok(None);
    }
    brief::read(&stem(path), &bytes)
        .map(|brief| Some(brief.launch))
        .while_doing(reading)
}

/// The run that began last, of those that can be read.
fn newest(runs: &[StoredRun]) -> Option<PathBuf> {
    let started = in_parallel(runs, |run| {
        let bytes = std::fs::read(&run.path).ok()?;
        brief::read_header(&bytes).ok().map(|header| header.started)
    });
    let known = runs
        .iter()
        .zip(started)
        .filter(|(_, started)| started.is_some());
    let last = known.max_by(|a, b| a.1.cmp(&b.1));
    last.map(|(run, _)| run.path.clone())
}

/// What `work` makes of each of `runs`, in their order.
fn in_parallel<T: Send>(runs: &[StoredRun], work: impl Fn(&StoredRun) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match runs.get(index) {
                Some(run) => done.push((index, work(run))),
                None => return done,
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.min(runs.len()))
            .map(|_| scope.spawn(worker))
            .collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.flatten().collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, done)| done).collect()
}
