//! `ncclbench import`: from logs to runs' files.

use super::allow_list;
use super::gather;
use super::output;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::moment;
use crate::cli::ImportArgs;
use crate::import;
use crate::import::About;
use crate::import::Found;
use crate::record::Run;
use crate::report;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::UNIX_EPOCH;

/// How many complaints about a file are printed.
const MOST_COMPLAINTS: usize = 20;

/// Reads every log, writes what it held, says what could not be read.
pub(super) fn run(args: &ImportArgs) -> u8 {
    let mut runs = Vec::new();
    for log in &args.logs {
        match read(log, args) {
            Ok(found) => {
                complain(log, &found);
                runs.extend(found.runs);
            }
            Err(fault) => return super::refuse(&fault),
        }
    }
    if runs.is_empty() {
        let fault = Fault::usage("no row of nccl-tests was found");
        return super::refuse(&fault.hint("give its output (stdout) or the file of its `-J`"));
    }
    match write_all(&runs, args.output.as_deref()) {
        Ok(()) => 0,
        Err(fault) => super::refuse(&fault),
    }
}

fn read(log: &Path, args: &ImportArgs) -> Result<Found, Fault> {
    let bytes = gather::bytes(log)?;
    let written = std::fs::metadata(log).and_then(|file| file.modified());
    let written = written.map_err(|error| {
        Fault::new(Kind::Missing, error.to_string())
            .while_doing(format!("reading `{}`", log.display()))
    })?;
    let since_1970 = written.duration_since(UNIX_EPOCH);
    let about = About {
        name: log.display().to_string(),
        written: moment::rfc3339(since_1970.unwrap_or(Duration::ZERO)),
        collective: args.collective,
        kept: allow_list::of,
    };
    Ok(import::read(&String::from_utf8_lossy(&bytes), &about))
}

fn complain(log: &Path, found: &Found) {
    for complaint in found.complaints.iter().take(MOST_COMPLAINTS) {
        super::say(&format!(
            "{}:{}: {}",
            log.display(),
            complaint.line,
            complaint.why
        ));
    }
    let more = found.complaints.len().saturating_sub(MOST_COMPLAINTS);
    if more > 0 {
        super::say(&format!("{}: and {more} more lines", log.display()));
    }
}

fn write_all(runs: &[Run], file: Option<&str>) -> Result<(), Fault> {
    for (index, run) in runs.iter().enumerate() {
        match file {
            None => write(run, "stdout", &mut io::stdout().lock())?,
            Some(file) => {
                let path = numbered(Path::new(file), index);
                write(
                    run,
                    &path.display().to_string(),
                    &mut output::create(&path)?,
                )?;
                let (what, n_rows) = (&run.header.collective, run.rows.len());
                super::say(&format!("{}: {what}, {n_rows} rows", path.display()));
            }
        }
    }
    if file.is_none() && runs.len() > 1 {
        super::say(&format!(
            "note: {} runs follow one another on stdout; `--output` writes a file for each",
            runs.len()
        ));
    }
    Ok(())
}

/// `run.jsonl`, `run-2.jsonl`, …
fn numbered(path: &Path, index: usize) -> PathBuf {
    if index == 0 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{}", index + 1);
    if let Some(extension) = path.extension() {
        name.push('.');
        name.push_str(&extension.to_string_lossy());
    }
    path.with_file_name(name)
}

fn write(run: &Run, name: &str, out: &mut dyn Write) -> Result<(), Fault> {
    let mut report = report::jsonl();
    let mut all = || {
        report.begin(&run.header, out)?;
        run.rows.iter().try_for_each(|row| report.row(row, out))?;
        match &run.footer {
            Some(footer) => report.end(footer, out),
            None => Ok(()),
        }
    };
    all().map_err(|error| {
        Fault::new(Kind::Output, error.to_string()).while_doing(format!("writing {name}"))
    })
}
