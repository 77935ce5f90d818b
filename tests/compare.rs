//! `compare`, `baseline` and `results` as people call them, on runs of the cost model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a store of its own.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(place.results()).unwrap();
        place
    }

    fn results(&self) -> PathBuf {
        self.0.path().join("results")
    }

    fn call(&self, line: &str) -> Output {
        Command::new(assert_cmd::cargo::cargo_bin!("ncclbench"))
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env_remove("NCCLBENCH_STORE")
            .env("GIT_AUTHOR_NAME", "ada")
            .output()
            .unwrap()
    }

    /// Exit code, stdout and stderr.
    fn says(&self, line: &str) -> (i32, String, String) {
        let output = self.call(line);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    /// A run of the cost model, from a seed.
    fn run(&self, name: &str, seed: u32) -> PathBuf {
        let line = format!(
            "allreduce --backend sim -g 4 -b 8 -e 256M -f 8 --seed {seed} --output results/{name}.jsonl"
        );
        let output = self.call(&line);
        assert!(output.status.success(), "{output:?}");
        self.results().join(format!("{name}.jsonl"))
    }

    fn runs(&self, names: &[&str]) {
        for (seed, name) in (1..).zip(names) {
            self.run(name, seed);
        }
    }
}

/// Rewrites a run's lines.
fn edit(path: &Path, change: impl Fn(&mut Value)) {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        change(&mut value);
        value.to_string() + "\n"
    });
    let text: String = lines.collect();
    std::fs::write(path, text).unwrap();
}

/// Makes every time of a row longer.
fn slow_down(row: &mut Value, factor: f64) {
    for field in ["mean_us", "min_us", "max_us", "rank0_us"] {
        if let Some(time) = row["time"][field].as_f64() {
            row["time"][field] = (time * factor).into();
        }
    }
}

#[test]
fn a_night_is_accepted_compared_and_called_slower_when_it_is() {
    let place = Place::new();
    place.runs(&["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]);
    let (code, out, _) = place.says("baseline accept --name night --reason first a1 a2 a3");
    assert_eq!(code, 0);
    assert!(
        out.starts_with("accepted night, entry 1: 3 launches, by ada on 20"),
        "{out}"
    );

    let (code, out, err) = place.says("compare b1 b2 b3");
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.starts_with("PASS: no band is slower than baseline `night`"),
        "{out}"
    );

    for name in ["c1", "c2", "c3"] {
        edit(&place.results().join(format!("{name}.jsonl")), |line| {
            slow_down(line, 1.2);
        });
    }
    let (code, out, _) = place.says("compare --baseline night c1 c2 c3");
    assert_eq!(code, 1, "{out}");
    let first = out.lines().next().unwrap();
    assert!(
        first.starts_with("REGRESS: ") && first.contains("16.7 % slower"),
        "{out}"
    );
    assert!(out.contains("slower by more than the limit"), "{out}");

    let (code, out, _) = place.says("compare c1");
    assert_eq!(code, 7, "{out}");
    assert!(out.contains("another one must confirm it"), "{out}");

    let (code, out, _) = place.says("compare --json c1 c2 c3");
    let verdict: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, verdict["decision"].as_str()), (1, Some("regress")));
    assert_eq!(verdict["baseline"]["author"], "ada");
}

#[test]
fn runs_can_be_compared_with_runs_and_not_with_themselves() {
    let place = Place::new();
    place.runs(&["a1", "a2", "b1", "b2"]);
    let (code, out, _) = place.says("compare --against a1 --against a2 b1 b2");
    assert_eq!(code, 0, "{out}");
    for twice in ["--against a1 a1", "--against a1 b1 b1"] {
        let (code, _, err) = place.says(&format!("compare {twice}"));
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("one and the same run"), "{err}");
    }
}

#[test]
fn without_a_baseline_for_them_runs_are_not_judged_and_unlike_ones_only_by_force() {
    let place = Place::new();
    place.runs(&["a1", "a2", "a3", "b1"]);
    let (code, _, err) = place.says("compare b1");
    assert_eq!(code, 3, "{err}");
    assert!(
        err.contains("no baseline in force") && err.contains("baseline accept"),
        "{err}"
    );
    assert_eq!(
        place.says("baseline accept --name n --reason r a1 a2 a3").0,
        0
    );
    edit(&place.results().join("b1.jsonl"), |line| {
        if line["line"] == "header" {
            line["environment"]["NCCL_ALGO"] = "Ring".into();
        }
    });
    assert_eq!(place.says("compare b1").0, 3);
    let (code, _, err) = place.says("compare --baseline n b1");
    assert_eq!(code, 3, "{err}");
    assert!(
        err.contains("env NCCL_ALGO: baseline `not set`, now `Ring`"),
        "{err}"
    );
    let (code, out, _) = place.says("compare --baseline n --force b1");
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("note: compared although it differs: env NCCL_ALGO"),
        "{out}"
    );
    let (code, _, err) = place.says("compare a1 b1 --baseline n");
    assert!(
        code == 3 && err.contains("not launches of one night"),
        "{err}"
    );
}

