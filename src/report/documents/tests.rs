//! Every document of every odd run: nothing from outside breaks its form, and what matters is told.

use super::*;
use crate::report::material::Named;
use crate::report::testing::{self, HOSTILE};
use std::collections::HashSet;

/// All odd runs at once, each under a name that wants to break out, with a verdict on one of them.
fn everything(document: &str) -> String {
    let odd = testing::odd();
    let runs = odd.iter().map(|(what, run)| Named {
        label: format!("{what} {HOSTILE}"),
        run,
    });
    let run = testing::run(&testing::sizes());
    let verdict = testing::verdict(&run, -5.5);
    let material = Material {
        runs: runs.collect(),
        verdict: Some(&verdict),
        title: Some(HOSTILE.to_owned()),
        ..Material::default()
    };
    (by_name(document).unwrap().text)(&material).unwrap()
}

fn of(document: &str, odd: &str) -> String {
    let (what, run) = testing::odd()
        .into_iter()
        .find(|(what, _)| *what == odd)
        .unwrap();
    let material = Material {
        runs: vec![Named {
            label: what.to_owned(),
            run: &run,
        }],
        ..Material::default()
    };
    (by_name(document).unwrap().text)(&material).unwrap()
}

#[test]
fn documents_have_names_endings_and_summaries_of_their_own() {
    let names: HashSet<_> = ALL.iter().map(|one| one.name).collect();
    let endings: HashSet<_> = ALL.iter().map(|one| one.ending).collect();
    assert_eq!((names.len(), endings.len()), (ALL.len(), ALL.len()));
    assert!(ALL.iter().all(|one| !one.summary.is_empty()));
}

#[test]
fn every_document_takes_every_odd_run_and_none_at_all() {
    for document in ALL {
        for (what, run) in testing::odd() {
            let named = Named {
                label: what.to_owned(),
                run: &run,
            };
            let material = Material {
                runs: vec![named],
                ..Material::default()
            };
            let text = (document.text)(&material).unwrap_or_else(|fault| panic!("{what}: {fault}"));
            assert!(
                !text.is_empty() && !text.contains("NaN"),
                "{what}, {}",
                document.name
            );
        }
        (document.text)(&Material::default()).unwrap();
    }
}

#[test]
fn a_page_loads_nothing_and_no_name_breaks_out_of_it() {
    let page = everything("html");
    assert!(
        !page.contains("<script>alert") && !page.contains("]]><"),
        "a name became markup"
    );
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</script>").count(), 1);
    for outside in [
        "src=",
        "url(",
        "@import",
        "href=\"http",
        "fetch(",
        "XMLHttpRequest",
        "<iframe",
        "<img",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    let elsewhere = page.match_indices("http").filter(|(at, _)| {
        !page[*at..].starts_with("http://www.w3.org/2000/svg")
            && !page[*at..].starts_with("http-equiv")
    });
    assert_eq!(elsewhere.count(), 0);
    assert!(!page.contains('\u{1}') && !page.contains('\u{ffff}'));
}

#[test]
fn the_body_of_a_page_closes_what_it_opens() {
    let page = everything("html");
    for element in [
        "div", "table", "tr", "td", "th", "p", "section", "main", "figure", "svg", "details", "dl",
        "ul", "li", "header", "footer", "h1", "h2",
    ] {
        let opened = page.matches(&format!("<{element}>")).count()
            + page.matches(&format!("<{element} ")).count();
        let closed = page.matches(&format!("</{element}>")).count();
        assert!(
            opened == closed && opened > 0,
            "{element}: {opened} opened, {closed} closed"
        );
    }
}

#[test]
fn a_page_says_what_was_not_measured_what_is_wrong_and_what_was_waived() {
    assert!(
        of("html", "simulated").contains("simulated; its numbers say nothing about any machine")
    );
    assert!(of("html", "stand-in").contains("stand-in library; its numbers"));
    let wrong = of("html", "wrong rows");
    assert!(
        wrong.contains("<tr class=\"wrong\">") && wrong.contains("first wrong element: rank 2")
    );
    assert!(of("html", "some rows waived").contains("<tr class=\"waived\">"));
    assert!(of("html", "cut short").contains("later rows are missing"));
    assert!(of("html", "no rows").contains("<p>No rows.</p>"));
    let judged = everything("html");
    for words in [
        "REGRESS",
        "not met",
        "Lost: allreduce float sum out-of-place 8 B",
        "entry 2",
    ] {
        assert!(judged.contains(words), "{words}");
    }
}

#[test]
fn csv_reads_back_with_every_name_as_it_was() {
    let text = everything("csv");
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|one| one == name).unwrap();
    let (run, remark, outcome, time) = (at("run"), at("remark"), at("outcome"), at("time_us"));
    let lines: Vec<_> = reader.records().map(Result::unwrap).collect();
    let rows: usize = testing::odd().iter().map(|(_, run)| run.rows.len()).sum();
    assert_eq!(lines.len(), rows);
    assert!(lines.iter().all(|line| line[run].ends_with(HOSTILE)));
    let waived: Vec<_> = lines
        .iter()
        .filter(|line| &line[outcome] == "waived")
        .collect();
    assert!(
        waived
            .iter()
            .any(|line| &line[remark] == HOSTILE && line[time].is_empty())
    );
    assert!(
        lines
            .iter()
            .filter(|line| &line[outcome] == "measured")
            .all(|line| line[time].parse::<f64>().is_ok())
    );
}

