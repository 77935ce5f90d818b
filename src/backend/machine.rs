//! What the kernel says of this machine: the processor's name, the memory that is left.
//!
//! Reads `/proc` and `/sys`; what cannot be read is an error or unknown, never a guess.

use crate::base::Bytes;
use crate::base::Fault;
use crate::base::Kind;
use std::path::Path;

/// The processor's model name.
///
/// # Errors
/// `Missing` if `/proc/cpuinfo` cannot be read.
pub(super) fn processor() -> Result<String, Fault> {
    let text = read("/proc/cpuinfo")?;
    // Not every architecture gives a name.
    Ok(field(&text, "model name").map_or_else(|| std::env::consts::ARCH.to_owned(), str::to_owned))
}

/// All memory of the machine.
///
/// # Errors
/// `Missing` if `/proc/meminfo` cannot be read.
pub(super) fn total_memory() -> Result<Option<Bytes>, Fault> {
    Ok(field(&read("/proc/meminfo")?, "MemTotal").and_then(kibibytes))
}

/// Memory that can still be taken: what the machine has, or what this process's control groups
/// leave if that is less.
///
/// # Errors
/// `Missing` if `/proc/meminfo` cannot be read.
pub(super) fn available_memory() -> Result<Option<Bytes>, Fault> {
    let machine = field(&read("/proc/meminfo")?, "MemAvailable").and_then(kibibytes);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let left = left.and_then(|path| left_in_groups(Path::new("/sys/fs/cgroup"), Path::new(path)));
    Ok(match (machine, left) {
        (Some(machine), Some(left)) => Some(machine.min(left)),
        (machine, left) => machine.or(left),
    })
}

/// The least that a control group or one above it leaves; none if none limits.
fn left_in_groups(root: &Path, group: &Path) -> Option<Bytes> {
    let number = |path: &Path, file: &str| -> Option<u64> {
        std::fs::read_to_string(root.join(path).join(file))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    // What the group's files take in caches is given back when memory is asked for.
    let cached = |path: &Path| {
        let text = std::fs::read_to_string(root.join(path).join("memory.stat")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("inactive_file "))?;
        line.parse::<u64>().ok()
    };
    let left = |path: &Path| {
        let used = number(path, "memory.current")?.saturating_sub(cached(path).unwrap_or(0));
        Some(number(path, "memory.max")?.saturating_sub(used))
    };
    group.ancestors().filter_map(left).min().map(Bytes)
}

fn read(path: &str) -> Result<String, Fault> {
    std::fs::read_to_string(path)
        .map_err(|error| Fault::new(Kind::Missing, format!("cannot read `{path}`: {error}")))
}

/// The value of the first line `NAME : VALUE`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn kibibytes(text: &str) -> Option<Bytes> {
    let number: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 2\nmodel name\t: AMD EPYC\nMemAvailable:   24233824 kB\n";
        assert_eq!(field(text, "model name"), Some("AMD EPYC"));
        let memory = field(text, "MemAvailable").and_then(kibibytes);
        assert_eq!(memory, Some(Bytes(24_233_824 * 1024)));
        assert_eq!(field(text, "Mem"), None);
    }

    #[test]
    fn the_tightest_control_group_on_the_way_up_counts() {
        let root = tempfile::tempdir().unwrap();
        let job = root.path().join("slurm/job");
        std::fs::create_dir_all(&job).unwrap();
        let put = |at: &Path, max: &str, current: &str| {
            std::fs::write(at.join("memory.max"), max).unwrap();
            std::fs::write(at.join("memory.current"), current).unwrap();
        };
        put(&job, "max\n", "10\n");
        assert_eq!(left_in_groups(root.path(), Path::new("slurm/job")), None);
        put(&root.path().join("slurm"), "1000\n", "500\n");
        std::fs::write(
            root.path().join("slurm/memory.stat"),
            "anon 3\ninactive_file 200\n",
        )
        .unwrap();
        assert_eq!(
            left_in_groups(root.path(), Path::new("slurm/job")),
            Some(Bytes(700))
        );
    }

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        assert!(!processor().unwrap().is_empty());
        assert!(available_memory().unwrap() <= total_memory().unwrap());
    }
}
