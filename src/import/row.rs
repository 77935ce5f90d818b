//! A row of nccl-tests' table.

use crate::base::DataType;
use crate::base::RedOp;
use crate::record::PerIteration;

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DataRow {
    pub line: usize,
    pub size: u64,
    pub count: u64,
    pub dtype: DataType,
    /// None where the table says `none`, or nothing (`hypercube`).
    pub redop: Option<RedOp>,
    /// None where the table says -1.
    pub root: Option<u32>,
    /// Out of place, in place.
    pub halves: [Half; 2],
    /// The local time at its end (`-S`).
    pub at: Option<String>,
    /// Iterations, where the row says how many (`-J`).
    pub iterations: Option<u32>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Half {
    pub time_us: f64,
    pub algbw: f64,
    pub busbw: f64,
    /// None where the table says `N/A`.
    pub wrong: Option<u64>,
    pub per_iteration: Option<Box<PerIteration>>,
}

/// What a text is that may be a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// It does not open like a row.
    Other,
    /// The first columns of one.
    Piece,
    /// A row, but for the number of its line.
    Row(Box<DataRow>),
    /// It opens like a row, and this is wrong with it.
    Bad(String),
}

/// Whether a text is a row, or the whole first columns of one.
pub(super) fn is_piece(text: &str) -> bool {
    matches!(read(text), Reading::Piece | Reading::Row(_))
}

/// Whether a text is the four figures of one measurement and nothing else.
pub(super) fn is_half(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.len() == 4 && words.iter().all(|word| figure(word).is_ok())
}

/// Reads a line. Rows are told by their columns: the case, two halves of four figures (eight under
/// `-I`), and date and time under `-S`.
pub(super) fn read(text: &str) -> Reading {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let opens = |word: &&str| is_number(word);
    if !text.starts_with(' ') && words.len() < 5 || !words.iter().take(2).all(opens) {
        return Reading::Other;
    }
    match read_words(&words) {
        Ok(Some(row)) => Reading::Row(Box::new(row)),
        Ok(None) => Reading::Piece,
        Err(why) => Reading::Bad(why),
    }
}

/// A row; none where columns are still to come.
fn read_words(words: &[&str]) -> Result<Option<DataRow>, String> {
    let (case, figures) = read_case(words)?;
    let Some((case, figures)) = case.zip(figures) else {
        return Ok(None);
    };
    let (figures, at) = without_time(figures);
    let width = match figures.len() {
        16 | 12 => 8, // 12: the first half of a row with the figures of single iterations, and a piece
        _ => 4,
    };
    if figures.len() > 2 * width {
        let found = words.len();
        return Err(format!(
            "a row of {found} columns; known are 13, 21, and two more for the time"
        ));
    }
    let halves: Vec<Half> = figures
        .chunks(width)
        .filter(|half| half.len() == width)
        .map(read_half)
        .collect::<Result<_, _>>()?;
    figures.iter().try_for_each(|word| figure(word).map(drop))?;
    let Ok(halves) = <[Half; 2]>::try_from(halves) else {
        return Ok(None);
    };
    Ok(Some(DataRow { halves, at, ..case }))
}

type Rest<'w, 's> = Option<&'w [&'s str]>;

/// The case's columns and those behind them; none where some are still to come.
fn read_case<'w, 's>(words: &'w [&'s str]) -> Result<(Option<DataRow>, Rest<'w, 's>), String> {
    let [size, count, dtype, rest @ ..] = words else {
        return Ok((None, None));
    };
    let dtype = dtype
        .parse()
        .map_err(|_| format!("unknown type `{dtype}`"))?;
    let (redop, rest) = match rest {
        [] => return Ok((None, None)),
        [root, ..] if root.parse::<i32>().is_ok() => (None, rest.len()),
        [redop, rest @ ..] => (Some(*redop), rest.len()),
    };
    let rest = &words[words.len() - rest..];
    let [root, figures @ ..] = rest else {
        return Ok((None, None));
    };
    let case = DataRow {
        line: 0,
        size: whole(size)?,
        count: whole(count)?,
        dtype,
        redop: redop.map_or(Ok(None), read_redop)?,
        root: read_root(root)?,
        halves: [Half::nothing(), Half::nothing()],
        at: None,
        iterations: None,
    };
    Ok((Some(case), Some(figures)))
}

pub(super) fn read_redop(text: &str) -> Result<Option<RedOp>, String> {
    match text {
        "none" | "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| format!("unknown reduction `{text}`")),
    }
}

pub(super) fn read_root(text: &str) -> Result<Option<u32>, String> {
    match text.trim() {
        "-1" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| format!("`{text}` is no root")),
    }
}

