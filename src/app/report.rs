//! `ncclbench report`: runs to a document.

use super::gather;
use super::gather::Gathered;
use crate::base::Fault;
use crate::cli::ReportArgs;

/// Writes it; gives the exit code.
pub(super) fn run(args: &ReportArgs) -> u8 {
    match write(args) {
        Ok(()) => 0,
        Err(fault) => super::refuse(&fault),
    }
}

fn write(args: &ReportArgs) -> Result<(), Fault> {
    let gathered = Gathered::read(&args.sources)?;
    let text = (args.document.text)(&gathered.material(&args.sources))?;
    gather::write(args.output.as_deref(), text.as_bytes())
}
