//! `ncclbench doctor` over the nodes of a real Slurm.

use super::cluster::{PMIX, VARIABLES, launch, slurm};
use super::harness::told_by_all;
use super::whereabouts::report;

#[test]
#[ignore = "needs tests/all.sh"]
fn srun_over_two_nodes_is_one_examination_of_both() {
    for launcher in [PMIX, VARIABLES] {
        let finished = launch(slurm("srun", launcher), &["doctor", "--json"]);
        assert!(
            matches!(finished.code(), Some(0 | 3)),
            "{}",
            finished.told()
        );
        let report = report(&finished);
        assert_eq!(report["processes"], 4, "{}", told_by_all(&[finished]));
        let hosts: Vec<_> = report["hosts"].as_array().unwrap().iter().collect();
        assert_eq!(hosts.len(), 2);
        assert_eq!(
            (&hosts[0]["host"], &hosts[1]["host"]),
            (&"node1".into(), &"node2".into())
        );
        let findings = report["findings"].as_array().unwrap();
        // each process has a mask, each host a name
        let found = |check: &str| {
            let mine = findings.iter().filter(|one| one["check"] == check);
            mine.map(|one| one["processes"].as_array().unwrap().len())
                .sum::<usize>()
        };
        assert_eq!((found("cpu-mask"), found("host-name")), (4, 2));
        // the nodes share a machine: what differs between them is nothing that is installed
        for one in report["drift"].as_array().unwrap() {
            assert!(
                ["mtu", "subnet"].contains(&one["what"].as_str().unwrap()),
                "{one}"
            );
        }
    }
}
