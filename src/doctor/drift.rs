//! What differs between hosts that should be alike. Pure.

use super::by_name;
use crate::record::Checkups;
use crate::record::Health;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

/// Something that differs between hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The check that saw it.
    pub check: String,
    /// What differs: `driver`, `mtu`.
    pub what: String,
    /// How bad that is.
    pub health: Health,
    /// Each value and the hosts that have it, those of the fewest hosts first; the last is what most have.
    pub sides: Vec<Side>,
}

/// A value, and who has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The value; none where the hosts do not say.
    pub value: Option<String>,
    /// Hosts by name, in the order of their first ranks.
    pub hosts: Vec<String>,
}

/// Everything that differs, in the order of the checks.
pub fn between(checkups: &Checkups) -> Vec<Drift> {
    let hosts = checkups.hosts();
    let mut names: Vec<(&str, &str)> = Vec::new();
    for one in &checkups.findings {
        for what in one.finding.shared.keys() {
            let name = (one.finding.check.as_str(), what.as_str());
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let names = names.into_iter();
    names
        .filter_map(|name| differing(checkups, &hosts, name))
        .collect()
}

fn differing(checkups: &Checkups, hosts: &[usize], (check, what): (&str, &str)) -> Option<Drift> {
    let health = by_name(check).map_or(Health::Warning, |check| check.drift);
    let mut sides: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for &member in hosts {
        let mut mine = checkups.of_member(member);
        let mine = mine.find(|finding| finding.check == check)?;
        let value = mine.shared.get(what).map(String::as_str);
        let host = checkups.members[member].host.clone();
        sides.entry(value).or_default().push(host);
    }
    if sides.len() < 2 || health < Health::Warning {
        return None;
    }
    let side = |(value, hosts): (Option<&str>, Vec<String>)| Side {
        value: value.map(str::to_owned),
        hosts,
    };
    let mut sides: Vec<Side> = sides.into_iter().map(side).collect();
    sides.sort_by_key(|side| side.hosts.len());
    Some(Drift {
        check: check.to_owned(),
        what: what.to_owned(),
        health,
        sides,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Checkup;
    use crate::record::Finding;

    fn host(name: &str, driver: Option<&str>) -> Checkup {
        let shared = driver.map(|driver| ("driver".to_owned(), driver.to_owned()));
        Checkup {
            host: name.to_owned(),
            identity: name.to_owned(),
            ranks: "rank 0".to_owned(),
            findings: vec![Finding {
                check: "driver".to_owned(),
                health: Health::Ok,
                evidence: Vec::new(),
                shared: shared.into_iter().collect(),
                own: BTreeMap::new(),
                hint: None,
            }],
        }
    }

    #[test]
    fn the_hosts_that_differ_from_most_are_named_first() {
        let all = ["580.1", "580.2", "580.1", "580.1", "580.1"];
        let all = (0..)
            .zip(all)
            .map(|(n, driver)| host(&format!("n{n}"), Some(driver)));
        let drift = between(&Checkups::of(all.collect()));
        assert_eq!(drift.len(), 1);
        assert_eq!(
            (drift[0].what.as_str(), drift[0].health),
            ("driver", Health::Failure)
        );
        assert_eq!(drift[0].sides[0].hosts, ["n1"]);
        assert_eq!(drift[0].sides[1].hosts, ["n0", "n2", "n3", "n4"]);
    }

    #[test]
    fn a_host_that_does_not_say_differs_from_those_that_do() {
        let all = vec![host("a", Some("1")), host("b", None), host("c", Some("1"))];
        let drift = between(&Checkups::of(all));
        assert_eq!(
            (&drift[0].sides[0].value, &drift[0].sides[0].hosts[..]),
            (&None, &["b".to_owned()][..])
        );
        let alike = vec![host("a", Some("1")), host("b", Some("1"))];
        assert_eq!(between(&Checkups::of(alike)), []);
    }
}
