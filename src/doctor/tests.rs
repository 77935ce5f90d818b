//! The registry of checks, and what holds for each of them.

use super::*;
use crate::base::Env;
use std::collections::BTreeSet;

#[test]
fn every_check_says_what_it_looks_at_and_what_to_do() {
    let names: BTreeSet<&str> = ALL.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), ALL.len(), "two checks have one name");
    for check in ALL {
        let name = check.name;
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
            "{name}"
        );
        assert!(
            !check.what.ends_with('.') && check.what.len() > 10,
            "{name}"
        );
        assert!(check.why.ends_with('.') && check.why.len() > 30, "{name}");
        assert!(!check.hint.ends_with('.') && check.hint.len() > 5, "{name}");
        assert!(
            check.reads.len() > 5 && !check.reads.ends_with('.'),
            "{name}"
        );
    }
}

#[test]
fn a_check_that_does_not_exist_is_refused_and_one_may_be_left_out() {
    let wish = |only: &[&str], skip: &[&str]| Selection {
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        skip: skip.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert!(
        wish(&["no-such"], &[])
            .checks()
            .unwrap_err()
            .message
            .contains("`no-such` for `--only`")
    );
    assert!(wish(&["xid"], &["xid"]).checks().is_err());
    assert_eq!(wish(&[], &["xid"]).checks().unwrap().len(), ALL.len() - 1);
    assert_eq!(wish(&["xid"], &[]).checks().unwrap()[0].name, "xid");
}

#[test]
fn every_check_comes_to_an_end_on_this_machine() {
    let scene = Scene::here(Env::default(), 1, Some("/nowhere/libnccl.so.2".to_owned()));
    let all = examine(ALL, &scene, true);
    assert_eq!(all.len(), ALL.len());
    for finding in all {
        assert!(!finding.evidence.is_empty(), "{finding:?}");
        assert_eq!(
            finding.hint.is_some(),
            finding.health >= Health::Warning,
            "{finding:?}"
        );
    }
    let others = examine(ALL, &scene, false);
    assert!(others.len() < ALL.len() && others.iter().any(|one| one.check == "cpu-mask"));
}
