//! Reads what pictures and documents are made from: runs, published numbers, figures of pairs.

use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::cli::Sources;
use crate::record::Published;
use crate::record::Run;
use crate::record::Verdict;
use crate::report::material::Material;
use crate::report::material::Named;
use std::path::Path;
use std::path::PathBuf;

/// Everything that was read, for a material to borrow from.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Each run with its name.
    runs: Vec<(String, Run)>,
    published: Vec<Published>,
    verdict: Option<Verdict>,
}

impl Gathered {
    /// Reads all sources; a folder stands for the runs in it.
    ///
    /// # Errors
    /// `Missing` if a file cannot be read, `Usage` if it is not what it should be; both name it.
    pub(super) fn read(sources: &Sources) -> Result<Self, Fault> {
        let paths = paths(&sources.runs)?;
        let mut labels = names(&paths);
        for (label, given) in labels.iter_mut().zip(&sources.labels) {
            label.clone_from(given);
        }
        if sources.labels.len() > paths.len() {
            let (given, count) = (sources.labels.len(), paths.len());
            return Err(Fault::usage(format!(
                "`--label` was given {given} times for {count} runs"
            )));
        }
        let runs = in_parallel(&paths, |path| {
            Run::read(&bytes(path)?).while_doing(|| format!("reading `{}`", path.display()))
        })?;
        let mut published = Vec::new();
        for path in &sources.references {
            let text = bytes(Path::new(path))?;
            let text = String::from_utf8_lossy(&text);
            published.extend(Published::read(&text).while_doing(|| format!("reading `{path}`"))?);
        }
        let verdict = sources.verdict.as_deref().map(verdict).transpose()?;
        Ok(Self {
            runs: labels.into_iter().zip(runs).collect(),
            published,
            verdict,
        })
    }

    /// What is to be shown of it.
    pub(super) fn material<'a>(&'a self, sources: &Sources) -> Material<'a> {
        Material {
            runs: self
                .runs
                .iter()
                .map(|(label, run)| Named {
                    label: label.clone(),
                    run,
                })
                .collect(),
            wish: sources.wish.clone(),
            title: sources.title.clone(),
            is_logarithmic: sources.is_logarithmic,
            ceilings: sources.ceilings.clone(),
            published: &self.published,
            verdict: self.verdict.as_ref(),
            history: self
                .verdict
                .as_ref()
                .map_or_else(Vec::new, |verdict| verdict.history.clone()),
            ..Material::default()
        }
    }
}

/// A verdict from its file.
fn verdict(path: &str) -> Result<Verdict, Fault> {
    serde_json::from_slice(&bytes(Path::new(path))?).map_err(|error| {
        Fault::usage(format!("not a verdict: {error}"))
            .while_doing(format!("reading `{path}`"))
            .hint("make one: `ncclbench compare --json`")
    })
}

/// A file's bytes.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Fault> {
    std::fs::read(path).map_err(|error| {
        Fault::new(Kind::Missing, error.to_string())
            .while_doing(format!("reading `{}`", path.display()))
    })
}

/// Writes a file, or stdout.
pub(super) fn write(output: Option<&str>, bytes: &[u8]) -> Result<(), Fault> {
    use std::io::Write as _;
    let Some(path) = output else {
        return match std::io::stdout().write_all(bytes) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Fault::new(Kind::Output, error.to_string()).while_doing("writing stdout"))
            }
            _ => Ok(()),
        };
    };
    std::fs::write(path, bytes).map_err(|error| {
        Fault::new(Kind::Output, error.to_string()).while_doing(format!("writing `{path}`"))
    })
}

/// The files that are meant, those of a folder sorted by name.
fn paths(given: &[String]) -> Result<Vec<PathBuf>, Fault> {
    let mut all = Vec::new();
    for path in given.iter().map(Path::new) {
        if path.is_dir() {
            let before = all.len();
            within(path, &mut all)?;
            if all.len() == before {
                return Err(Fault::usage(format!(
                    "there is no `.jsonl` file in `{}`",
                    path.display()
                )));
            }
        } else {
            all.push(path.to_owned());
        }
    }
    Ok(all)
}

fn within(folder: &Path, all: &mut Vec<PathBuf>) -> Result<(), Fault> {
    let refuse = |error: std::io::Error| {
        Fault::new(Kind::Missing, error.to_string())
            .while_doing(format!("reading `{}`", folder.display()))
    };
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(refuse)? {
        entries.push(entry.map_err(refuse)?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            within(&path, all)?;
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            all.push(path);
        }
    }
    Ok(())
}

/// What to call each run: its file's name, with its folder where names are the same.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let stem = |path: &PathBuf| {
        path.file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    };
    let mut counts = std::collections::HashMap::<String, usize>::new();
    for path in paths {
        *counts.entry(stem(path)).or_default() += 1;
    }
    let name = |path: &PathBuf| {
        let stem = stem(path);
        let folder = path.parent().and_then(Path::file_name);
        match folder {
            Some(folder) if counts[&stem] > 1 => format!("{}/{stem}", folder.to_string_lossy()),
            _ => stem,
        }
    };
    paths.iter().map(name).collect()
}

/// Applies a function to all items, on all processors, and gives the first fault in their order.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Fault> + Sync,
) -> Result<Vec<R>, Fault> {
    let workers = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let part = items.len().div_ceil(workers).max(1);
    let parts: Vec<Result<Vec<R>, Fault>> = std::thread::scope(|scope| {
        let started: Vec<_> = items
            .chunks(part)
            .map(|chunk| scope.spawn(|| chunk.iter().map(&work).collect::<Result<Vec<R>, Fault>>()))
            .collect();
        let joined = started.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    let mut all = Vec::with_capacity(items.len());
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_are_called_by_their_folders_too() {
        let paths = ["a/run.jsonl", "b/run.jsonl", "b/other.jsonl"].map(PathBuf::from);
        assert_eq!(names(&paths), ["a/run", "b/run", "other"]);
    }

    #[test]
    fn a_folder_stands_for_all_runs_in_it_and_an_empty_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("night");
        std::fs::create_dir(&inner).unwrap();
        let given = [folder.path().to_str().unwrap().to_owned()];
        let fault = paths(&given).unwrap_err();
        assert!(fault.to_string().contains("no `.jsonl` file"), "{fault}");
        for name in ["night/b.jsonl", "night/a.jsonl", "c.jsonl", "baseline.json"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found: Vec<_> = paths(&given).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(found, ["c.jsonl", "night/a.jsonl", "night/b.jsonl"]);
    }

    #[test]
    fn work_in_parallel_keeps_its_order_and_its_first_fault() {
        let numbers: Vec<u32> = (0..37).collect();
        let doubled = in_parallel(&numbers, |number| Ok(number * 2)).unwrap();
        assert_eq!(
            doubled,
            (0..37).map(|number| number * 2).collect::<Vec<_>>()
        );
        let fault = in_parallel(&numbers, |number| match number {
            5 | 30 => Err(Fault::usage(number.to_string())),
            _ => Ok(()),
        });
        assert_eq!(fault.unwrap_err().message, "5");
        assert!(in_parallel(&[] as &[u32], |_| Ok(())).unwrap().is_empty());
    }
}
