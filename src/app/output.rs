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

/// All places that a run is written to.
pub(super) struct Output {
    sinks: Vec<Sink>,
    /// The last remark about a row: what is waived is waived in both placements and told once.
    remarked: Option<String>,
}

impl Output {
    /// The table on stdout, and the run's file where one is asked for.
    ///
    /// # Errors
    /// `Output` if the file cannot be created; an existing one is not overwritten.
    pub(super) fn open(file: Option<&str>, has_sections: bool) -> Result<Self, Fault> {
        let mut sinks = vec![Sink {
            name: "stdout".to_owned(),
            report: report::table(),
            out: Box::new(io::stdout()),
            is_broken: false,
            is_sectioned: has_sections,
        }];
        if let Some(path) = file {
            sinks.push(run_file(Path::new(path), create(path)?));
        }
        Ok(Self {
            sinks,
            remarked: None,
        })
    }

    pub(super) fn begin(&mut self, header: &Header) -> Result<(), Fault> {
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
                outcome = outcome.and(Err(Fault::new(Kind::Output, error.to_string())
                    .while_doing(format!("writing {}", sink.name))));
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
    Sink {
        name: format!("`{}`", path.display()),
        report: report::jsonl(),
        out: Box::new(file),
        is_broken: false,
        is_sectioned: false,
    }
}

fn create(path: &str) -> Result<File, Fault> {
    File::create_new(path).map_err(|error| {
        let fault =
            Fault::new(Kind::Output, error.to_string()).while_doing(format!("creating `{path}`"));
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
        let fault = Output::open(path.to_str(), false).err().unwrap();
        assert_eq!(fault.kind, Kind::Output);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    }
}
