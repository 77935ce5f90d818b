//! Every odd run.

use super::{HOSTILE, footer, header, measured, row, run, sizes, spoilt, waived};
use crate::base::Placement;
use crate::record::{Header, Row, Run};

/// Every odd run, by what is odd about it.
pub(in crate::report) fn odd() -> Vec<(&'static str, Run)> {
    let mut all = of_rows();
    all.extend(of_sizes());
    all.extend(of_headers());
    all
}

fn whole() -> Run {
    run(&sizes())
}

fn with_rows(rows: impl IntoIterator<Item = Row>) -> Run {
    Run {
        rows: rows.into_iter().collect(),
        ..whole()
    }
}

fn with_header(header: Header) -> Run {
    Run { header, ..whole() }
}

/// Every `every`-th row of a whole run changed.
fn changed(every: usize, change: impl Fn(Row) -> Row) -> Run {
    let rows = whole().rows.into_iter().enumerate();
    with_rows(rows.map(|(at, row)| if at % every == 0 { change(row) } else { row }))
}

fn of_rows() -> Vec<(&'static str, Run)> {
    let footer = Some(footer(5));
    let torn = Some("{\"line\":\"ro".to_owned());
    vec![
        ("no rows", with_rows([])),
        ("all rows waived", changed(1, |row| waived(row, HOSTILE))),
        (
            "some rows waived",
            changed(3, |row| waived(row, "not here")),
        ),
        (
            "wrong rows",
            Run {
                footer,
                ..changed(4, spoilt)
            },
        ),
        (
            "cut short",
            Run {
                footer: None,
                torn,
                ..whole()
            },
        ),
        ("several collectives", with_rows(mixed())),
        ("repeated sizes", with_rows(repeated())),
    ]
}

fn mixed() -> impl Iterator<Item = Row> {
    let names = ["allreduce", "alltoall", "broadcast"].into_iter();
    names.flat_map(|name| {
        sizes()
            .into_iter()
            .map(move |size| row(name, size, Placement::OutOfPlace))
    })
}

fn repeated() -> impl Iterator<Item = Row> {
    (0..3).flat_map(|cycle| {
        let mut rows = whole().rows;
        for row in &mut rows {
            row.case.cycle = cycle;
        }
        rows
    })
}

fn of_sizes() -> Vec<(&'static str, Run)> {
    let out = |size, time_us| measured("allreduce", size, Placement::OutOfPlace, time_us);
    vec![
        ("one size", run(&[1 << 20])),
        ("one row", with_rows([out(1 << 20, 50.0)])),
        ("no time at all", with_rows([out(8, 0.0), out(8, 0.0)])),
        (
            "equal values",
            with_rows(sizes().into_iter().map(|size| out(size, 5.0))),
        ),
        (
            "sizes that are no powers of two",
            run(&[1, 3, 1000, 12_288, 307_200, 99_999_999]),
        ),
        ("the largest size", run(&[1 << 62])),
    ]
}

fn of_headers() -> Vec<(&'static str, Run)> {
    let without = Header {
        seats: Vec::new(),
        libraries: Vec::new(),
        ..header()
    };
    let yesterday = Header {
        started: "yesterday".to_owned(),
        ..header()
    };
    vec![
        (
            "simulated",
            with_header(Header {
                measured: false,
                ..header()
            }),
        ),
        (
            "stand-in",
            with_header(Header {
                stand_in: true,
                ..header()
            }),
        ),
        ("without seats", with_header(without)),
        ("a start that is no moment", with_header(yesterday)),
        ("hostile names", with_header(hostile())),
    ]
}

fn hostile() -> Header {
    let mut header = header();
    for seat in &mut header.seats {
        seat.host = HOSTILE.repeat(20);
        seat.device.name = HOSTILE.to_owned();
    }
    header.libraries[0].version = HOSTILE.to_owned();
    header.backend = HOSTILE.to_owned();
    header.notes = vec![HOSTILE.to_owned()];
    header.args = vec![HOSTILE.to_owned()];
    header
        .environment
        .insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    header
}
