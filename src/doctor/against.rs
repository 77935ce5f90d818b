//! Acceptance records of nodes, and what has changed since one was taken. Pure.

use crate::base::Fault;
use crate::record::Checkups;
use crate::record::Finding;
use crate::record::Health;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

/// Raised where a key of the record changes its meaning.
pub const SCHEMA: u32 = 1;

/// What a record is, so that another file is not taken for one.
const KIND: &str = "acceptance";

/// What was found on some hosts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Always `acceptance`.
    pub kind: String,
    /// The program's version.
    pub ncclbench: String,
    /// When, in UTC: `2026-11-30T02:13:05Z`.
    pub taken: String,
    /// By host.
    pub hosts: Vec<Accepted>,
}

/// What was found on one host, by its first process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The host's name.
    pub host: String,
    /// In the order of the checks.
    pub findings: Vec<Finding>,
}

/// Something that is not as the record has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The host's name now.
    pub host: String,
    /// The check that sees it.
    pub check: String,
    /// What has changed: `health`, or a name among the check's values.
    pub what: String,
    /// As the record has it; none where it has nothing.
    pub before: Option<String>,
    /// As it is now; none where there is nothing.
    pub now: Option<String>,
}

impl Acceptance {
    /// The record of what was found now.
    pub fn new(checkups: &Checkups, taken: String) -> Self {
        let hosts = checkups.hosts().into_iter();
        let accepted = |member: usize| Accepted {
            host: checkups.members[member].host.clone(),
            findings: checkups.of_member(member).cloned().collect(),
        };
        Self {
            schema: SCHEMA,
            kind: KIND.to_owned(),
            ncclbench: env!("CARGO_PKG_VERSION").to_owned(),
            taken,
            hosts: hosts.map(accepted).collect(),
        }
    }

    /// Reads a record; `name` is the file, for messages.
    ///
    /// # Errors
    /// `Usage` where it is no record, or one of a later schema.
    pub fn parse(name: &str, text: &str) -> Result<Self, Fault> {
        let no = |why: String| Fault::usage(format!("`{name}` is no acceptance record: {why}"));
        let hint = "write one with `ncclbench doctor --save FILE`";
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| no(error.to_string()).hint(hint))?;
        if value["kind"] != KIND {
            return Err(no(format!("its `kind` is {}", value["kind"])).hint(hint));
        }
        match value["schema"].as_u64() {
            Some(schema) if schema <= u64::from(SCHEMA) => {}
            schema => {
                let schema = schema.map_or("none".to_owned(), |schema| schema.to_string());
                return Err(no(format!(
                    "its schema is {schema}; this version reads up to {SCHEMA}"
                )));
            }
        }
        serde_json::from_value(value).map_err(|error| no(error.to_string()).hint(hint))
    }

    /// What has changed since, by host, and what could not be compared.
    pub fn changes(&self, checkups: &Checkups) -> (Vec<Change>, Vec<String>) {
        let (mut changes, mut notes) = (Vec::new(), Vec::new());
        let hosts = checkups.hosts();
        for &member in &hosts {
            let host = &checkups.members[member].host;
            let same = self.hosts.iter().find(|one| one.host == *host);
            // a record of one node is what others of its kind are held against
            let only = (self.hosts.len() == 1).then(|| &self.hosts[0]);
            let Some(before) = same.or(only) else {
                notes.push(format!("the record has no host `{host}`"));
                continue;
            };
            if before.host != *host {
                notes.push(format!(
                    "{host} is compared with the record of {}",
                    before.host
                ));
            }
            let now: Vec<&Finding> = checkups.of_member(member).collect();
            compare(
                host,
                &before.findings,
                &now,
                before.host == *host,
                &mut changes,
            );
        }
        let is_here = |one: &&Accepted| {
            let mut names = hosts.iter().map(|&member| &checkups.members[member].host);
            names.any(|name| *name == one.host)
        };
        let missing = self
            .hosts
            .iter()
            .filter(|one| self.hosts.len() > 1 && !is_here(one));
        notes.extend(
            missing.map(|one| format!("host `{}` of the record is not among these", one.host)),
        );
        (changes, notes)
    }
}

/// Two lists of findings of one host, or of two that should be alike.
fn compare(
    host: &str,
    before: &[Finding],
    now: &[&Finding],
    is_same_host: bool,
    changes: &mut Vec<Change>,
) {
    for now in now {
        let Some(before) = before.iter().find(|one| one.check == now.check) else {
            continue; // a check that the record's version did not have, or that was left out
        };
        let mut add = |what: &str, before: Option<String>, now_value: Option<String>| {
            changes.push(Change {
                host: host.to_owned(),
                check: now.check.clone(),
                what: what.to_owned(),
                before,
                now: now_value,
            });
        };
        values(&before.shared, &now.shared, &mut add);
        if is_same_host {
            values(&before.own, &now.own, &mut add);
        }
        if before.health != now.health {
            let words = |one: Health| Some(one.words().to_owned());
            add("health", words(before.health), words(now.health));
        }
    }
}

fn values(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    add: &mut impl FnMut(&str, Option<String>, Option<String>),
) {
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    for name in now.keys().chain(gone) {
        let (old, new) = (before.get(name), now.get(name));
        if old != new {
            add(name, old.cloned(), new.cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Checkup;

    fn found(host: &str, nccl: &str, gpu: &str, health: Health) -> Checkups {
        let pair = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Checkups::of(vec![Checkup {
            host: host.to_owned(),
            identity: host.to_owned(),
            ranks: "rank 0".to_owned(),
            findings: vec![Finding {
                check: "nccl".to_owned(),
                health,
                evidence: vec!["seen".to_owned()],
                shared: pair("nccl", nccl),
                own: pair("gpu 0", gpu),
                hint: None,
            }],
        }])
    }

    #[test]
    fn a_record_that_was_read_back_names_what_changed_and_nothing_else() {
        let before = found("n1", "2.28.3", "GPU-a", Health::Ok);
        let record = Acceptance::new(&before, "2026-11-30T02:13:05Z".to_owned());
        let text = serde_json::to_string(&record).unwrap();
        let record = Acceptance::parse("r.json", &text).unwrap();
        assert_eq!(record.changes(&before), (Vec::new(), Vec::new()));
        let now = found("n1", "2.30.7", "GPU-b", Health::Failure);
        let (changes, _) = record.changes(&now);
        let told: Vec<_> = changes
            .iter()
            .map(|one| (one.what.as_str(), one.now.as_deref()))
            .collect();
        let expected = [
            ("nccl", Some("2.30.7")),
            ("gpu 0", Some("GPU-b")),
            ("health", Some("failure")),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn another_host_is_held_against_the_only_one_without_what_is_its_own() {
        let record = Acceptance::new(&found("n1", "2.28.3", "GPU-a", Health::Ok), String::new());
        let (changes, notes) = record.changes(&found("n2", "2.28.3", "GPU-b", Health::Ok));
        assert_eq!(changes, []);
        assert_eq!(notes, ["n2 is compared with the record of n1"]);
    }

    #[test]
    fn what_is_no_record_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "EOF while parsing"),
            ("{\"kind\": \"run\"}", "its `kind` is \"run\""),
            (
                "{\"kind\": \"acceptance\", \"schema\": 99}",
                "its schema is 99",
            ),
            ("{\"kind\": \"acceptance\", \"schema\": 1}", "missing field"),
        ] {
            let fault = Acceptance::parse("r.json", text).unwrap_err();
            assert!(fault.message.contains(why), "{fault}");
            assert_eq!(fault.kind.exit_code(), 2);
        }
    }
}