#[test]
fn junit_is_xml_whose_counts_are_those_of_its_cases() {
    let text = everything("junit");
    let document = roxmltree::Document::parse(&text).unwrap();
    let root = document.root_element();
    let of_kind = |kind: &str| {
        root.descendants()
            .filter(|node| node.has_tag_name(kind))
            .count()
    };
    let sum = |name: &str| -> usize {
        let suites = root.children().filter(roxmltree::Node::is_element);
        suites
            .map(|suite| suite.attribute(name).unwrap().parse::<usize>().unwrap())
            .sum()
    };
    for (attribute, element) in [
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ] {
        assert_eq!(sum(attribute), of_kind(element), "{attribute}");
        assert!(of_kind(element) > 0, "{element}");
    }
    let is_there = |words: &str| {
        root.descendants().any(|node| {
            node.attribute("message")
                .is_some_and(|text| text.contains(words))
        })
    };
    for words in [
        "3 wrong elements",
        "it was cut short",
        "no row was measured",
        "slower than a<b>&\"c\"",
        "no row answers to it",
        "not in the file",
    ] {
        assert!(is_there(words), "{words}");
    }
}

/// A sample's name, its labels and its value, by the text format's rules.
fn sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let (head, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = head
        .split_once('{')
        .map_or((head, None), |(name, rest)| (name, Some(rest)));
    let mut pairs = Vec::new();
    let mut rest = labels.map_or("", |labels| labels.strip_suffix('}').unwrap());
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").unwrap();
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next().unwrap() {
                (at, '"') => break at + 1,
                (_, '\\') => match characters.next().unwrap().1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        pairs.push((label.to_owned(), value));
        rest = after[end..].trim_start_matches(',');
    }
    (name.to_owned(), pairs, value.parse().unwrap())
}

#[test]
fn prometheus_has_one_sample_for_a_set_of_labels_and_nothing_that_was_not_measured() {
    let text = everything("prometheus");
    let mut seen = HashSet::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for line in &lines {
        let (name, labels, value) = sample(line);
        assert!(
            name.chars()
                .all(|one| one.is_ascii_alphanumeric() || one == '_')
                && value.is_finite()
        );
        assert!(labels.iter().all(|(label, _)| {
            label
                .chars()
                .all(|one| one.is_ascii_lowercase() || one == '_')
        }));
        let run = labels
            .iter()
            .find(|(label, _)| label == "run")
            .map_or("", |(_, run)| run);
        let counts = !run.starts_with("simulated") && !run.starts_with("stand-in");
        assert!(counts || name.starts_with("ncclbench_run_"), "{line}");
        assert!(seen.insert((name, labels)), "twice: {line}");
    }
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("ncclbench_verdict{") && line.ends_with(" 1"))
    );
    assert!(text.contains("is left out: simulated, not a measurement"));
}

#[test]
fn prometheus_has_inspectors_names_for_what_nccl_did_and_ours_for_the_rest() {
    let text = of("prometheus", "one row");
    let bandwidth = text
        .lines()
        .find(|line| line.starts_with("nccl_bus_bandwidth_gbs{"))
        .unwrap();
    let (_, labels, value) = sample(bandwidth);
    assert!(value > 0.0);
    for (label, wanted) in [
        ("collective", "AllReduce"),
        ("n_nodes", "2"),
        ("nranks", "8"),
        ("slurm_job_id", "17"),
        ("node", "gpu-0"),
        ("message_size_bytes", "1048576"),
    ] {
        assert!(
            labels.contains(&(label.to_owned(), wanted.to_owned())),
            "{label}: {bandwidth}"
        );
    }
    assert!(text.contains("# TYPE nccl_collective_exec_time_microseconds gauge\n"));
    assert!(
        !of("prometheus", "hostile names").contains("\nnccl_"),
        "another backend under NCCL's names"
    );
}

#[test]
fn markdown_tables_keep_their_columns_whatever_a_name_holds() {
    let text = everything("md");
    let mut columns = None;
    let mut tables = 0;
    for line in text.lines() {
        if !line.starts_with('|') {
            columns = None;
            continue;
        }
        let plain = line.replace("\\\\", "").replace("\\|", "");
        let count = plain.matches('|').count();
        tables += usize::from(columns.is_none());
        assert_eq!(*columns.get_or_insert(count), count, "{line}");
    }
    assert!(tables > 3);
    assert!(!text.contains("<b>") && !text.contains("<script>"));
    assert!(text.contains("The rows of the 10 earlier runs are not shown."));
}
