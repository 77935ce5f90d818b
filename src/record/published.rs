//! Numbers that others have published, from a CSV file: points to hold runs against.
//!
//! `docs/gallery/published.csv` is such a file. Published numbers are for orientation: the software
//! behind them differs from yours.

use crate::base::{Bytes, Fault};

/// One published measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Who published it and when.
    pub source: String,
    /// The machines: an instance type.
    pub system: String,
    /// How many of them.
    pub nodes: u32,
    /// GPUs that took part on each; 0 where it was between hosts.
    pub gpus_per_node: u32,
    /// The collective's one spelling, or `pingpong`.
    pub collective: String,
    /// Message size.
    pub size: Bytes,
    /// What carried it: `efa`, `socket`, `tcp`.
    pub network: String,
    /// Time of one operation in µs.
    pub time_us: Option<f64>,
    /// Algorithm bandwidth in GB/s.
    pub algbw_gbps: Option<f64>,
    /// Bus bandwidth in GB/s.
    pub busbw_gbps: Option<f64>,
}

/// The columns, by name; they may stand in any order.
const COLUMNS: [&str; 10] = [
    "source",
    "system",
    "nodes",
    "gpus_per_node",
    "collective",
    "message_bytes",
    "network",
    "time_us",
    "algbw_gbps",
    "busbw_gbps",
];

impl Published {
    /// Reads a CSV file with one measurement a line under a line of names.
    ///
    /// # Errors
    /// `Usage`, with line and column, if a column is missing or a value cannot be read.
    pub fn read(text: &str) -> Result<Vec<Self>, Fault> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let names = reader.headers().map_err(|error| refused(&error))?.clone();
        let place = |column: &str| {
            let found = names.iter().position(|name| name.trim() == column);
            found.ok_or_else(|| {
                Fault::usage(format!("there is no column `{column}`"))
                    .detail(format!(
                        "its columns are {}",
                        names.iter().collect::<Vec<_>>().join(", ")
                    ))
                    .hint(format!(
                        "the first line names the columns: {}",
                        COLUMNS.join(",")
                    ))
            })
        };
        let mut places = [0; COLUMNS.len()];
        for (column, at) in COLUMNS.iter().zip(&mut places) {
            *at = place(column)?;
        }
        let lines = reader
            .records()
            .map(|line| line.map_err(|error| refused(&error)));
        lines.map(|line| Self::of(&line?, &places)).collect()
    }

    fn of(line: &csv::StringRecord, places: &[usize; COLUMNS.len()]) -> Result<Self, Fault> {
        let number = line.position().map_or(0, csv::Position::line);
        let cell = |column: usize| line.get(places[column]).unwrap_or_default().trim();
        let refuse = |column: usize, expected: &str| {
            let (name, value) = (COLUMNS[column], cell(column));
            Fault::usage(format!(
                "line {number}: `{name}` is `{value}`; expected {expected}"
            ))
        };
        let whole = |column| {
            cell(column)
                .parse()
                .map_err(|_| refuse(column, "a whole number"))
        };
        let figure = |column: usize| match cell(column) {
            "" => Ok(None),
            text => {
                let value = text
                    .parse::<f64>()
                    .ok()
                    .filter(|value| value.is_finite() && *value > 0.0);
                value
                    .map(Some)
                    .ok_or_else(|| refuse(column, "a number above 0, or nothing"))
            }
        };
        Ok(Self {
            source: cell(0).to_owned(),
            system: cell(1).to_owned(),
            nodes: whole(2)?,
            gpus_per_node: whole(3)?,
            collective: cell(4).to_owned(),
            size: Bytes(
                cell(5)
                    .parse()
                    .map_err(|_| refuse(5, "a whole number of bytes"))?,
            ),
            network: cell(6).to_owned(),
            time_us: figure(7)?,
            algbw_gbps: figure(8)?,
            busbw_gbps: figure(9)?,
        })
    }

    /// What tells its line from others in a plot: `2 × g6.12xlarge, efa (post-2026-06)`.
    pub fn name(&self) -> String {
        let Self {
            source,
            system,
            nodes,
            network,
            ..
        } = self;
        format!("{nodes} × {system}, {network} ({source})")
    }
}

fn refused(error: &csv::Error) -> Fault {
    Fault::usage(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Kind;

    const HEAD: &str = "source,system,nodes,gpus_per_node,collective,message_bytes,network,time_us,algbw_gbps,busbw_gbps\n";

    #[test]
    fn published_numbers_are_read_and_what_is_not_told_is_none() {
        let text =
            format!("{HEAD}a post,\"p6, \"\"b200\"\"\",2,8,allreduce,8589934592,efa,,367.5,\n");
        let all = Published::read(&text).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].system, "p6, \"b200\"");
        assert_eq!(all[0].size, Bytes(8 << 30));
        assert_eq!((all[0].algbw_gbps, all[0].busbw_gbps), (Some(367.5), None));
        assert_eq!(all[0].name(), "2 × p6, \"b200\", efa (a post)");
    }

    #[test]
    fn a_value_that_cannot_be_read_is_named_with_its_line() {
        for (row, words) in [
            (
                "s,x,two,8,allreduce,8,efa,,1,\n",
                "line 2: `nodes` is `two`",
            ),
            (
                "s,x,2,8,allreduce,8 MiB,efa,,1,\n",
                "`message_bytes` is `8 MiB`",
            ),
            ("s,x,2,8,allreduce,8,efa,,NaN,\n", "`algbw_gbps` is `NaN`"),
            ("s,x,2,8,allreduce,8,efa,-1,,\n", "`time_us` is `-1`"),
            ("s,x,2\n", "line: 2"),
        ] {
            let fault = Published::read(&format!("{HEAD}{row}")).unwrap_err();
            assert_eq!(fault.kind, Kind::Usage);
            assert!(fault.to_string().contains(words), "{fault}");
        }
        let fault = Published::read("a,b\n1,2\n").unwrap_err();
        assert!(fault.to_string().contains("no column `source`"), "{fault}");
    }
}
