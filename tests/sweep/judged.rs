//! What sweeps come to: steps, floors, a baseline, an examination.

use crate::bench::{Bench, CONFIG, expect_success, text};
use ncclbench::baseline::fingerprint;
use ncclbench::record::baseline::{BASELINE_SCHEMA, BaselineEntry};
use ncclbench::record::{Fingerprint, Run};
use ncclbench::store::{Store, read_brief};
use std::fs;

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

#[test]
fn a_baseline_that_is_named_and_not_there_is_refused_before_anything_is_measured() {
    let bench = Bench::new(&CONFIG.replace("[compare]", "[compare]\nbaseline = \"nowhere\""));
    let output = bench.run(&["--backend", "sim", "-g", "3"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no baseline `nowhere`"));
    assert!(bench.files().is_empty());
}
