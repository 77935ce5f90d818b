//! Reading numbers out of variables, and ports out of names; what all launchers share.

use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;

/// How many ports are tried where they are derived or start at a given one.
const N_PORTS: u16 = 8;

/// Derived ports lie below those that the system hands out by itself.
const FIRST_DERIVED: u16 = 20_000;
const N_DERIVED: u16 = 12_000;

/// A number that must be there.
pub(super) fn number(env: &Env, name: &str) -> Result<u32, Fault> {
    let text = env.get(name).ok_or_else(|| {
        Fault::new(Kind::Launch, format!("`{name}` is not set")).hint(
            "start all processes by one launcher, or give `--rank`, `--world` and `--rendezvous`",
        )
    })?;
    parse(name, text)
}

/// A number that may be there.
pub(super) fn optional_number(env: &Env, name: &str) -> Result<Option<u32>, Fault> {
    env.get(name).map(|text| parse(name, text)).transpose()
}

fn parse(name: &str, text: &str) -> Result<u32, Fault> {
    let wrong = || {
        let text = format!("invalid value `{text}` of `{name}`; expected a number");
        Fault::new(Kind::Launch, text)
    };
    text.trim().parse().map_err(|_| wrong())
}

/// A process's index and their number, which must be above it.
pub(super) fn index_of(env: &Env, rank: &str, world: &str) -> Result<(u32, u32), Fault> {
    let (index, count) = (number(env, rank)?, number(env, world)?);
    if index < count {
        return Ok((index, count));
    }
    let text = format!("`{rank}={index}` is not below `{world}={count}`");
    Err(Fault::new(Kind::Launch, text))
}

/// Ports that all processes of the run called `job` derive alike.
pub(super) fn derived_ports(job: &str) -> Vec<u16> {
    // FNV-1a: both sides must agree, nobody else must not
    let hash = job.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let start = u16::try_from(hash % u64::from(N_DERIVED)).unwrap_or(0);
    (0..N_PORTS)
        .map(|one| FIRST_DERIVED + (start + one) % N_DERIVED)
        .collect()
}

/// `first` and the ports behind it.
pub(super) fn ports_from(first: u16) -> Vec<u16> {
    (0..N_PORTS)
        .filter_map(|one| first.checked_add(one))
        .collect()
}

/// A port in a variable.
pub(super) fn port(env: &Env, name: &str) -> Result<u16, Fault> {
    let number = number(env, name)?;
    match u16::try_from(number) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(Fault::new(
            Kind::Launch,
            format!("invalid value `{number}` of `{name}`; expected a port"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ports_are_eight_different_ones_outside_the_systems_own_range() {
        for job in ["slurm 1.0", "slurm 1.1", "", "slurm 4294967295.3"] {
            let ports = derived_ports(job);
            let mut unique = ports.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), 8);
            assert!(ports.iter().all(|port| (20_000..32_000).contains(port)));
        }
        assert_ne!(derived_ports("slurm 1.0"), derived_ports("slurm 1.1"));
    }

    #[test]
    fn ports_end_with_the_last_one() {
        assert_eq!(ports_from(65_534), [65_534, 65_535]);
    }

    #[test]
    fn an_index_must_lie_below_its_world_and_both_must_be_numbers() {
        let env = |rank: &str, world: &str| Env::from_iter([("R", rank), ("W", world)]);
        assert_eq!(index_of(&env("2", "3"), "R", "W"), Ok((2, 3)));
        for (rank, world) in [("3", "3"), ("x", "3"), ("", "3"), ("-1", "3")] {
            assert!(
                index_of(&env(rank, world), "R", "W").is_err(),
                "{rank} of {world}"
            );
        }
    }
}
