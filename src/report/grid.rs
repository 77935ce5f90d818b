//! Columns of text that line up.

/// Rows of cells as text, two spaces between columns; the first line is the heading. A column whose
/// heading starts with `<` is left-aligned and loses that sign.
pub fn grid(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let is_left: Vec<bool> = (0..n_columns)
        .map(|column| heading(rows, column).starts_with('<'))
        .collect();
    let cell = |row: &[String], column: usize| {
        let text = row.get(column).map_or("", String::as_str);
        text.strip_prefix('<').unwrap_or(text).to_owned()
    };
    let widths: Vec<usize> = (0..n_columns)
        .map(|column| {
            rows.iter()
                .map(|row| width(&cell(row, column)))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells = (0..n_columns).map(|column| {
            let cell = cell(row, column);
            let pad = " ".repeat(widths[column] - width(&cell));
            if is_left[column] {
                cell + &pad
            } else {
                pad + &cell
            }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn heading(rows: &[Vec<String>], column: usize) -> &str {
    rows.first()
        .and_then(|row| row.get(column))
        .map_or("", String::as_str)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_with_their_text() {
        let row = |cells: &[&str]| {
            cells
                .iter()
                .map(|cell| (*cell).to_owned())
                .collect::<Vec<_>>()
        };
        let text = grid(&[row(&["<name", "µs"]), row(&["a", "1.25"]), row(&["longer"])]);
        assert_eq!(text, "name      µs\na       1.25\nlonger\n");
        assert_eq!(grid(&[]), "");
    }
}
