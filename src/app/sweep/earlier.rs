//! An interrupted run of the same sweep: found, compared, and written anew with its rows in front.

use super::keep::hold;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::World;
use crate::cli::Resume;
use crate::cli::SweepArgs;
use crate::digest::Figures;
use crate::plan::PlanSpec;
use crate::record::Header;
use crate::record::Line;
use crate::record::Resumed;
use crate::record::Row;
use crate::record::RowKey;
use crate::record::Run;
use crate::report;
use std::collections::BTreeSet;
use std::collections::HashSet;
use std::fs::File;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// An interrupted run.
#[derive(Debug)]
pub(in crate::app) struct Earlier {
    path: PathBuf,
    run: Run,
}

impl Earlier {
    /// The run to go on with; none where there is nothing to go on with.
    ///
    /// # Errors
    /// `Usage` for a file that is no run of this sweep or is complete, `Output` where one cannot be read.
    pub(in crate::app) fn find(sweep: &SweepArgs, digest: &str) -> Result<Option<Self>, Fault> {
        let found = match &sweep.resume {
            None => None,
            Some(Resume::File(file)) => Some(Self::named(Path::new(file), &sweep.config.name)?),
            Some(Resume::Newest) => newest(Path::new(&sweep.store), &sweep.config.name)?,
        };
        found
            .map(|earlier| earlier.require_plan(digest))
            .transpose()
    }

    fn named(path: &Path, name: &str) -> Result<Self, Fault> {
        let earlier = Self::read(path)?;
        let sweep = earlier.run.header.sweep.as_ref();
        let refuse = |why: String| Err(Fault::usage(format!("`{}` {why}", path.display())));
        match sweep {
            None => return refuse("is no run of a sweep".to_owned()),
            Some(sweep) if sweep.name != name => {
                return refuse(format!(
                    "is a run of sweep `{}`, not of `{name}`",
                    sweep.name
                ));
            }
            Some(_) => {}
        }
        if is_complete(&earlier.run) {
            return refuse("is complete; there is nothing to go on with".to_owned());
        }
        Ok(earlier)
    }

    fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read(path).map_err(|error| output(&error, "reading", path))?;
        let run = Run::read(&text)
            .map_err(|fault| fault.while_doing(format!("reading `{}`", path.display())))?;
        Ok(Self {
            path: path.to_owned(),
            run,
        })
    }

    fn require_plan(self, digest: &str) -> Result<Self, Fault> {
        let theirs = self.run.header.sweep.as_ref().map(|sweep| &sweep.digest);
        if theirs.is_some_and(|theirs| theirs == digest) {
            return Ok(self);
        }
        let theirs = theirs.map_or("none", String::as_str);
        Err(Fault::usage(format!(
            "the interrupted run `{}` has plan {theirs}, this sweep has {digest}: the configuration or the number of ranks has changed",
            self.path.display()
        ))
        .hint("start a new run without `--resume`, or resume with the configuration and the launch that it had"))
    }

    /// Whether rows of this run may stand beside new ones: same backend, shape, libraries and devices.
    ///
    /// # Errors
    /// `Usage`, naming what differs.
    pub(in crate::app) fn require_same(&self, now: &Header) -> Result<(), Fault> {
        let then = &self.run.header;
        let libraries = |header: &Header| -> BTreeSet<String> {
            let text = |one: &crate::record::LibraryRecord| format!("{} {}", one.name, one.version);
            header.libraries.iter().map(text).collect()
        };
        let devices = |header: &Header| -> BTreeSet<String> {
            let seats = header.seats.iter();
            seats.map(|seat| seat.device.name.clone()).collect()
        };
        let fields = [
            ("backend", then.backend.clone(), now.backend.clone()),
            ("average", then.average.clone(), now.average.clone()),
            (
                "shape",
                format!("{:?}", then.shape),
                format!("{:?}", now.shape),
            ),
            (
                "libraries",
                format!("{:?}", libraries(then)),
                format!("{:?}", libraries(now)),
            ),
            (
                "devices",
                format!("{:?}", devices(then)),
                format!("{:?}", devices(now)),
            ),
        ];
        let differs = fields.iter().find(|(_, then, now)| then != now);
        match differs {
            None => Ok(()),
            Some((what, then, now)) => Err(Fault::usage(format!(
                "the interrupted run `{}` cannot be resumed here: {what} was {then}, now it is {now}",
                self.path.display()
            ))
            .hint("start a new run without `--resume`")),
        }
    }

    /// What the new header says of this run and of those before it.
    pub(in crate::app) fn records(&self) -> Vec<Resumed> {
        let header = &self.run.header;
        let hosts: BTreeSet<_> = header.seats.iter().map(|seat| seat.host.clone()).collect();
        let before = header.sweep.as_ref().map(|sweep| sweep.resumed.clone());
        let mut records = before.unwrap_or_default();
        records.push(Resumed {
            started: header.started.clone(),
            rows: self.run.rows.len() as u64,
            hosts: hosts.into_iter().collect(),
            fault: self
                .run
                .footer
                .as_ref()
                .and_then(|footer| footer.fault.clone()),
        });
        records
    }

    /// Its rows.
    pub(in crate::app) fn kept(&self) -> &[Row] {
        &self.run.rows
    }

    /// What the rows came to.
    pub(in crate::app) fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        self.run.rows.iter().for_each(|row| figures.add(row));
        figures
    }

    /// Which rows of all passes it has.
    ///
    /// # Errors
    /// Those of making the plan.
    pub(in crate::app) fn rows(
        &self,
        parts: &[PlanSpec],
        steps: &[usize],
        world: World,
    ) -> Result<HashSet<u64>, Fault> {
        let keys = self.run.rows.iter();
        let has = keys.map(|row| (RowKey::of(&row.case), row.case.cycle));
        crate::app::rounds::rows_of(&has.collect(), parts, steps, world)
    }

    /// Says what is gone on with.
    pub(in crate::app) fn note(&self) -> String {
        format!(
            "goes on with the interrupted run `{}` of {}, which has {} rows",
            self.path.display(),
            self.run.header.started,
            self.run.rows.len()
        )
    }

    /// Writes the file anew, `header` and the rows that there are, and gives it for what follows. The
    /// old file is replaced when the new one is complete, so that no row is ever lost.
    ///
    /// # Errors
    /// `Output` where it cannot be written or another process has it.
    pub(in crate::app) fn rewrite(&self, header: &Header) -> Result<(PathBuf, File), Fault> {
        let failed = |error: std::io::Error| output(&error, "writing", &self.path);
        let old = File::open(&self.path).map_err(failed)?;
        hold(&old, &self.path)?;
        let new_path = self.path.with_extension("resuming");
        let mut file = File::create(&new_path).map_err(failed)?;
        hold(&file, &new_path)?;
        let mut text = Vec::new();
        let mut report = report::jsonl();
        report.begin(header, &mut text).map_err(failed)?;
        for row in &self.run.rows {
            report.row(row, &mut text).map_err(failed)?;
        }
        file.write_all(&text).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        std::fs::rename(&new_path, &self.path).map_err(failed)?;
        Ok((self.path.clone(), file))
    }
}

