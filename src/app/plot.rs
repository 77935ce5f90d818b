//! `ncclbench plot`: runs to one picture.

use super::gather;
use super::gather::Gathered;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::cli::PictureFormat;
use crate::cli::PlotArgs;
use crate::record::PairMatrix;
use crate::report::material::Material;
use crate::report::plot;
use std::path::Path;

/// Draws it; gives the exit code.
pub(super) fn run(args: &PlotArgs) -> u8 {
    match draw(args) {
        Ok(()) => 0,
        Err(fault) => super::refuse(&fault),
    }
}

fn draw(args: &PlotArgs) -> Result<(), Fault> {
    let gathered = Gathered::read(&args.sources)?;
    let matrix = args.matrix.as_ref().map(|path| {
        PairMatrix::read(&gather::bytes(Path::new(path))?)
            .while_doing(|| format!("reading `{path}`"))
    });
    let matrix = matrix.transpose()?;
    let material = Material {
        matrix: matrix.as_ref(),
        ..gathered.material(&args.sources)
    };
    let picture =
        (args.kind.draw)(&material).while_doing(|| format!("plot `{}`", args.kind.name))?;
    let bytes = match args.format {
        PictureFormat::Svg => plot::svg(&picture)?.into_bytes(),
        PictureFormat::Png => plot::png(&picture)?,
    };
    gather::write(args.output.as_deref(), &bytes)
}