#[test]
fn rows_that_are_missing_and_data_that_is_wrong_do_not_pass() {
    let place = Place::new();
    place.runs(&["a1", "a2", "a3", "b1", "b2", "b3"]);
    assert_eq!(
        place.says("baseline accept --name n --reason r a1 a2 a3").0,
        0
    );
    let waived = place.results().join("b1.jsonl");
    edit(&waived, |line| {
        if line["requested"] == 4096 {
            line.as_object_mut()
                .unwrap()
                .retain(|field, _| field != "time");
            line["outcome"] = "waived".into();
            line["reason"] = "no memory".into();
        }
    });
    let (code, out, _) = place.says("compare b1 b2 b3");
    assert_eq!(code, 7, "{out}");
    assert!(out.contains("waived: no memory (1 of 3 launches)"), "{out}");
    edit(&place.results().join("b2.jsonl"), |line| {
        if line["line"] == "row" {
            line["wrong"] = 3.into();
        }
    });
    let (code, out, _) = place.says("compare b2 b3");
    assert_eq!(code, 5, "{out}");
    assert!(out.contains("wrong data"), "{out}");
    assert_eq!(place.says("baseline accept --name n --reason r b2").0, 5);
    assert_eq!(place.says("baseline accept --name n --reason r b1 b3").0, 3);
}

#[test]
fn a_gate_is_a_file_of_floors_and_every_floor_must_be_met() {
    let place = Place::new();
    place.runs(&["a1", "a2", "b1"]);
    assert_eq!(place.says("baseline accept --name n --reason r a1 a2").0, 0);
    let gate = |floor: &str| {
        let text = format!("[[gate.floor]]\ncollective = \"allreduce\"\n{floor}\n");
        std::fs::write(place.0.path().join("gate.toml"), text).unwrap();
        place.says("compare --gate gate.toml b1")
    };
    let (code, out, _) = gate("size = \"2M\"\ntime = 1e9");
    assert!(
        code != 6 && out.contains("met: allreduce float sum out-of-place 2 MiB time"),
        "{out}"
    );
    let (code, out, _) = gate("size = \"2M\"\nbusbw = 1e9");
    assert!(code == 6 && out.contains("NOT MET: "), "{code}: {out}");
    let (code, out, _) = gate("size = \"3G\"\nbusbw = 1");
    assert!(code == 6 && out.contains("no such row"), "{code}: {out}");
    let (code, _, err) = gate("size = \"2M\"");
    assert!(code == 2 && err.contains("asks for nothing"), "{err}");
    assert_eq!(place.says("compare --gate nowhere.toml b1").0, 3);
}

#[test]
fn a_baseline_is_changed_only_by_name_and_its_past_stays() {
    let place = Place::new();
    place.runs(&["a1", "a2", "a3"]);
    assert_eq!(
        place.says("baseline accept --name n --reason first a1").0,
        0
    );
    let (_, out, _) = place.says("baseline accept --name n --reason second --author bob a2 a3");
    assert!(
        out.contains("entry 2: 2 launches, by bob") && out.contains("before:  n, entry 1"),
        "{out}"
    );
    let (code, out, _) = place.says("baseline retire --name n --reason over");
    assert!(
        code == 0 && out.contains("entry 3: retired, by ada"),
        "{out}"
    );
    let (_, out, _) = place.says("baseline show n");
    for part in ["first", "second", "over", "backend: sim", "a2"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (code, _, err) = place.says("compare --baseline n a1");
    assert!(
        code == 2 && err.contains("was retired by ada: over"),
        "{err}"
    );
    assert_eq!(place.says("baseline retire --name n --reason again").0, 2);
    assert_eq!(place.says("baseline show other").0, 3);
    let (_, out, _) = place.says("baseline list --json");
    let entry: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (entry["entry"].as_u64(), entry["retired"].as_bool()),
        (Some(3), Some(true))
    );
}

#[test]
fn what_is_stored_is_listed_and_shown_a_run_that_was_killed_too() {
    let place = Place::new();
    place.runs(&["a1", "a2"]);
    let torn = place.results().join("torn.jsonl");
    let text = std::fs::read_to_string(place.results().join("a1.jsonl")).unwrap();
    std::fs::write(&torn, &text[..text.len() * 2 / 3]).unwrap();
    let (code, out, _) = place.says("results list");
    assert_eq!((code, out.lines().count()), (0, 4), "{out}");
    assert!(out.contains("its last line was cut off"), "{out}");
    let (_, out, _) = place.says("results list --json");
    let runs: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        runs.iter()
            .any(|run| run["run"] == "torn" && run["cut_short"].is_string())
    );
    let (code, out, _) = place.says("results show torn");
    assert!(
        code == 0 && out.contains("not whole") && out.contains("allreduce float sum"),
        "{out}"
    );
    assert_eq!(place.says("baseline accept --name n --reason r torn").0, 2);
    std::fs::write(place.results().join("bad.jsonl"), "hello\n").unwrap();
    let (code, out, err) = place.says("results list");
    assert_eq!((code, out.lines().count()), (3, 4), "{out}");
    assert!(err.contains("bad.jsonl`: line 1: not the header"), "{err}");
    let (code, out, _) = place.says("results list --store elsewhere");
    assert_eq!((code, out.as_str()), (0, ""));
}
