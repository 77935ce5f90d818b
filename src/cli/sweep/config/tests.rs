//! Configurations as people write them, and as they get them wrong.

use super::*;
use crate::base::Bytes;
use std::time::Duration;

const GOOD: &str = r#"
name = "mine"
doctor = true
path = "efa"
[defaults]
warmup = 7
iters = 20
[[part]]
step = "one"
collectives = ["all_reduce", "alltoall"]
datatypes = ["float", "bf16"]
sizes = ["1M", 8, "64K"]
repeats = 3
[[part]]
step = "two"
collectives = "broadcast"
root = "all"
sizes = { from = "8", to = "1K", factor = 4 }
placements = ["in-place"]
iters = "auto"
ci = "2%"
budget = 0.5
warmup = 0
distribution = true
[compare]
baseline = "good-night"
latency = 0.2
[[gate.floor]]
collective = "allreduce"
size = { from = "1M", to = "8G" }
busbw = 300
"#;

#[test]
fn parts_take_defaults_where_they_say_nothing_themselves() {
    let config = read("mine.toml", GOOD).unwrap();
    assert_eq!((config.name.as_str(), config.doctor), ("mine", true));
    let names: Vec<_> = config.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let [first, second] = config.steps[0].parts.as_slice() else {
        panic!("two collectives")
    };
    assert_eq!(first.collective.name(), "allreduce");
    assert_eq!(second.collective.name(), "alltoall");
    assert_eq!(first.list, [Bytes(8), Bytes(64 << 10), Bytes(1 << 20)]);
    assert_eq!((first.iterations, first.warmup, first.cycles), (20, 7, 3));
    assert_eq!(first.dtypes.len(), 2);
    let third = &config.steps[1].parts[0];
    let precision = third.effort.precision.unwrap();
    assert!((precision.half_width - 0.02).abs() < 1e-12);
    assert_eq!(precision.budget, Duration::from_millis(500));
    assert_eq!((third.iterations, third.warmup), (0, 0));
    assert_eq!(third.placements, [Placement::InPlace]);
    assert!(third.effort.distribution && !first.effort.distribution);
    assert_eq!(third.roots, crate::plan::Roots::All);
}

#[test]
fn limits_floors_and_the_baseline_are_read() {
    let config = read("mine.toml", GOOD).unwrap();
    assert_eq!(config.limits.latency, Some(0.2));
    assert_eq!(config.limits.bandwidth, None);
    assert_eq!(config.baseline.as_deref(), Some("good-night"));
    assert_eq!(config.path.map(Gate::name), Some("efa"));
    let floor = &config.floors[0];
    assert_eq!((floor.from, floor.to), (Bytes(1 << 20), Bytes(8 << 30)));
    assert_eq!(floor.busbw_gbps, Some(300.0));
}

/// `GOOD` with one piece of text replaced by another gives a complaint that begins like this.
fn complains(from: &str, to: &str, complaint: &str) {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let fault = read("mine.toml", &text).unwrap_err().to_string();
    assert!(fault.starts_with(complaint), "{to}: {fault}");
}

/// What is replaced, by what, and how the complaint begins.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "warmup = 7",
        "warmpu = 7",
        "mine.toml, line 6, key `defaults.warmpu`: there is no such key",
    ),
    (
        "warmup = 7",
        "warmup = -7",
        "mine.toml, line 6, key `defaults.warmup`: expected a whole number from 0",
    ),
    (
        "\"all_reduce\"",
        "\"allredcue\"",
        "mine.toml, line 10, key `part[0].collectives[0]`: unknown collective",
    ),
    (
        "\"bf16\"",
        "\"float99\"",
        "mine.toml, line 11, key `part[0].datatypes[1]`: ",
    ),
    (
        "\"1M\", 8",
        "\"1M\", \"8X\"",
        "mine.toml, line 12, key `part[0].sizes[1]`: invalid size `8X`",
    ),
    (
        "[\"1M\", 8, \"64K\"]",
        "[]",
        "mine.toml, line 12, key `part[0].sizes`: expected at least one value",
    ),
    (
        "repeats = 3",
        "repeats = 0",
        "mine.toml, line 13, key `part[0].repeats`: expected a whole number from 1",
    ),
    (
        "step = \"two\"",
        "step = 2",
        "mine.toml, line 15, key `part[1].step`: expected a text",
    ),
    (
        "from = \"8\"",
        "from = \"8K\"",
        "mine.toml, line 18, key `part[1].sizes`: the smallest size",
    ),
    (
        "factor = 4",
        "factor = 1",
        "mine.toml, line 18, key `part[1].sizes.factor`: ",
    ),
    (
        "factor = 4",
        "factor = 4, step = 8",
        "mine.toml, line 18, key `part[1].sizes.step`: there is a `factor`",
    ),
    (
        "\"in-place\"",
        "\"inplace\"",
        "mine.toml, line 19, key `part[1].placements[0]`: `inplace` is none of",
    ),
    (
        "iters = \"auto\"",
        "iters = \"automatic\"",
        "mine.toml, line 20, key `part[1].iters`: ",
    ),
    (
        "ci = \"2%\"",
        "ci = \"200%\"",
        "mine.toml, line 21, key `part[1].ci`: ",
    ),
    (
        "budget = 0.5",
        "budget = 0",
        "mine.toml, line 22, key `part[1].budget`: expected a number above 0",
    ),
    (
        "distribution = true",
        "distribution = 1",
        "mine.toml, line 24, key `part[1].distribution`: expected true",
    ),
    (
        "latency = 0.2",
        "latncy = 0.2",
        "mine.toml, line 27, key `compare.latncy`: there is no such key",
    ),
    (
        "busbw = 300",
        "busbw = nan",
        "mine.toml, line 31, key `gate.floor[0].busbw`: expected a number",
    ),
    (
        "busbw = 300",
        "",
        "mine.toml, line 28, key `gate.floor[0]`: it asks for nothing",
    ),
    (
        "path = \"efa\"",
        "path = \"tcp\"",
        "mine.toml, line 4, key `path`: ",
    ),
    (
        "name = \"mine\"",
        "name = \"../mine\"",
        "mine.toml, line 2, key `name`: ",
    ),
    (
        "name = \"mine\"",
        "",
        "mine.toml, line 3, key `name`: it is missing",
    ),
];

#[test]
fn complaints_name_file_line_and_key() {
    for (from, to, complaint) in WRONG {
        complains(from, to, complaint);
    }
}

#[test]
fn a_step_that_is_taken_up_again_is_refused() {
    let more = "[[part]]\nstep = \"one\"\ncollectives = \"reduce\"\nsizes = 8\n[compare]";
    complains(
        "[compare]",
        more,
        "mine.toml, line 25, key `part[2]`: step `one` was left",
    );
}

#[test]
fn what_a_part_cannot_do_without_is_asked_for() {
    let without = |line: &str| GOOD.replacen(line, "", 1);
    for (line, key) in [
        ("collectives = \"broadcast\"", "part[1].collectives"),
        (
            "sizes = { from = \"8\", to = \"1K\", factor = 4 }",
            "part[1].sizes",
        ),
    ] {
        let fault = read("mine.toml", &without(line)).unwrap_err().to_string();
        assert!(
            fault.contains(&format!("key `{key}`: it is missing")),
            "{fault}"
        );
    }
    assert!(
        read("empty.toml", "")
            .unwrap_err()
            .to_string()
            .contains("`name`: it is missing")
    );
}
