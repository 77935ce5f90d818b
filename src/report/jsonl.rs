//! JSON lines: the run's file, one flushed line for each record. `docs/record.md` describes them.

use super::{Format, Report};
use crate::record::{Footer, Header, Line, Row};
use std::io::{self, Write};

pub(super) const FORMAT: Format = Format {
    name: "jsonl",
    summary: "JSON lines: header, rows and footer as they come",
    start: || Box::new(JsonLines),
};

#[derive(Debug)]
struct JsonLines;

impl Report for JsonLines {
    fn begin(&mut self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        write(&Line::Header(Box::new(header.clone())), out)
    }

    fn row(&mut self, row: &Row, out: &mut dyn Write) -> io::Result<()> {
        write(&Line::Row(Box::new(row.clone())), out)
    }

    fn end(&mut self, footer: &Footer, out: &mut dyn Write) -> io::Result<()> {
        write(&Line::Footer(Box::new(footer.clone())), out)
    }
}

/// One `write`, so that two writers or a crash cannot mix lines.
fn write(line: &Line, out: &mut dyn Write) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}
