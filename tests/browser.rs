//! The HTML report in a real browser: nothing is loaded, nothing complains, tables sort, dark is dark,
//! and it prints.
//!
//! Needs Chromium and its driver (`chromedriver`), which `tests/all.sh` installs and runs this with.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "browser/driver.rs"]
mod driver;

use assert_cmd::cargo::CommandCargoExt as _;
use driver::Browser;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A report on a simulated run and one on the CPU, as users make it.
fn report(folder: &Path) -> String {
    let run = |backend: &str, output: &str| {
        let output = folder.join(output);
        let mut command = Command::cargo_bin("ncclbench").unwrap();
        command.args([
            "allreduce",
            "--backend",
            backend,
            "-g",
            "3",
            "-b",
            "8",
            "-e",
            "1M",
            "-n",
            "2",
            "--output",
        ]);
        assert!(command.arg(&output).output().unwrap().status.success());
        output
    };
    let runs = [run("sim", "simulated.jsonl"), run("host", "host.jsonl")];
    let page = folder.join("report.html");
    let mut command = Command::cargo_bin("ncclbench").unwrap();
    let made = command
        .arg("report")
        .args(runs)
        .arg("-o")
        .arg(&page)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    format!("file://{}", page.display())
}

/// The cells of a column of the second table, from top to bottom.
const COLUMN: &str = "const table = document.querySelectorAll('table.sortable')[1];
  return Array.from(table.tBodies[0].rows, row => row.cells[arguments[0]].textContent);";
const CLICK: &str = "document.querySelectorAll('table.sortable')[1].tHead.rows[0].cells[arguments[0]].querySelector('button').click();
  return document.querySelectorAll('table.sortable')[1].tHead.rows[0].cells[arguments[0]].getAttribute('aria-sort');";
const COLOURS: &str = "const of = (element, what) => getComputedStyle(element)[what];
  const title = document.querySelector('figure svg text');
  return [of(document.body, 'backgroundColor'), of(document.body, 'color'), of(document.querySelector('figure svg rect'), 'fill'), of(title, 'fill')];";

/// Sum of red, green and blue of `rgb(1, 2, 3)`.
fn brightness(colour: &Value) -> u32 {
    let text = colour.as_str().unwrap();
    let parts = text
        .trim_start_matches("rgb(")
        .trim_end_matches(')')
        .split(',');
    parts
        .map(|part| {
            part.trim()
                .parse::<u32>()
                .unwrap_or_else(|_| panic!("{text}"))
        })
        .sum()
}

fn is_dark(colours: &Value) -> bool {
    let [page, ink, paper, title] = [0, 1, 2, 3].map(|at| brightness(&colours[at]));
    let (dark, light) = (
        page < 150 && paper < 150 && ink > 600 && title > 600,
        page > 700 && paper > 700 && ink < 150 && title < 150,
    );
    assert!(dark || light, "half dark: {colours}");
    dark
}

#[test]
#[ignore = "needs Chromium and chromedriver; tests/all.sh installs them"]
fn the_report_works_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let page = report(folder.path());
    let browser = Browser::start(folder.path());
    browser.open(&page);
    sizes_sort_by_their_bytes(&browser);
    themes_change(&browser);
    let pdf = browser.print();
    assert!(pdf.len() > 20_000, "{}", pdf.len());
    let loaded = browser.run(
        "return performance.getEntriesByType('resource').map(entry => entry.name);",
        &[],
    );
    assert_eq!(loaded, json!([]), "the page loaded something");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn sizes_sort_by_their_bytes(browser: &Browser) {
    let texts = |column: Value| -> Vec<String> {
        serde_json::from_value(browser.run(COLUMN, &[column])).unwrap()
    };
    let before = texts(json!(1));
    assert_eq!(
        (before[0].as_str(), before.last().unwrap().as_str()),
        ("8 B", "1 MiB")
    );
    assert_eq!(browser.run(CLICK, &[json!(1)]), json!("ascending"));
    assert_eq!(browser.run(CLICK, &[json!(1)]), json!("descending"));
    let after = texts(json!(1));
    assert_eq!(
        (after[0].as_str(), after.last().unwrap().as_str()),
        ("1 MiB", "8 B")
    );
    assert_ne!(before, after);
    browser.run(CLICK, &[json!(5)]);
    let times: Vec<f64> = texts(json!(5))
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    assert!(
        times.is_sorted() && times.len() == before.len(),
        "{times:?}"
    );
    browser.run(CLICK, &[json!(4)]);
    assert!(texts(json!(4)).is_sorted());
}

fn themes_change(browser: &Browser) {
    browser.prefer("light");
    assert!(!is_dark(&browser.run(COLOURS, &[])));
    browser.prefer("dark");
    assert!(is_dark(&browser.run(COLOURS, &[])));
    let press = "const button = document.getElementById('theme'); button.click(); return button.textContent;";
    assert_eq!(browser.run(press, &[]), json!("theme: light"));
    assert!(!is_dark(&browser.run(COLOURS, &[])));
    assert_eq!(browser.run(press, &[]), json!("theme: dark"));
    browser.prefer("light");
    assert!(is_dark(&browser.run(COLOURS, &[])));
}
