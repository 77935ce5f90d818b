//! Where the first process writes: the table on stdout and the run's file, row by row.

use crate::base::Fault;
use crate::base::Kind;
use crate::record::Footer;
use crate::record::Header;
use crate::record::Outcome;
use crate::record::Row;
use crate::report;
use crate::report::Report;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;

/// One place that is written to.
struct Sink {
    name: String,
    report: Box<dyn Report>,
    out: Box<dyn Write + Send>,
    /// A write has failed, so that what is there may end in the middle of a line.
    is_broken: bool,
    /// It opens and closes with each part, and not with the run.
    is_sectioned: bool,
}

impl Sink {
    fn new(name: String, report: Box<dyn Report>, out: impl Write + Send + 'static) -> Self {
        Self {
            name,
            report,
            out: Box::new(out),
            is_broken: false,
            is_sectioned: false,
        }
    }
}

/// The files that a run is written to besides stdout, where they are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Files<'a> {
    /// The run's file (`--output`); never one that exists.
    pub(super) run: Option<&'a str>,
    /// nccl-tests' JSON (`-J`); beside one that exists.
    pub(super) json: Option<&'a str>,
    /// Every part has a table of its own.
    pub(super) has_sections: bool,
}

/// All places that a run is written to.
pub(super) struct Output {
    sinks: Vec<Sink>,
    /// What stdout begins with.
    opening: String,
    /// The last remark about a row: what is waived is waived in both placements and told once.
    remarked: Option<String>,
}

impl Output {
    /// The table on stdout, and the files that are asked for.
    ///
    /// # Errors
    /// `Output` if a file cannot be created; an existing one is not overwritten.
    pub(super) fn open(files: Files<'_>) -> Result<Self, Fault> {
        let mut sinks = vec![Sink {
            is_sectioned: files.has_sections,
            ..Sink::new("stdout".to_owned(), report::table(), io::stdout())
        }];
        if let Some(path) = files.run {
            let path = Path::new(path);
            sinks.push(run_file(path, create(path)?));
        }
        let mut opening = String::new();
        if let Some(path) = files.json {
            let (path, file) = create_beside(path)?;
            opening = format!("# Writing JSON output to {path}\n");
            sinks.push(Sink::new(format!("`{path}`"), report::nccl_json(), file));
        }
        Ok(Self {
            sinks,
            opening,
            remarked: None,
        })
    }

    pub(super) fn begin(&mut self, header: &Header) -> Result<(), Fault> {
        let opening = std::mem::take(&mut self.opening);
        let stdout = &mut self.sinks[0];
        let told = stdout.out.write_all(opening.as_bytes());
        told.map_err(|error| output(&error, &stdout.name))?;
        self.each(is_whole, |report, out| report.begin(header, out))
    }

    /// Writes to this run's file too from now on.
    pub(super) fn keep(&mut self, path: &Path, file: File) {
        self.sinks.push(run_file(path, file));
    }

    /// Begins a part's table.
    pub(super) fn open_section(&mut self, header: &Header) -> Result<(), Fault> {
        self.each(is_sectioned, |report, out| report.begin(header, out))
    }

    /// Ends it.
    pub(super) fn close_section(&mut self, footer: &Footer) -> Result<(), Fault> {
        self.each(is_sectioned, |report, out| report.end(footer, out))
    }

    pub(super) fn row(&mut self, row: &Row) -> Result<(), Fault> {
        let remark = remark(row);
        if let Some(text) = remark.as_ref().filter(|_| remark != self.remarked) {
            super::say(text);
        }
        self.remarked = remark;
        self.each(|_| true, |report, out| report.row(row, out))
    }

    pub(super) fn end(&mut self, footer: &Footer) -> Result<(), Fault> {
        self.each(is_whole, |report, out| report.end(footer, out))
    }

    /// Closes the run's file after a fault: the rows stay, the footer says what ended them. The
    /// table stays as it is, because a table that is complete means a run that is.
    pub(super) fn cut_short(&mut self, footer: &Footer) {
        let whole = self.sinks.iter_mut().skip(1).filter(|sink| !sink.is_broken);
        for sink in whole {
            if let Err(error) = sink.report.end(footer, &mut sink.out) {
                super::say(&format!("warning: writing {}: {error}", sink.name));
            }
        }
    }

