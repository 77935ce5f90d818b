//! Errors that the GPU driver has written to the kernel's log.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::scene::DMESG;
use crate::record::Health;
use std::collections::BTreeMap;

pub(super) const CHECK: Check = Check {
    name: "xid",
    what: "lines of the GPU driver in the kernel's log: Xid and SXid",
    why: "They name what a user only sees as a dead or slow run: Xid 48, 63, 64, 94, 95 memory, 74 and SXid NVLink, 79 a GPU that is gone.",
    reads: "`dmesg`, as far as this user may",
    hint: "48, 64, 95: drain, reset, replace if it comes back; 74, SXid: link or switch; 79, 119: power cycle; 13, 31, 43, 45: the program's own fault",
    scope: Scope::Host,
    drift: Health::NotApplicable,
    look,
};

/// What each number means, and how bad it is.
///
/// # Source
/// NVIDIA, XID errors, catalogue.
const KNOWN: &[(u32, Health, &str)] = &[
    (13, Health::Ok, "an exception in a program's kernel"),
    (
        31,
        Health::Ok,
        "a program's access to memory that is not its own",
    ),
    (43, Health::Ok, "a program's context was ended"),
    (45, Health::Ok, "a program's context was cleaned up"),
    (48, Health::Failure, "uncorrectable memory error"),
    (61, Health::Warning, "microcontroller halted"),
    (62, Health::Warning, "microcontroller halted"),
    (63, Health::Warning, "a row was remapped or waits for it"),
    (64, Health::Failure, "a row could not be remapped"),
    (69, Health::Ok, "an exception in a program's kernel"),
    (74, Health::Failure, "NVLink error"),
    (79, Health::Failure, "the GPU has fallen off the bus"),
    (92, Health::Warning, "many correctable memory errors"),
    (94, Health::Failure, "contained memory error"),
    (95, Health::Failure, "uncontained memory error"),
    (
        119,
        Health::Failure,
        "the GPU's system processor does not answer",
    ),
    (120, Health::Failure, "error of the GPU's system processor"),
];

fn look(scene: &Scene) -> Look {
    if !hardware::has_gpus(scene) {
        return Look::none("no GPU");
    }
    let log = match scene.ask(&DMESG) {
        Ok(log) => log,
        Err(silence) => return Look::unknown(silence.words().to_owned()),
    };
    let mut look = Look::default();
    for ((place, number), count) in counted(&log) {
        let known = KNOWN.iter().find(|(one, ..)| *one == number);
        let (health, words) = known.map_or(
            (Health::Warning, "see NVIDIA's list"),
            |(_, health, words)| (*health, *words),
        );
        look.add(
            health,
            format!("{place}: Xid {number} ({words}), {count} times"),
        );
    }
    let switch = log.lines().filter(|line| line.contains("SXid")).count();
    if switch > 0 {
        look.fail(format!("{switch} lines of SXid: errors of an NVSwitch"));
    }
    if look.is_silent() {
        look.ok("none in the kernel's log");
    }
    look
}

/// `NVRM: Xid (PCI:0000:3a:00): 79, pid=…`, by place and number.
fn counted(log: &str) -> BTreeMap<(String, u32), usize> {
    let mut all = BTreeMap::new();
    for line in log.lines() {
        let Some((_, rest)) = line.split_once("NVRM: Xid (") else {
            continue;
        };
        let Some((place, rest)) = rest.split_once("):") else {
            continue;
        };
        let number = rest.trim().split(|c: char| !c.is_ascii_digit()).next();
        let Some(number) = number.and_then(|number| number.parse().ok()) else {
            continue;
        };
        let place = place.trim_start_matches("PCI:").to_owned();
        *all.entry((place, number)).or_insert(0) += 1;
    }
    all
}
