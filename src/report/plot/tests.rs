//! Every kind of plot over every odd run: it is drawn and can be read, or refused with a reason.

use super::picture::{Picture, Shape, Words};
use super::*;
use crate::base::Kind;
use crate::record::history::{ChangePoint, Point, Series, SeriesOf};
use crate::record::{Pair, PairMatrix, Published, Run};
use crate::report::material::{Ceiling, Named, Wish};
use crate::report::testing;
use std::collections::HashSet;

fn material(run: &Run) -> Material<'_> {
    Material {
        runs: vec![Named {
            label: "run".to_owned(),
            run,
        }],
        ..Material::default()
    }
}

/// Refuses texts that lie over each other, whatever leaves the picture, and numbers that are none.
fn require_readable(picture: &Picture, what: &str) {
    let texts: Vec<&Words> = picture
        .texts()
        .filter(|words| words.opacity > 0.5 && !words.text.is_empty())
        .collect();
    for (index, words) in texts.iter().enumerate() {
        let [left, top, right, bottom] = words.extent();
        let inside =
            left >= 0.0 && top >= 0.0 && right <= picture.width + 0.5 && bottom <= picture.height;
        assert!(
            inside,
            "{what}: `{}` at {left} {top} {right} {bottom} leaves {} x {}",
            words.text, picture.width, picture.height
        );
        for other in &texts[index + 1..] {
            let [l, t, r, b] = other.extent();
            let apart = right <= l || r <= left || bottom <= t || b <= top;
            assert!(
                apart,
                "{what}: `{}` and `{}` lie over each other",
                words.text, other.text
            );
        }
    }
    for shape in &picture.shapes {
        let spots = match shape {
            Shape::Line { spots, .. } | Shape::Area { spots, .. } => spots.clone(),
            Shape::Disc { at, .. } => vec![*at],
            Shape::Text(words) => vec![words.at],
        };
        assert!(
            spots.iter().all(|(x, y)| x.is_finite() && y.is_finite()),
            "{what}: {shape:?}"
        );
    }
}

/// Draws, checks and paints; gives the SVG.
fn drawn(kind: &Plot, material: &Material<'_>, what: &str) -> String {
    let picture = (kind.draw)(material).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    require_readable(&picture, what);
    let svg = svg(&picture).unwrap();
    let document =
        roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        document
            .root_element()
            .has_tag_name(("http://www.w3.org/2000/svg", "svg"))
    );
    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{what}");
    svg
}

#[test]
fn kinds_have_names_and_summaries_of_their_own() {
    let names: HashSet<_> = ALL.iter().map(|plot| plot.name).collect();
    assert_eq!(names.len(), ALL.len());
    assert!(
        ALL.iter()
            .all(|plot| !plot.summary.is_empty() && by_name(plot.name).is_some())
    );
    assert!(by_name("pie").is_none());
}

