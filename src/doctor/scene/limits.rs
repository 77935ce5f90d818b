//! What the kernel says of this process: its processors and its limits.

use super::Scene;
use crate::probe::cpu;

impl Scene {
    /// The processors that the process may run on.
    ///
    /// # Errors
    /// Why they are not known.
    pub fn cpus(&self) -> Result<Vec<u32>, String> {
        if self.is_live() {
            // `/proc` may be another process namespace's, or hidden; the call is always right
            return Ok(cpu::allowed());
        }
        let status = self.read("/proc/self/status")?;
        let list = field(&status, "Cpus_allowed_list").ok_or("/proc/self/status names no CPUs")?;
        parse_list(list).ok_or_else(|| format!("`{list}` is no list of CPUs"))
    }

    /// The cores of these processors; none where the kernel does not say.
    pub fn cores(&self, cpus: &[u32]) -> Option<usize> {
        let lowest = |cpu: &u32| {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
            let list = self.text(&format!("{folder}/thread_siblings_list"))?;
            parse_list(&list)?.first().copied()
        };
        let mut cores = cpus.iter().map(lowest).collect::<Option<Vec<u32>>>()?;
        cores.sort_unstable();
        cores.dedup();
        Some(cores.len())
    }

    /// How many processors the node has.
    pub fn n_online(&self) -> Option<usize> {
        let list = self.text("/sys/devices/system/cpu/online")?;
        parse_list(&list).map(|cpus| cpus.len())
    }

    /// The soft limit of `/proc/self/limits` under this name; none is unlimited.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn limit(&self, name: &str) -> Result<Option<u64>, String> {
        let limits = self.read("/proc/self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|rest| rest.split_whitespace().next());
        match word {
            Some("unlimited") => Ok(None),
            Some(number) => number
                .parse()
                .map(Some)
                .map_err(|_| format!("`{number}` is no limit of `{name}`")),
            None => Err(format!("/proc/self/limits has no `{name}`")),
        }
    }
}

/// A field of `/proc/self/status`.
pub(in super::super) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim)
}

/// `0-3,8` as the kernel writes it.
pub(in super::super) fn parse_list(list: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for span in list.trim().split(',').filter(|span| !span.is_empty()) {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // more processors than any kernel counts are rubbish, and would fill the memory
        if last < first || last - first > 1 << 16 {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}
