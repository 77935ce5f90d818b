//! What programs in the wild read out of nccl-tests' stdout, written anew from descriptions of them.
//!
//! Each function reads as one of them does and gives what it would take for the result; between
//! them they forbid a changed word, an inserted column, an appended column and a second average.

/// One row as a reader of the field keeps it: size, busbw out-of-place, busbw in-place.
pub(crate) type Found = Vec<(u64, f64, f64)>;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn found(size: &str, out: &str, inside: &str) -> (u64, f64, f64) {
    (
        size.parse().unwrap(),
        out.parse().unwrap(),
        inside.parse().unwrap(),
    )
}

/// Finds the table by words of its header and footer, and columns by their offset from the end.
pub(crate) fn by_header_words(text: &str) -> Found {
    let lines: Vec<_> = text.lines().collect();
    let begin = lines
        .iter()
        .rposition(|line| line.contains("out-of-place"))
        .unwrap();
    let end = lines
        .iter()
        .rposition(|line| line.contains("Out of bounds values"))
        .unwrap();
    let table = &lines[begin + 1..end];
    let heads: Vec<_> = table
        .iter()
        .filter(|line| line.contains("time") && line.contains("busbw"))
        .collect();
    assert_eq!(heads.len(), 1, "one line names the columns");
    let head = words(&heads[0][1..]);
    let from_end = |index: usize| head.len() - index;
    let first = from_end(head.iter().position(|word| *word == "busbw").unwrap());
    let last = from_end(head.iter().rposition(|word| *word == "busbw").unwrap());
    let size = head.iter().position(|word| *word == "size").unwrap();
    let rows = table.iter().map(|line| words(line));
    rows.filter(|row| row.first().is_some_and(|word| is_number(word)))
        .map(|row| found(row[size], row[row.len() - first], row[row.len() - last]))
        .collect()
}

/// Thirteen fields and no other number of them, on a line that starts with a digit once stripped.
pub(crate) fn by_thirteen_fields(text: &str) -> Found {
    let rows = text.lines().map(str::trim);
    rows.filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .map(words)
        .filter(|row| row.len() == 13)
        .map(|row| found(row[0], row[7], row[11]))
        .collect()
}

/// A leading blank, then a digit; busbw of the in-place half is the last field but one.
pub(crate) fn by_last_field_but_one(text: &str) -> Vec<f64> {
    let rows = text.lines().filter(|line| {
        line.starts_with(' ')
            && line
                .trim()
                .starts_with(|first: char| first.is_ascii_digit())
    });
    rows.map(|line| words(line))
        .map(|row| row[row.len() - 2].parse().unwrap())
        .collect()
}

/// Every field by its kind, decimals plain: what a strict regular expression takes.
pub(crate) fn by_kinds_of_fields(text: &str) -> Found {
    let plain = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let kinds = |row: &[&str]| {
        row.len() == 13
            && is_number(row[0])
            && is_number(row[1])
            && ["float", "double", "int", "half"].contains(&row[2])
            && ["sum", "prod", "max", "min", "none"].contains(&row[3])
            && row[4].parse::<i64>().is_ok()
            && [5, 6, 7, 9, 10, 11].iter().all(|index| plain(row[*index]))
            && [8, 12]
                .iter()
                .all(|index| is_number(row[*index]) || row[*index] == "N/A")
    };
    let rows = text.lines().map(words).filter(|row| kinds(row));
    rows.map(|row| found(row[0], row[7], row[11])).collect()
}

/// The last eight fields of a row.
pub(crate) fn by_last_eight_fields(text: &str) -> Found {
    let rows = text.lines().map(words);
    rows.filter(|row| row.len() > 8 && is_number(row[0]))
        .map(|row| {
            let last = &row[row.len() - 8..];
            found(row[0], last[2], last[6])
        })
        .collect()
}

