//! The processor, and how much of it this process may use.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The processor's name as the kernel gives it.
pub fn model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    model_in(&text)
}

fn model_in(cpuinfo: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    })
}

/// The processors that this process may run on, in order.
pub fn allowed() -> Vec<u32> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU)
            .filter(|&cpu| set.is_set(cpu))
            .filter_map(|cpu| u32::try_from(cpu).ok())
            .collect(),
        Err(_) => Vec::new(),
    }
}

/// The cores that these processors belong to, each by its lowest processor; none where the kernel
/// does not say.
///
/// # Source
/// Linux, `Documentation/ABI/stable/sysfs-devices-system-cpu`, `thread_siblings_list`.
pub fn cores(cpus: &[u32]) -> Option<Vec<u32>> {
    let lowest = |cpu: &u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let list = std::fs::read_to_string(path).ok()?;
        list.split(['-', ',']).next()?.trim().parse().ok()
    };
    let cores: Option<BTreeSet<u32>> = cpus.iter().map(lowest).collect();
    cores.map(|cores| cores.into_iter().collect())
}

/// Processors as people read them: `0-3,8`.
pub fn list(cpus: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => spans.push((cpu, cpu)),
        }
    }
    let mut text = String::new();
    for (first, last) in spans {
        let comma = if text.is_empty() { "" } else { "," };
        // writing to a String cannot fail
        let _ = if first == last {
            write!(text, "{comma}{first}")
        } else {
            write!(text, "{comma}{first}-{last}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_in_a_row_are_written_as_a_span() {
        assert_eq!(list(&[0, 1, 2, 3, 8, 10]), "0-3,8,10");
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn this_process_may_run_somewhere() {
        assert!(!allowed().is_empty());
    }

    #[test]
    fn a_core_has_at_least_one_processor() {
        let mine = allowed();
        assert!(cores(&mine).is_none_or(|cores| (1..=mine.len()).contains(&cores.len())));
        assert_eq!(cores(&[9_999_999]), None);
    }

    #[test]
    fn the_model_is_the_first_processors() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC 9R14\n\nmodel name\t: other\n";
        assert_eq!(model_in(text).as_deref(), Some("AMD EPYC 9R14"));
        assert_eq!(model_in("Processor : 1\n"), None);
    }
}