#[test]
fn every_odd_run_is_drawn_or_refused_with_a_reason() {
    for (what, run) in testing::odd() {
        for kind in ALL {
            match (kind.draw)(&material(&run)) {
                Ok(_) => drop(drawn(
                    kind,
                    &material(&run),
                    &format!("{what}, {}", kind.name),
                )),
                Err(fault) => {
                    assert_eq!(fault.kind, Kind::Usage);
                    assert!(!fault.message.is_empty(), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_run_without_a_measurement_is_refused_and_every_other_odd_one_is_drawn() {
    for (what, run) in testing::odd() {
        let is_empty = matches!(what, "no rows" | "all rows waived");
        for kind in ["busbw", "algbw", "latency"] {
            let drawn = (by_name(kind).unwrap().draw)(&material(&run));
            assert_eq!(drawn.is_err(), is_empty, "{what}, {kind}: {drawn:?}");
        }
    }
}

fn svg_of(name: &str, kind: &str) -> String {
    let (what, run) = testing::odd()
        .into_iter()
        .find(|(what, _)| *what == name)
        .unwrap();
    drawn(by_name(kind).unwrap(), &material(&run), what)
}

#[test]
fn what_was_not_measured_is_stamped() {
    assert!(svg_of("simulated", "busbw").contains("SIMULATED"));
    assert!(svg_of("stand-in", "latency").contains("STAND-IN LIBRARY"));
    assert!(!svg_of("one size", "busbw").contains("say nothing"));
}

#[test]
fn wrong_waived_and_missing_rows_are_told() {
    assert!(svg_of("wrong rows", "busbw").contains("× marks wrong data: "));
    assert!(svg_of("wrong rows", "busbw").contains(&palette::ALARM.hex()));
    assert!(svg_of("some rows waived", "busbw").contains("waived: not here"));
    assert!(svg_of("cut short", "busbw").contains("Cut short in the middle of a line"));
}

#[test]
fn sizes_are_named_as_people_say_them_and_versions_are_there() {
    let svg = svg_of("one size", "busbw");
    for words in [
        "1 MiB",
        "GB/s",
        "8 ranks on NVIDIA H200 of 2 hosts (gpu-0, gpu-1)",
        "2026-11-29 14:17 UTC",
        "nccl 2.28.3",
        "ncclbench 0.1.0",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(!svg.contains("1048576"));
}

#[test]
fn in_place_rows_are_left_out_with_a_word_unless_asked_for() {
    let run = testing::run(&testing::sizes());
    let plot = by_name("busbw").unwrap();
    let svg = drawn(plot, &material(&run), "default");
    assert!(svg.contains("Out-of-place rows;"));
    let both = Material {
        wish: Wish {
            both_placements: true,
            ..Wish::default()
        },
        ..material(&run)
    };
    let svg = drawn(plot, &both, "both");
    assert!(svg.contains("in-place") && !svg.contains("Out-of-place rows;"));
}

#[test]
fn sixteen_runs_can_be_told_apart_and_seventeen_are_refused() {
    let run = testing::run(&testing::sizes());
    let name = |index: usize| Named {
        label: format!("nightly-run-number-{index}-{}", testing::HOSTILE),
        run: &run,
    };
    let mut many = Material {
        runs: (0..16).map(name).collect(),
        ..Material::default()
    };
    for kind in ["busbw", "latency", "history"] {
        drawn(by_name(kind).unwrap(), &many, kind);
    }
    many.runs.push(name(16));
    let fault = (by_name("busbw").unwrap().draw)(&many).unwrap_err();
    assert!(fault.message.contains("17 lines"), "{fault}");
}

#[test]
fn a_verdict_gives_the_band_the_changes_and_their_limits() {
    let run = testing::run(&testing::sizes());
    let verdict = testing::verdict(&run, -5.5);
    let material = Material {
        verdict: Some(&verdict),
        ceilings: vec![
            Ceiling {
                gbps: 750.0,
                label: "tree".to_owned(),
            },
            Ceiling {
                gbps: 0.5,
                label: String::new(),
            },
        ],
        ..material(&run)
    };
    let busbw = drawn(by_name("busbw").unwrap(), &material, "busbw");
    assert!(busbw.contains("(slowest, median, fastest of 5 launches)") || busbw.contains("…"));
    assert!(busbw.contains("tree: 750 GB/s") && busbw.contains("ceiling 0.5 GB/s"));
    let change = drawn(by_name("change").unwrap(), &material, "change");
    for words in [
        "REGRESS",
        "limit −3 %",
        "latency band: −5.5 %, REGRESS",
        "1 row of the baseline missing now.",
    ] {
        assert!(change.contains(words), "{words}");
    }
}

#[test]
fn a_history_shows_its_steps() {
    let point = |day: u32, value: f64| Point {
        at: format!("2026-11-{day:02}T03:00:00.000Z"),
        run: format!("r{day}"),
        value,
        judged: day > 28,
    };
    let points = (1..=30)
        .map(|day| point(day, if day < 20 { 100.0 } else { 96.0 }))
        .collect();
    let steps = vec![ChangePoint {
        index: 19,
        change_percent: -4.0,
        p: 0.001,
    }];
    let of = SeriesOf::Band(crate::record::verdict::Band::Bandwidth);
    let series = Series {
        of,
        points,
        change_points: steps,
        z: Some(-8.0),
        alarm: true,
    };
    let material = Material {
        history: vec![series],
        ..Material::default()
    };
    let svg = drawn(by_name("history").unwrap(), &material, "history");
    for words in [
        "−4 %",
        "bandwidth band (alarm)",
        "speed, % of the baseline",
        "2026-11-",
    ] {
        assert!(svg.contains(words), "{words}");
    }
}

#[test]
fn a_matrix_of_any_size_shows_its_worst_and_what_is_missing() {
    for size in [1, 2, 8, 24, 128] {
        let pairs = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to && (from + to) % 7 != 3);
        let pairs: Vec<Pair> = pairs
            .map(|(from, to)| Pair {
                from,
                to,
                value: if from == 1 { 12.0 } else { 48.0 },
            })
            .collect();
        let matrix = PairMatrix {
            title: format!("alltoall {}", testing::HOSTILE),
            unit: "GB/s".to_owned(),
            more_is_better: true,
            names: (0..size).map(|host| format!("gpu-{host:03}")).collect(),
            pairs,
        };
        let material = Material {
            matrix: Some(&matrix),
            ..Material::default()
        };
        if size == 1 {
            assert!((by_name("matrix").unwrap().draw)(&material).is_err());
            continue;
        }
        let svg = drawn(by_name("matrix").unwrap(), &material, &format!("{size}"));
        assert!(
            svg.contains("best 48 GB/s") && svg.contains("not measured"),
            "{size}"
        );
        assert_eq!(
            svg.contains("ordered pairs were measured"),
            size > 2,
            "{size}"
        );
    }
}

#[test]
fn published_points_lie_beside_the_runs_of_their_collective() {
    let published = Published::read(include_str!("../../../docs/gallery/published.csv")).unwrap();
    let run = testing::run(&testing::sizes());
    let material = Material {
        published: &published,
        ..material(&run)
    };
    let svg = drawn(by_name("busbw").unwrap(), &material, "published");
    assert!(svg.contains("published: 2 × g6.12xlarge, socket (post-2026-06)"));
    assert!(
        svg.contains("Published without bus bandwidth, and so not shown: 2."),
        "{svg}"
    );
    assert!(!svg.contains("c5n.9xlarge"));
}

#[test]
fn a_png_has_twice_the_pixels_and_is_not_empty() {
    let run = testing::run(&testing::sizes());
    let picture = (by_name("busbw").unwrap().draw)(&material(&run)).unwrap();
    let bytes = png(&picture).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert!((f64::from(info.width) - picture.width * 2.0).abs() < 0.5);
    let dark = pixels.iter().filter(|value| **value < 100).count();
    assert!(dark > 1000, "{dark}");
}
