//! What is odd about launches that nobody here can start: made up, and read as text.

use super::super::gpus::testing::card;
use super::odd;
use super::report::Report;
use super::sighting::Answer;
use super::sighting::Launch;
use super::sighting::Machine;
use super::sighting::Sighting;
use super::text;
use crate::base::Env;
use crate::cli;
use crate::cli::Parsed;
use crate::cli::WhereArgs;
use crate::probe::library::Found;
use crate::record::LibraryRecord;
use std::collections::BTreeMap;

fn args(line: &str) -> WhereArgs {
    let words = ["ncclbench", "where"]
        .into_iter()
        .chain(line.split_whitespace());
    match cli::parse(words.map(Into::into), &Env::default()).unwrap() {
        Parsed::Where(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn library(name: &str, version: &str) -> Found {
    Found::Loaded(LibraryRecord {
        name: name.to_owned(),
        path: "/lib.so".to_owned(),
        version: version.to_owned(),
        code: None,
        stand_in: false,
    })
}

/// A process that sees one GPU and eight cores of two processors each; nothing is odd about it.
fn process(host: &str, gpu: &str, first_core: u32) -> Sighting {
    Sighting {
        card: card(host, &[gpu]),
        launch: Launch {
            launcher: Some("pmix".to_owned()),
            reason: "for a test".to_owned(),
            is_forced: false,
            also_announced: vec!["slurm".to_owned()],
            notes: Vec::new(),
        },
        cpus: (2 * first_core..2 * first_core + 16).collect(),
        cores: Some((first_core..first_core + 8).collect()),
        cpus_per_task: Some("16".to_owned()),
        worlds: BTreeMap::new(),
        libraries: vec![library("cuda driver", "13.0"), library("nccl", "2.30.7")],
        machine: Some(Machine {
            resolved: Answer {
                found: vec!["10.0.1.7".parse().unwrap()],
                failure: None,
            },
            interfaces: Answer {
                found: Vec::new(),
                failure: None,
            },
            rdma: Vec::new(),
        }),
    }
}

/// Three processes on the first host and two on the second.
fn five() -> Vec<Sighting> {
    let gpus = ["a", "b", "c", "d", "e"];
    (0u32..)
        .zip(gpus)
        .map(|(index, gpu)| process(["n1", "n2"][index as usize % 2], gpu, 8 * index))
        .collect()
}

fn four() -> Vec<Sighting> {
    five()[..4].to_vec()
}

/// The findings on processes that have met, one a line.
fn findings(all: &[Sighting]) -> String {
    let all = odd::all(all, true);
    all.iter().map(|one| one.what.clone() + "\n").collect()
}

#[test]
fn nothing_is_odd_about_a_launch_as_it_should_be() {
    assert_eq!(findings(&four()), "");
    let report = Report::of_all(&args(""), &four(), Some("10.0.1.7:5"));
    let text = text::of(&report);
    assert!(
        text.contains("4 ranks in 4 processes on 2 hosts\nrendezvous: 10.0.1.7:5\n"),
        "{text}"
    );
    assert!(
        text.ends_with("nothing is odd\na run that is started like this would begin\n"),
        "{text}"
    );
}

#[test]
fn ranks_with_one_core_are_named_whatever_slurm_was_asked_for() {
    let mut all = five();
    for one in &mut all[1..3] {
        (one.cpus, one.cores) = (vec![4, 5], Some(vec![4]));
    }
    let said = findings(&all);
    assert!(said.contains("ranks 1, 2: one CPU core a rank"), "{said}");
    assert!(
        said.contains("ranks 1, 2: `SLURM_CPUS_PER_TASK` is 16, but the mask has 2 CPUs"),
        "{said}"
    );
}

#[test]
fn cores_that_the_kernel_does_not_tell_are_counted_as_processors() {
    let mut all = four();
    all[3].cores = None;
    all[3].cpus = vec![7];
    assert!(findings(&all).contains("rank 3: one CPU core a rank"));
}

#[test]
fn ranks_that_share_too_few_cores_are_told_by_host() {
    let mut all = four();
    for one in &mut all {
        one.cpus_per_task = None;
        (one.cpus, one.cores) = (vec![0, 1, 2], Some(vec![0, 1, 2]));
    }
    assert_eq!(findings(&all), "n1, n2: 2 ranks share 3 CPU cores\n");
}

#[test]
fn names_that_lead_nowhere_are_told_with_what_they_resolve_to() {
    for (address, said) in [
        ("127.0.1.1", "resolves to 127.0.1.1"),
        ("fe80::1", "resolves to a link-local address (fe80::…)"),
        (
            "169.254.3.4",
            "resolves to a link-local address (169.254.…)",
        ),
    ] {
        let mut all = four();
        all[1].machine.as_mut().unwrap().resolved.found = vec![address.parse().unwrap()];
        let found = findings(&all);
        assert!(
            found.starts_with(&format!("n2: the host's own name {said}")),
            "{found}"
        );
    }
    let mut all = four();
    all[0].machine.as_mut().unwrap().resolved.failure = Some("no such name".to_owned());
    assert!(findings(&all).contains("n1: the host's own name cannot be resolved: no such name"));
}

#[test]
fn hosts_with_different_numbers_of_ranks_are_told() {
    let said = "hosts have different numbers of ranks: 2 on n2; 3 on n1\n";
    assert_eq!(findings(&five()), said);
    assert_eq!(odd::all(&five(), false), []);
}

#[test]
fn libraries_that_differ_are_told_by_host_and_two_nccls_would_be_refused() {
    let mut all = four();
    for member in [1, 3] {
        all[member].libraries = vec![library("cuda driver", "13.0"), library("nccl", "2.28.3")];
    }
    assert_eq!(
        findings(&all),
        "nccl differs between hosts: 2.28.3 on n2; 2.30.7 on n1\n"
    );
    let report = Report::of_all(&args(""), &all, None);
    assert!(report.refused.unwrap().what.contains("2.28.3, 2.30.7"));
}

#[test]
fn a_driver_on_some_hosts_only_would_be_refused_with_the_host_that_lacks_it() {
    let mut all = four();
    all[1].libraries[0] = Found::Absent {
        name: "cuda driver".to_owned(),
        why: "no such file".to_owned(),
    };
    all[1].card.devices.clear();
    let report = Report::of_all(&args(""), &all, None);
    assert_eq!(report.refused.unwrap().what, "n2: no such file");
    assert!(findings(&all).contains("cuda driver differs between hosts: 13.0 on n1; none on n2"));
    let on_cpus = Report::of_all(&args("--backend host"), &all, None);
    assert_eq!(on_cpus.refused, None);
}

#[test]
fn a_gpu_for_two_ranks_would_be_refused_unless_that_is_asked_for() {
    let all = vec![process("n1", "a", 0), process("n2", "a", 0)];
    let refused = Report::of_all(&args(""), &all, None).refused.unwrap();
    assert!(
        refused
            .what
            .starts_with("ranks 0 (n1, 0000:0a:00) and 1 (n2, 0000:0a:00)")
    );
    let allowed = Report::of_all(&args("--allow-shared-gpu"), &all, None);
    assert_eq!((allowed.refused, allowed.notes.len()), (None, 1));
}

#[test]
fn a_list_of_visible_devices_that_the_driver_cuts_short_is_told() {
    let mut all = four();
    all[2].card.visible = Some("0,9,1".to_owned());
    let said = "rank 2: `CUDA_VISIBLE_DEVICES` is `0,9,1`, of which the driver shows 1\n";
    assert_eq!(findings(&all), said);
}

#[test]
fn a_launcher_that_was_chosen_on_purpose_is_not_odd() {
    let mut all = four();
    let torn = |all: &[Sighting]| findings(all).contains("are set too");
    for one in &mut all {
        one.launch.also_announced.push("torchrun".to_owned());
    }
    assert!(torn(&all));
    for one in &mut all {
        one.launch.is_forced = true;
    }
    assert!(!torn(&all));
}

#[test]
fn of_many_hosts_the_first_and_their_number_are_told() {
    let mut all: Vec<Sighting> = (0..7).map(|n| process(&format!("h{n}"), "a", 0)).collect();
    for one in &mut all {
        one.cpus_per_task = Some("2".to_owned());
        one.machine.as_mut().unwrap().resolved.found = vec!["::1".parse().unwrap()];
    }
    let said = findings(&all);
    assert!(
        said.contains("ranks 0–6: `SLURM_CPUS_PER_TASK` is 2"),
        "{said}"
    );
    assert!(
        said.contains("h0, … (7 hosts): the host's own name resolves to ::1"),
        "{said}"
    );
}
