//! The frame of an HTML page that needs nothing from elsewhere: its style, its script, its tables.

use super::html::safe;
use crate::report::plot::palette;
use std::fmt::Write as _;

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The colours of the page on a dark ground; those of plots come from their palette.
const DARK: &str = "{ --paper: #15191e; --panel: #1d232a; --ink: #e6edf3; --muted: #a3adb8; --line: #363e47; --link: #79c0ff; \
--good: #7ee787; --good-ground: #12261a; --bad: #ff7b72; --bad-ground: #3c1618; --open: #f0b429; --open-ground: #332a12; }";

/// The whole page. What it may load is said in its head too: nothing.
pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}\
<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        safe(title),
        style()
    )
}

/// Dark by the reader's choice, or by the system's where the reader has not chosen light.
fn style() -> String {
    let auto = format!(
        "}}\n@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme=\"light\"]) {DARK}\n{} }}\n@media screen {{",
        of_plots(":root:not([data-theme=\"light\"])")
    );
    let by_hand = format!("{DARK}\n{}", of_plots(":root[data-theme=\"dark\"]"));
    STYLE
        .replace("DARK-AUTO", &auto)
        .replace("DARK-VARIABLES", &by_hand)
}

/// A plot's colours are attributes, over which any rule of a style prevails.
fn of_plots(under: &str) -> String {
    let mut rules = String::new();
    for (light, dark) in palette::dark() {
        let light = light.hex();
        let _ = writeln!(
            rules,
            "{under} figure svg [fill=\"{light}\"] {{ fill: {dark}; }} {under} figure svg [stroke=\"{light}\"] {{ stroke: {dark}; }}"
        );
    }
    rules
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    value: Option<f64>,
    is_text: bool,
}

impl Cell {
    /// A word.
    pub(super) fn word(text: &str) -> Self {
        Self {
            text: safe(text),
            value: None,
            is_text: false,
        }
    }

    /// A word that is not to be broken.
    pub(super) fn whole(text: &str) -> Self {
        Self::html(format!("<span class=\"whole\">{}</span>", safe(text)))
    }

    /// A text that may be long.
    pub(super) fn text(text: &str) -> Self {
        Self {
            is_text: true,
            ..Self::word(text)
        }
    }

    /// A number as people read it, sorted by its value.
    pub(super) fn number(text: &str, value: Option<f64>) -> Self {
        Self {
            text: safe(text),
            value,
            is_text: false,
        }
    }

    /// Text that is HTML already.
    pub(super) fn html(text: String) -> Self {
        Self {
            text,
            value: None,
            is_text: false,
        }
    }
}

/// A column's name, and whether it holds numbers.
pub(super) type Column = (&'static str, bool);

/// A table that sorts by any column.
#[derive(Debug)]
pub(super) struct Table {
    columns: &'static [Column],
    rows: String,
}

impl Table {
    pub(super) fn new(columns: &'static [Column]) -> Self {
        Self {
            columns,
            rows: String::new(),
        }
    }

    /// Adds a row; `class` says what is special about it.
    pub(super) fn row(&mut self, class: &str, cells: &[Cell]) {
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(" class=\"{class}\"")
        };
        let _ = write!(self.rows, "<tr{class}>");
        for (cell, (_, is_number)) in cells.iter().zip(self.columns) {
            let class = match (is_number, cell.is_text) {
                (true, _) => " class=\"n\"",
                (_, true) => " class=\"text\"",
                _ => "",
            };
            let value = cell
                .value
                .map_or_else(String::new, |value| format!(" data-value=\"{value}\""));
            let _ = write!(self.rows, "<td{class}{value}>{}</td>", cell.text);
        }
        self.rows.push_str("</tr>\n");
    }

    pub(super) fn html(&self) -> String {
        let mut text = "<div class=\"wide\"><table class=\"sortable\">\n<thead><tr>".to_owned();
        for (name, is_number) in self.columns {
            let class = if *is_number { " class=\"n\"" } else { "" };
            let _ = write!(text, "<th scope=\"col\"{class}>{}</th>", safe(name));
        }
        text + "</tr></thead>\n<tbody>\n" + &self.rows + "</tbody>\n</table></div>\n"
    }
}
