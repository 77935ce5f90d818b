//! The whole program on a sweep: several collectives on one communicator, kept, interrupted and resumed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

use ncclbench::baseline::fingerprint;
use ncclbench::record::baseline::{BASELINE_SCHEMA, BaselineEntry};
use ncclbench::record::{Fingerprint, Outcome, Run, Stop};
use ncclbench::store::{Store, read_brief};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two collectives, two repetitions, three sizes each: 12 rows.
const CONFIG: &str = r#"
name = "small"
[defaults]
iters = 5
placements = ["out-of-place"]
repeats = 2
[[part]]
collectives = ["allreduce", "alltoall"]
sizes = ["1K", "4K", "64K"]
[compare]
latency = "10%"
"#;

/// A folder with a configuration, and a store beside it.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.toml"), config).unwrap();
        Self { folder }
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ncclbench"));
        command.env_clear().stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.arg("sweep").arg(self.folder.path().join("a.toml"));
        command.arg("--store").arg(self.store()).args(more);
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// The files of all runs, the oldest first.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        below(&self.store(), &mut files);
        files.sort_by_key(|file| fs::metadata(file).unwrap().created().unwrap());
        files
    }

    fn only_run(&self) -> Run {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        Run::read(&fs::read(&files[0]).unwrap()).unwrap()
    }
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn expect_success(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// What each row measured, in order.
fn keys(run: &Run) -> Vec<String> {
    let rows = run.rows.iter().map(|row| &row.case);
    rows.map(|case| format!("{} {} {}", case.cycle, case.collective, case.requested))
        .collect()
}

/// All rows of `CONFIG`, repetition by repetition.
fn every_key() -> Vec<String> {
    let mut keys = Vec::new();
    for cycle in 0..2 {
        for collective in ["allreduce", "alltoall"] {
            for size in ["1 KiB", "4 KiB", "64 KiB"] {
                keys.push(format!("{cycle} {collective} {size}"));
            }
        }
    }
    keys
}

#[test]
fn a_sweep_opens_one_communicator_and_keeps_one_run_of_all_its_collectives() {
    for launch in [
        &["--backend", "host", "-g", "3"][..],
        &["--backend", "host", "--spawn", "5"],
        &["--backend", "sim", "-g", "7"],
    ] {
        let bench = Bench::new(CONFIG);
        let output = bench.run(launch);
        expect_success(&output);
        let run = bench.only_run();
        assert_eq!(keys(&run), every_key());
        assert_eq!(run.header.collective, "allreduce,alltoall");
        let sweep = run.header.sweep.unwrap();
        assert_eq!(
            (sweep.name.as_str(), sweep.limits.latency),
            ("small", Some(0.1))
        );
        assert_eq!(run.footer.unwrap().rows, 12);
        assert!(run.rows.iter().all(|row| row.quality.spent.is_some()));
        let table = text(&output.stdout);
        assert_eq!(
            table
                .matches("Collective test concluded: all_reduce_perf")
                .count(),
            2
        );
        assert_eq!(
            table
                .matches("Collective test concluded: alltoall_perf")
                .count(),
            2
        );
        let opened = text(&output.stderr).matches("on backend").count();
        assert_eq!(opened, 1, "{}", text(&output.stderr));
    }
}

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

#[test]
fn a_wrong_key_is_refused_with_file_line_and_key_before_anything_is_opened() {
    let bench = Bench::new(&CONFIG.replace("iters = 5", "itres = 5"));
    let output = bench.run(&["--backend", "host"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("a.toml, line 4, key `defaults.itres`"),
        "{said}"
    );
    assert!(said.contains("did you mean `iters`?"), "{said}");
    assert!(bench.files().is_empty());
}

#[test]
fn a_row_that_two_parts_would_measure_is_refused() {
    let more = "[[part]]\ncollectives = \"allreduce\"\nsizes = 4096\n[compare]";
    let bench = Bench::new(&CONFIG.replace("[compare]", more));
    let output = bench.run(&["--backend", "sim", "-g", "3"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("allreduce float sum out-of-place 4 KiB would be measured by two parts"),
        "{said}"
    );
}

#[test]
fn every_size_says_how_well_it_is_known_and_how_single_operations_scatter() {
    let config = CONFIG
        .replace(
            "iters = 5",
            "iters = \"auto\"\nbudget = 0.02\nci = \"20%\"\ndistribution = true",
        )
        .replace("repeats = 2", "repeats = 1");
    let bench = Bench::new(&config);
    expect_success(&bench.run(&["--backend", "host", "-g", "3"]));
    let run = bench.only_run();
    assert_eq!(run.rows.len(), 6);
    for row in &run.rows {
        let sampling = row.quality.sampling.as_ref().unwrap();
        assert!(!sampling.batch_us.is_empty() && sampling.iterations > 0);
        if sampling.stop == Stop::Narrow {
            assert!(sampling.half_width.unwrap() <= 0.2);
        }
        let Outcome::Measured { time, .. } = &row.outcome else {
            panic!("waived")
        };
        assert!(time.max_us > 0.0 && time.max_us <= sampling.median_us * 3.0);
        let distribution = row.quality.distribution.as_ref().unwrap();
        assert_eq!(distribution.clock, "host clock");
        let ranks: Vec<_> = distribution.ranks.iter().map(|rank| rank.rank).collect();
        assert_eq!(ranks, [0, 1, 2]);
        assert!(distribution.slowest.p50_us <= distribution.slowest.max_us);
        assert!(row.quality.arrival.unwrap().last_rank < 3);
    }
}

#[test]
fn a_dry_run_estimates_time_and_memory_and_says_how() {
    let bench = Bench::new(CONFIG);
    let output = bench.run(&["--dry-run", "--world", "16"]);
    expect_success(&output);
    let said = text(&output.stdout);
    assert!(said.contains("for 16 ranks, 12 rows"), "{said}");
    assert!(
        said.contains("two buffers of 64 KiB on each rank (128 KiB together)"),
        "{said}"
    );
    assert!(said.contains("Assumed, not measured"), "{said}");
    assert!(bench.files().is_empty());
}

/// Three steps, the second with a floor.
fn steps(floor: &str) -> Bench {
    let part = |step: &str, size: &str| {
        format!("[[part]]\nstep = \"{step}\"\ncollectives = \"allreduce\"\nsizes = \"{size}\"\n")
    };
    Bench::new(&format!(
        "name = \"gate\"\n[defaults]\niters = 5\nplacements = \"out-of-place\"\n{}{}{}\
         [[gate.floor]]\ncollective = \"allreduce\"\nsize = \"64K\"\n{floor}\n",
        part("data", "1K"),
        part("speed", "64K"),
        part("latency", "8")
    ))
}

#[test]
fn a_sweep_stops_at_the_step_whose_floor_is_not_met_and_says_so() {
    let bench = steps("busbw = 99999");
    let output = bench.run(&["--backend", "sim", "--spawn", "3"]);
    assert_eq!(output.status.code(), Some(6));
    let said = text(&output.stderr);
    assert!(
        said.contains("step `data`: passed\nstep `speed`: not passed"),
        "{said}"
    );
    assert!(
        said.contains("sweep `gate`: NO-GO: it stopped at step `speed`"),
        "{said}"
    );
    let run = bench.only_run();
    assert_eq!(run.rows.len(), 2, "the third step is not measured");
    let judgement = run.footer.unwrap().judgement.unwrap();
    assert_eq!(judgement.stopped_at.as_deref(), Some("speed"));
    assert!(judgement.why[0].contains("busbw"), "{judgement:?}");
}

#[test]
fn a_sweep_whose_steps_are_all_passed_is_a_go() {
    let bench = steps("time = 1e9");
    let output = bench.run(&["--backend", "sim", "-g", "5"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("sweep `gate`: GO"));
    let run = bench.only_run();
    assert_eq!(run.footer.unwrap().judgement.unwrap().verdict, "go");
}

#[test]
fn a_floor_that_no_row_answers_to_is_not_met() {
    let bench = steps("datatype = \"half\"\ntime = 1e9");
    let output = bench.run(&["--backend", "sim", "-g", "3"]);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no row has it"));
}

#[test]
fn a_machine_that_fails_its_examination_ends_the_sweep_before_anything_is_measured() {
    let bench = Bench::new(&format!("doctor = true\n{CONFIG}"));
    // more ranks than any machine's cores
    let output = bench.run(&["--backend", "sim", "-g", "4096"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(
        said.contains("NO-GO: it stopped at step `doctor`"),
        "{said}"
    );
    assert!(bench.files().is_empty());
}

/// A baseline of five launches whose times are `factor` of what was measured.
fn accept(bench: &Bench, factor: f64) {
    let mut launches = Vec::new();
    let mut fields = Fingerprint::default();
    for file in bench.files() {
        let bytes = fs::read(&file).unwrap();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let mut launch = read_brief(name, &bytes).unwrap().launch;
        for measure in launch
            .rows
            .iter_mut()
            .filter_map(|row| row.measure.as_mut())
        {
            for time in measure.max_us.iter_mut().chain(&mut measure.mean_us) {
                *time *= factor;
            }
        }
        launches.push(launch);
        fields = fingerprint::of(&Run::read(&bytes).unwrap().header);
    }
    let entry = BaselineEntry {
        schema: BASELINE_SCHEMA,
        name: "usual".to_owned(),
        entry: 1,
        retired: false,
        author: "a test".to_owned(),
        at: "2026-11-30T00:00:00Z".to_owned(),
        reason: "for the test".to_owned(),
        fingerprint: fields,
        launches,
    };
    Store::at(bench.store()).accept(entry).unwrap();
}

#[test]
fn a_sweep_is_compared_with_the_baseline_that_fits_and_the_exit_code_says_how_it_stands() {
    // a regression that one launch shows must be confirmed by another one
    for (factor, code, word) in [(1.0, 0, "pass"), (0.5, 7, "inconclusive")] {
        let bench = Bench::new(&CONFIG.replace("latency = \"10%\"", "latency = \"30%\""));
        for seed in ["1", "2", "3", "4", "5"] {
            expect_success(&bench.run(&["--backend", "sim", "-g", "3", "--seed", seed]));
        }
        accept(&bench, factor);
        let before = bench.files();
        let output = bench.run(&["--backend", "sim", "-g", "3", "--seed", "6"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let new = bench
            .files()
            .into_iter()
            .find(|file| !before.contains(file));
        let run = Run::read(&fs::read(new.unwrap()).unwrap()).unwrap();
        let footer = run.footer.unwrap();
        assert_eq!(footer.judgement.unwrap().verdict, word, "{said}");
        assert_eq!(i32::from(footer.exit_code), code);
    }
}