/// Whether a run came to its end: it has a footer, and nothing ended it early.
fn is_complete(run: &Run) -> bool {
    let footer = run.footer.as_ref();
    footer.is_some_and(|footer| footer.fault.is_none())
}

/// The interrupted run of sweep `name` that was begun last, unless a complete one was begun later.
fn newest(store: &Path, name: &str) -> Result<Option<Earlier>, Fault> {
    let mut headers = Vec::new();
    collect(store, name, &mut headers)?;
    headers.sort();
    let Some((_, path)) = headers.pop() else {
        return Ok(None);
    };
    let earlier = Earlier::read(&path)?;
    Ok((!is_complete(&earlier.run)).then_some(earlier))
}

/// Begin and path of every run of sweep `name` under a folder.
fn collect(folder: &Path, name: &str, found: &mut Vec<(String, PathBuf)>) -> Result<(), Fault> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(output(&error, "reading", folder)),
    };
    for entry in entries {
        let path = entry
            .map_err(|error| output(&error, "reading", folder))?
            .path();
        if path.is_dir() {
            collect(&path, name, found)?;
        } else if path.extension().is_some_and(|ending| ending == "jsonl")
            && let Some(header) = header(&path)?
            && header.sweep.is_some_and(|sweep| sweep.name == name)
        {
            found.push((header.started, path));
        }
    }
    Ok(())
}

/// The header of a run's file; none of what is another thing.
fn header(path: &Path) -> Result<Option<Header>, Fault> {
    let file = File::open(path).map_err(|error| output(&error, "reading", path))?;
    let mut line = Vec::new();
    BufReader::new(file)
        .read_until(b'\n', &mut line)
        .map_err(|error| output(&error, "reading", path))?;
    match serde_json::from_slice::<Line>(&line) {
        Ok(Line::Header(header)) => Ok(Some(*header)),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn output(error: &std::io::Error, doing: &str, path: &Path) -> Fault {
    Fault::new(Kind::Output, error.to_string()).while_doing(format!("{doing} `{}`", path.display()))
}

/// The last complete run of a plan in the store, and how long its rows took.
///
/// # Errors
/// `Output` where the store cannot be read.
pub(super) fn took(sweep: &SweepArgs, digest: &str) -> Result<Option<(String, Duration)>, Fault> {
    let mut found = Vec::new();
    collect(Path::new(&sweep.store), &sweep.config.name, &mut found)?;
    found.sort();
    for (_, path) in found.iter().rev() {
        let earlier = Earlier::read(path)?;
        let header = &earlier.run.header;
        let same = header
            .sweep
            .as_ref()
            .is_some_and(|sweep| sweep.digest == digest);
        if same && is_complete(&earlier.run) {
            let rows = earlier.run.rows.iter();
            let spent = rows.filter_map(|row| row.quality.spent.as_ref());
            let took: f64 = spent.map(|spent| spent.whole_ms).sum();
            let took = Duration::try_from_secs_f64(took / 1e3).unwrap_or_default();
            return Ok(Some((path.display().to_string(), took)));
        }
    }
    Ok(None)
}
