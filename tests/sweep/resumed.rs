//! Sweeps that were interrupted, and what goes on with them.

use crate::bench::{Bench, CONFIG, every_key, expect_success, keys, text};
use ncclbench::record::Run;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[test]
fn a_killed_sweep_is_resumed_where_it_ended_and_no_row_is_measured_twice() {
    let config = CONFIG.replace("iters = 5", "iters = 2000");
    let bench = Bench::new(&config);
    let mut child = bench
        .command(&["--backend", "host", "-g", "3"])
        .spawn()
        .unwrap();
    wait_for_rows(&bench, 4);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let file = bench.files().remove(0);
    let before = Run::read(&fs::read(&file).unwrap()).unwrap();
    assert!(
        before.footer.is_none() && before.rows.len() < 12,
        "killed too late to see"
    );
    // a line that was being written
    let mut torn = fs::read(&file).unwrap();
    torn.extend_from_slice(b"{\"line\":\"row\",\"collective\":\"allred");
    fs::write(&file, torn).unwrap();

    let output = bench.run(&["--backend", "host", "-g", "3", "--resume"]);
    expect_success(&output);
    let after = bench.only_run();
    assert_eq!(keys(&after), every_key());
    let kept = before.rows.len();
    let same = |(old, new): (&ncclbench::record::Row, &ncclbench::record::Row)| old == new;
    assert!(before.rows.iter().zip(&after.rows).all(same));
    let resumed = &after.header.sweep.as_ref().unwrap().resumed;
    assert_eq!(resumed.len(), 1);
    assert_eq!(resumed[0].rows, kept as u64);
    assert_eq!(resumed[0].started, before.header.started);
    assert_eq!(after.footer.unwrap().rows, 12);
    assert!(text(&output.stderr).contains("goes on with the interrupted run"));
}

fn wait_for_rows(bench: &Bench, rows: usize) {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let seen = bench.files().first().map_or(0, |file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.matches("\"line\":\"row\"").count()
        });
        if seen >= rows {
            return;
        }
        assert!(Instant::now() < deadline, "no {rows} rows in a minute");
        std::thread::yield_now();
    }
}

/// A run that was cut off behind its third row, as a file.
fn cut_off(bench: &Bench) -> PathBuf {
    expect_success(&bench.run(&["--backend", "sim", "-g", "3"]));
    let file = bench.files().remove(0);
    let whole = fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = whole.lines().take(4).collect();
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    file
}

#[test]
fn a_changed_plan_is_not_resumed() {
    let bench = Bench::new(CONFIG);
    let file = cut_off(&bench);
    let before = fs::read(&file).unwrap();
    for (more, config) in [
        (
            &["--backend", "sim", "-g", "4", "--resume"][..],
            CONFIG.to_owned(),
        ),
        (
            &["--backend", "sim", "-g", "3", "--resume"],
            CONFIG.replace("iters = 5", "iters = 6"),
        ),
    ] {
        fs::write(bench.folder.path().join("a.toml"), config).unwrap();
        let output = bench.run(more);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(
            said.contains("has plan") && said.contains("hint:"),
            "{said}"
        );
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

#[test]
fn another_backend_does_not_go_on_with_a_run() {
    let bench = Bench::new(CONFIG);
    cut_off(&bench);
    let output = bench.run(&["--backend", "host", "-g", "3", "--resume"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("backend was sim, now it is host"), "{said}");
}

#[test]
fn a_run_that_another_process_is_writing_is_not_resumed() {
    let bench = Bench::new(CONFIG);
    let file = cut_off(&bench);
    let held = fs::File::open(&file).unwrap();
    held.lock().unwrap();
    let output = bench.run(&["--backend", "sim", "-g", "3", "--resume"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("another process is writing"));
}

#[test]
fn a_complete_run_is_followed_by_a_new_one() {
    let bench = Bench::new(CONFIG);
    expect_success(&bench.run(&["--backend", "sim", "-g", "3"]));
    let output = bench.run(&["--backend", "sim", "-g", "3", "--resume"]);
    expect_success(&output);
    assert_eq!(bench.files().len(), 2);
    assert!(text(&output.stderr).contains("there is no interrupted run"));
    let file = bench.files().remove(0);
    let named = format!("--resume={}", file.display());
    let output = bench.run(&["--backend", "sim", "-g", "3", &named]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is complete"));
}

#[test]
fn a_run_whose_header_was_never_written_is_passed_over() {
    let bench = Bench::new(CONFIG);
    let file = cut_off(&bench);
    fs::write(file.with_file_name("empty.jsonl"), "").unwrap();
    fs::write(
        file.with_file_name("torn.jsonl"),
        "{\"line\":\"header\",\"sch",
    )
    .unwrap();
    expect_success(&bench.run(&["--backend", "sim", "-g", "3", "--resume"]));
    assert_eq!(
        keys(&Run::read(&fs::read(&file).unwrap()).unwrap()),
        every_key()
    );
}