impl Half {
    fn nothing() -> Self {
        Self {
            time_us: 0.0,
            algbw: 0.0,
            busbw: 0.0,
            wrong: None,
            per_iteration: None,
        }
    }
}

fn read_half(words: &[&str]) -> Result<Half, String> {
    let number = |index: usize| {
        let word = words[index];
        figure(word)?.ok_or_else(|| format!("`{word}` where a figure should be"))
    };
    Ok(Half {
        time_us: number(0)?,
        algbw: number(1)?,
        busbw: number(2)?,
        wrong: figure(words[3])?.map(round),
        per_iteration: None,
    })
}

/// A figure; none for `N/A`. What is not finite is no figure.
fn figure(word: &str) -> Result<Option<f64>, String> {
    if word == "N/A" {
        return Ok(None);
    }
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
        _ => Err(format!("`{word}` is no figure")),
    }
}

/// nccl-tests prints six digits of a count, so that a large one is near and not exact.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of elements, and not negative"
)]
pub(super) fn round(count: f64) -> u64 {
    count.round() as u64
}

/// Takes date and time off the end.
fn without_time<'w, 's>(words: &'w [&'s str]) -> (&'w [&'s str], Option<String>) {
    match words {
        [rest @ .., date, time] if is_date(date) && time.contains(':') => {
            (rest, Some(format!("{date} {time}")))
        }
        _ => (words, None),
    }
}

fn is_date(word: &str) -> bool {
    word.len() == 10 && word.split('-').count() == 3 && !word.starts_with('-')
}

fn whole(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

/// Whether a word is nothing but digits.
pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "     1048576        262144     float     sum      -1    52.31   20.05   35.08       0    51.92   20.20   35.34     N/A";

    fn row(text: &str) -> DataRow {
        match read(text) {
            Reading::Row(row) => *row,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_row_has_a_case_and_two_halves() {
        let row = row(ROW);
        assert_eq!((row.size, row.count), (1 << 20, 1 << 18));
        assert_eq!(
            (row.dtype, row.redop, row.root),
            (DataType::Float, Some(RedOp::Sum), None)
        );
        assert_eq!(row.halves[0].time_us.to_bits(), 52.31f64.to_bits());
        assert_eq!(row.halves[1].busbw.to_bits(), 35.34f64.to_bits());
        assert_eq!((row.halves[0].wrong, row.halves[1].wrong), (Some(0), None));
    }

    #[test]
    fn a_row_may_lack_the_operator_and_end_in_the_time() {
        let text = "          64             4     int8               2     1.0e+07    0.00    0.00  1.04858e+06    16.01    0.00    0.00       3  2026-11-29 14:17:39";
        let row = row(text);
        assert_eq!((row.redop, row.root), (None, Some(2)));
        assert_eq!(row.halves[0].wrong, Some(1_048_580));
        assert_eq!(row.at.as_deref(), Some("2026-11-29 14:17:39"));
    }

    #[test]
    fn a_row_with_single_iterations_keeps_its_eight_figures_apart() {
        let half = "    52.30   20.05   35.09       0    52.30    54.20    54.20     1.08";
        let row = row(&format!("{}{half}{half}", &ROW[..52]));
        assert_eq!(row.halves[1].time_us.to_bits(), 52.3f64.to_bits());
    }

    #[test]
    fn every_first_part_of_a_row_is_a_piece_or_nothing_and_never_a_row() {
        for end in 0..ROW.len() - 3 {
            assert!(!matches!(read(&ROW[..end]), Reading::Row(_)), "{end}");
        }
        for end in [52, 85] {
            assert_eq!(read(&ROW[..end]), Reading::Piece);
        }
    }

    #[test]
    fn what_only_opens_like_a_row_says_what_is_wrong() {
        for (from, to, why) in [
            ("float", "flaot", "unknown type `flaot`"),
            ("sum", "smu", "unknown reduction `smu`"),
            ("52.31", "nan", "`nan` is no figure"),
            ("52.31", "-1.0", "`-1.0` is no figure"),
            (
                "N/A",
                "0  1",
                "a row of 14 columns; known are 13, 21, and two more for the time",
            ),
        ] {
            let text = ROW.replacen(from, to, 1);
            assert_eq!(read(&text), Reading::Bad(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn other_lines_are_not_rows() {
        for text in [
            "",
            "#",
            "# 1 2",
            "vm: Test failure",
            "12",
            "  12 abc",
            "12 13 float",
        ] {
            assert_eq!(read(text), Reading::Other, "{text}");
        }
    }
}