    fn each(
        &mut self,
        is_meant: fn(&Sink) -> bool,
        mut write: impl FnMut(&mut dyn Report, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let meant = |sink: &&mut Sink| !sink.is_broken && is_meant(sink);
        for sink in self.sinks.iter_mut().filter(meant) {
            let written = write(&mut *sink.report, &mut *sink.out);
            if let Err(error) = written.and_then(|()| sink.out.flush()) {
                sink.is_broken = true;
                outcome = outcome.and(Err(output(&error, &sink.name)));
            }
        }
        outcome
    }
}

fn is_whole(sink: &Sink) -> bool {
    !sink.is_sectioned
}

fn is_sectioned(sink: &Sink) -> bool {
    sink.is_sectioned
}

/// A run's file as a place that is written to.
fn run_file(path: &Path, file: File) -> Sink {
    Sink::new(format!("`{}`", path.display()), report::jsonl(), file)
}

fn output(error: &io::Error, place: &str) -> Fault {
    Fault::new(Kind::Output, error.to_string()).while_doing(format!("writing {place}"))
}

/// The file, or the first of `path.0`, `path.1` and so on that does not exist yet.
///
/// # Source
/// nccl-tests 2.19.6, `src/util.cu`, `jsonOutputInit`.
fn create_beside(path: &str) -> Result<(String, File), Fault> {
    let others = (0u32..).map(|number| format!("{path}.{number}"));
    for path in std::iter::once(path.to_owned()).chain(others) {
        match File::create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(output(&error, &format!("`{path}`"))),
        }
    }
    Err(Fault::new(
        Kind::Output,
        format!("there is no free name beside `{path}`"),
    ))
}

/// A run's file, which must not be there yet.
///
/// # Errors
/// `Output`, with a hint where it is.
pub(super) fn create(path: &Path) -> Result<File, Fault> {
    File::create_new(path).map_err(|error| {
        let doing = format!("creating `{}`", path.display());
        let fault = Fault::new(Kind::Output, error.to_string()).while_doing(doing);
        if error.kind() == io::ErrorKind::AlreadyExists {
            fault.hint("results are never overwritten; remove the file or give another name")
        } else {
            fault
        }
    })
}

/// What a person must be told about a row, besides its numbers.
fn remark(row: &Row) -> Option<String> {
    let case = &row.case;
    let redop = case.redop.map_or("none", |redop| redop.name());
    let what = format!("{} {} {redop} {}", case.collective, case.dtype, case.size);
    match &row.outcome {
        Outcome::Waived { reason } => Some(format!("note: waived {what}: {reason}")),
        Outcome::Measured {
            wrong: Some(wrong),
            bad,
            ..
        } if *wrong > 0 => {
            let placement = case.placement;
            let mut text = format!("wrong: {what} {placement}: {wrong} elements differ");
            for element in bad.iter().take(4) {
                text.push_str("\n  ");
                text.push_str(&describe(element));
            }
            Some(text)
        }
        Outcome::Measured { .. } => None,
    }
}

fn describe(bad: &crate::record::BadElement) -> String {
    let gpu = bad
        .gpu
        .map_or_else(String::new, |gpu| format!(", gpu {gpu}"));
    format!(
        "rank {} ({}{gpu}), element {}: got bits {:#x}, expected {:#x}: {}",
        bad.rank, bad.host, bad.index, bad.got_bits, bad.expected_bits, bad.class
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        std::fs::write(&path, "kept").unwrap();
        let files = |run, json| Files {
            run,
            json,
            has_sections: false,
        };
        let fault = Output::open(files(path.to_str(), None)).err().unwrap();
        assert_eq!(fault.kind, Kind::Output);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
        for name in ["run.jsonl.0", "run.jsonl.1"] {
            let output = Output::open(files(None, path.to_str())).unwrap();
            assert!(
                output.opening.ends_with(&format!("{name}\n")),
                "{}",
                output.opening
            );
            assert!(folder.path().join(name).exists());
        }
    }
}