/// Field `field`, from 1, of the last line that holds the size.
pub(crate) fn field_of_size(text: &str, size: &str, field: usize) -> f64 {
    let line = text.lines().rfind(|line| line.contains(size)).unwrap();
    words(line)[field - 1].parse().unwrap()
}

/// The sixth word of the one line with `bandwidth`, unless any line says `FAILED`.
pub(crate) fn health_check(text: &str) -> Option<f64> {
    if text.contains("FAILED") {
        return None;
    }
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains("bandwidth"))
        .collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    words(lines[0])[5].parse().ok()
}

/// Exactly four blanks before the colon; the second field on `:`.
pub(crate) fn average_by_padding(text: &str) -> f64 {
    let label = "# Avg bus bandwidth    : ";
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with(label))
        .collect();
    assert_eq!(lines.len(), 1);
    lines[0].split(':').nth(1).unwrap().trim().parse().unwrap()
}

/// The last word of the line; nothing but a blank may follow the number.
pub(crate) fn average_by_last_word(text: &str) -> f64 {
    let line = text
        .lines()
        .find(|line| line.contains("# Avg bus bandwidth"))
        .unwrap();
    words(line).last().unwrap().parse().unwrap()
}

/// The first number on the line.
pub(crate) fn average_by_first_number(text: &str) -> f64 {
    let line = text
        .lines()
        .find(|line| line.contains("Avg bus bandwidth"))
        .unwrap();
    let at = line.find(|one: char| one.is_ascii_digit()).unwrap();
    line[at..].split(' ').next().unwrap().parse().unwrap()
}

/// Hosts of the lines that speak of a rank, a device and its maker.
pub(crate) fn hosts(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| {
        ["Rank", "device", "NVIDIA"]
            .iter()
            .all(|word| line.contains(word))
    });
    lines
        .map(|line| {
            line.split(" on ")
                .nth(1)
                .unwrap()
                .split_whitespace()
                .next()
                .unwrap()
        })
        .collect()
}

/// Success by the footer's words, failure by nccl-tests' own.
pub(crate) fn says_success(text: &str) -> bool {
    let has = |words: &str| text.contains(words);
    has("# Out of bounds values")
        && has("# Avg bus bandwidth")
        && !has("Test NCCL failure")
        && !has("Test failure")
}

/// Leading blanks, thirteen groups, every decimal of two digits or more.
pub(crate) fn by_thirteen_groups(text: &str) -> Found {
    let decimal = |word: &&str| {
        word.len() >= 2
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let rows = text.lines().filter(|line| line.starts_with(' '));
    rows.map(words)
        .filter(|row| row.len() == 13 && [5, 6, 7, 9, 10, 11].iter().all(|at| decimal(&row[*at])))
        .map(|row| found(row[0], row[7], row[11]))
        .collect()
}

/// Less a launcher's tag; fields 7 and 11 of the row whose size is nearest to a target.
pub(crate) fn nearest(text: &str, target: u64) -> Option<(u64, f64, f64)> {
    let untagged = text.lines().map(|line| match line.split_once("<stdout>:") {
        Some((_, line)) => line,
        None => line,
    });
    let rows = untagged
        .map(words)
        .filter(|row| row.len() > 11 && is_number(row[0]));
    let read = rows.map(|row| found(row[0], row[7], row[11]));
    read.min_by_key(|(size, _, _)| size.abs_diff(target))
}

/// The label and one word, and nothing else on the line.
pub(crate) fn average_by_whole_line(text: &str) -> Option<f64> {
    let lines = text.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix('#')?.trim_start();
        let rest = rest.strip_prefix("Avg bus bandwidth")?.trim_start();
        match words(rest.strip_prefix(':')?).as_slice() {
            [word] => word.parse().ok(),
            _ => None,
        }
    });
    let all: Vec<f64> = lines.collect();
    (all.len() == 1).then(|| all[0])
}

/// The whole line that says that nothing is wrong.
pub(crate) fn says_none_wrong(text: &str) -> bool {
    text.contains("Out of bounds values : 0 OK")
}
