//! Which runs a picture or a document is made from, and what they are held against: the options that
//! `plot` and `report` share.

use super::values::size;
use crate::base::{Bytes, DataType, Fault, FaultContext, Placement, RedOp};
use crate::collective;
use crate::report::material::{Ceiling, Wish};
use clap::Args;

/// Runs, and what to hold them against, as plain values.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources {
    /// Files, or folders with files in them.
    pub runs: Vec<String>,
    /// Names for the runs, in their order; files' names for those that have none.
    pub labels: Vec<String>,
    /// Which rows.
    pub wish: Wish,
    /// A title instead of the one that follows from the runs.
    pub title: Option<String>,
    /// Bandwidths that cannot be exceeded.
    pub ceilings: Vec<Ceiling>,
    /// CSV files of published numbers.
    pub references: Vec<String>,
    /// Bandwidths on an axis of powers of ten.
    pub is_logarithmic: bool,
    /// A file with a verdict.
    pub verdict: Option<String>,
}

/// The options.
#[derive(Debug, Clone, Args)]
pub(super) struct SourceOptions {
    /// A run's file (written by `--output` or a sweep), or a folder: all `.jsonl` files in it
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// What to call a run, in the order of the runs [default: its file's name]
    #[arg(long, value_name = "NAME", help_heading = "Texts and axes")]
    label: Vec<String>,
    /// A title in the place of the one that follows from the runs
    #[arg(long, value_name = "TEXT", help_heading = "Texts and axes")]
    title: Option<String>,

    /// Draw bandwidths on a logarithmic axis
    #[arg(long, help_heading = "Texts and axes")]
    log: bool,
    /// Rows of this collective only
    #[arg(long, value_name = "NAME", help_heading = "Which rows")]
    collective: Option<String>,
    /// Rows of this datatype only
    #[arg(long, value_name = "TYPE", help_heading = "Which rows")]
    dtype: Option<String>,
    /// Rows of this reduction operator only
    #[arg(long, value_name = "OP", help_heading = "Which rows")]
    redop: Option<String>,
    /// out-of-place, in-place or both [default: out-of-place where there are such rows]
    #[arg(long, value_name = "PLACEMENT", help_heading = "Which rows")]
    placement: Option<String>,
    /// Rows of this size only, e.g., 64K, 1G (powers of 1024)
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Which rows")]
    size: Option<Bytes>,

    /// A bandwidth that cannot be exceeded, in GB/s of 10^9 bytes; with a name: `400=line rate`
    #[arg(long, value_name = "GBPS[=NAME]", value_parser = ceiling, help_heading = "What to hold them against")]
    ceiling: Vec<Ceiling>,
    /// A CSV file of published numbers, such as docs/gallery/published.csv
    #[arg(long, value_name = "FILE", help_heading = "What to hold them against")]
    reference: Vec<String>,
    /// A comparison with a baseline, as `ncclbench compare --json` writes it: the baseline's band, the changes,
    /// the history
    #[arg(long, value_name = "FILE", help_heading = "What to hold them against")]
    verdict: Option<String>,
}

impl SourceOptions {
    /// As plain values.
    ///
    /// # Errors
    /// `Usage`, naming the option and what it accepts.
    pub(super) fn resolve(self) -> Result<Sources, Fault> {
        let one_placement = self.placement.as_deref().filter(|text| *text != "both");
        let wish = Wish {
            collective: read("--collective", self.collective.as_deref(), |text| {
                collective::by_name(text).map(|found| found.name().to_owned())
            })?,
            dtype: read("--dtype", self.dtype.as_deref(), str::parse::<DataType>)?,
            redop: read("--redop", self.redop.as_deref(), str::parse::<RedOp>)?,
            placement: read("--placement", one_placement, placement)?,
            both_placements: self.placement.as_deref() == Some("both"),
            requested: self.size.map(|bytes| bytes.0),
        };
        Ok(Sources {
            runs: self.runs,
            labels: self.label,
            wish,
            title: self.title,
            ceilings: self.ceiling,
            references: self.reference,
            is_logarithmic: self.log,
            verdict: self.verdict,
        })
    }
}

fn read<T>(
    option: &str,
    text: Option<&str>,
    reader: impl Fn(&str) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    text.map(|text| reader(text).while_doing(|| format!("`{option}`")))
        .transpose()
}

fn placement(text: &str) -> Result<Placement, Fault> {
    let found = Placement::ALL
        .into_iter()
        .find(|placement| placement.to_string() == text);
    found.ok_or_else(|| {
        Fault::usage(format!(
            "unknown placement `{text}`; accepted: out-of-place, in-place, both"
        ))
    })
}

fn ceiling(text: &str) -> Result<Ceiling, String> {
    let (number, label) = text.split_once('=').unwrap_or((text, ""));
    let value = number
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite() && *value > 0.0);
    let gbps = value.ok_or_else(|| {
        format!(
            "`{text}` is not a bandwidth; expected GB/s above 0, e.g., `400` or `400=line rate`"
        )
    })?;
    Ok(Ceiling {
        gbps,
        label: label.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_a_number_above_zero_with_or_without_a_name() {
        assert_eq!(
            ceiling("400"),
            Ok(Ceiling {
                gbps: 400.0,
                label: String::new()
            })
        );
        let named = ceiling("46.5=ring = best").unwrap();
        assert_eq!((named.gbps, named.label.as_str()), (46.5, "ring = best"));
        for text in ["", "fast", "-1", "0", "inf", "NaN", "=x"] {
            assert!(ceiling(text).is_err(), "{text}");
        }
    }
}
