//! Slurm's way of writing host names: `gpu[01-04,07],login1`.
//!
//! Does not know whether such hosts exist. There may be several brackets, each with numbers and
//! ranges, and text behind the last one (which 22.05 refuses).
//! Slurm has no steps (`[1-9:2]`), so there are none here. Only the first name's place counts to
//! the callers: Slurm's own order for three brackets and more is another one.
//!
//! # Source
//! Slurm's manual page `scontrol(1)`, `show hostnames`; its 22.05, to which a test compares.

use crate::base::Fault;
use crate::base::Kind;

/// More hosts than any list has; what would be longer is not a list of hosts.
const MOST_HOSTS: usize = 1 << 16;

/// The names in a list, in order.
///
/// # Errors
/// `Launch` if it is not written as Slurm writes it.
pub fn expand(list: &str) -> Result<Vec<String>, Fault> {
    let refuse = || {
        let text = format!("`{list}` is not a list of hosts as Slurm writes it");
        Fault::new(Kind::Launch, text)
    };
    let mut hosts = Vec::new();
    for item in split_outside_brackets(list).ok_or_else(refuse)? {
        hosts.extend(expand_item(item).ok_or_else(refuse)?);
        if hosts.len() > MOST_HOSTS {
            return Err(refuse());
        }
    }
    if hosts.is_empty() || hosts.iter().any(String::is_empty) {
        return Err(refuse());
    }
    Ok(hosts)
}

/// Splits at the commas that are not in brackets.
fn split_outside_brackets(list: &str) -> Option<Vec<&str>> {
    let mut items = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if inside => return None,
            ']' if !inside => return None,
            '[' => inside = true,
            ']' => inside = false,
            ',' if !inside => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    (!inside).then_some(items)
}

/// Every combination of an item's brackets, the last varying fastest.
fn expand_item(item: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((literal, bracket)) = rest.split_once('[') {
        let (inner, behind) = bracket.split_once(']')?;
        let choices = expand_ranges(inner)?;
        if names.len() * choices.len() > MOST_HOSTS {
            return None;
        }
        names = names
            .iter()
            .flat_map(|name| {
                choices
                    .iter()
                    .map(move |choice| format!("{name}{literal}{choice}"))
            })
            .collect();
        rest = behind;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Some(names)
}

/// `01-04,07` as `01 02 03 04 07`.
fn expand_ranges(inner: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in inner.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (digits(first)?, digits(last)?);
        if to < from || to - from >= MOST_HOSTS as u64 || all.len() > MOST_HOSTS {
            return None;
        }
        let width = first.len();
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(all)
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_expand_as_scontrol_shows_them() {
        for (list, hosts) in [
            ("node1", "node1"),
            ("gpu[01-04,07]", "gpu01 gpu02 gpu03 gpu04 gpu07"),
            ("node[1-2]", "node1 node2"),
            ("a[9-11],login", "a9 a10 a11 login"),
            ("rack[1-2]n[01-02]", "rack1n01 rack1n02 rack2n01 rack2n02"),
            ("p5-dy-gpu-[1,3]-ib", "p5-dy-gpu-1-ib p5-dy-gpu-3-ib"),
            ("n[098-101]", "n098 n099 n100 n101"),
            ("x,y,z", "x y z"),
            ("n[1-02]", "n1 n2"),
            ("n[007-010],m[3-3]", "n007 n008 n009 n010 m3"),
            ("a[1-2][3-4]", "a13 a14 a23 a24"),
            ("[1-2],[9]", "1 2 9"),
            ("a[1-2].b.c", "a1.b.c a2.b.c"),
            ("a[1,1],a1", "a1 a1 a1"),
        ] {
            assert_eq!(expand(list).unwrap().join(" "), hosts, "{list}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for list in [
            "",
            ",",
            "a,,b",
            "a[1-",
            "a]1[",
            "a[]",
            "a[b-c]",
            "a[3-1]",
            "a[1-9:2]",
            "a[1,]",
            "a[1-2-3]",
            "a[[1]]",
            "a[1-99999999999]",
        ] {
            assert!(expand(list).is_err(), "{list}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_looked_at_without_a_panic(list in "[a-c0-3,\\[\\]-]{0,24}") {
            drop(expand(&list));
        }
    }

    /// What Slurm's own tool makes of a list.
    fn scontrols(list: &str, conf: &std::path::Path) -> Vec<String> {
        let output = std::process::Command::new("scontrol")
            .args(["show", "hostnames", list])
            .env("SLURM_CONF", conf)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let names: Vec<String> = said.lines().map(str::to_owned).collect();
        assert!(!names.is_empty(), "{list}: {output:?}");
        names
    }

    /// Names with up to three brackets, each of numbers and ranges with and without zeros in front.
    fn lists() -> impl Strategy<Value = String> {
        let range = (0_u32..1200, 0_u32..12, 0_usize..6, any::<bool>()).prop_map(
            |(from, more, width, single)| {
                let first = format!("{from:0width$}");
                if single {
                    first
                } else {
                    format!("{first}-{:0width$}", from + more)
                }
            },
        );
        let bracket =
            prop::collection::vec(range, 1..4).prop_map(|all| format!("[{}]", all.join(",")));
        let part = ("[a-z]{1,3}[0-9]{0,2}-?", bracket).prop_map(|(text, bracket)| text + &bracket);
        let name = prop_oneof![
            "[a-z][a-z0-9.-]{0,6}[a-z0-9]",
            prop::collection::vec(part, 1..=3).prop_map(|parts| parts.concat()),
        ];
        prop::collection::vec(name, 1..4).prop_map(|names| names.join(","))
    }

    #[test]
    #[ignore = "needs Slurm's scontrol, which tests/all.sh installs"]
    fn any_list_is_what_scontrol_makes_of_it_and_begins_with_the_same_host() {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("slurm.conf");
        std::fs::write(&conf, "ClusterName=any\nSlurmctldHost=any\n").unwrap();
        proptest!(ProptestConfig::with_cases(200), |(list in lists())| {
            let (mut ours, mut theirs) = (expand(&list).unwrap(), scontrols(&list, &conf));
            prop_assert_eq!(&ours[0], &theirs[0], "{}", &list);
            ours.sort_unstable();
            theirs.sort_unstable();
            prop_assert_eq!(ours, theirs, "{}", &list);
        });
    }
}
