//! `NCCL_SOCKET_IFNAME`: the interface for NCCL's own set-up and for TCP.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::settings::Settings;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "socket-interface",
    what: "`NCCL_SOCKET_IFNAME` against the interfaces, and whether a bridge of containers could be taken",
    why: "A name that does not exist here ends the start (`no socket interface found`); a container bridge (`docker0`) has an address that other hosts cannot reach, and the start hangs.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`; `/sys/class/net`",
    hint: "`export NCCL_SOCKET_IFNAME=^lo,docker` or name the interface that leads to the other nodes (`ip route get ADDRESS`)",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let interfaces = scene.list("/sys/class/net");
    let settings = Settings::of(scene);
    let Some(setting) = settings.get("NCCL_SOCKET_IFNAME") else {
        return Look::default().and(Health::Ok, "not set: NCCL takes any but `lo` and `docker…`");
    };
    let shown = setting.shown("NCCL_SOCKET_IFNAME");
    let mut look = Look::default();
    look.share("NCCL_SOCKET_IFNAME", setting.value.trim());
    if interfaces.is_empty() {
        look.unclear(format!("{shown}: /sys/class/net is not visible"));
        return look;
    }
    let left = chosen(setting.value.trim(), &interfaces);
    let inner =
        |name: &&str| name.starts_with("docker") || name.starts_with("veth") || *name == "lo";
    match left.iter().copied().find(inner) {
        _ if left.is_empty() => look.fail(format!(
            "{shown}: no such interface; there are {}",
            interfaces.join(", ")
        )),
        Some(name) if left.iter().all(inner) => {
            look.warn(format!("{shown}: {name} leads to no other host"));
        }
        Some(name) => look.warn(format!(
            "{shown}: {name} is among them and leads to no other host"
        )),
        None => look.ok(format!("{shown}: {}", left.join(", "))),
    }
    look
}

/// The interfaces that a list leaves: starts of names, `=` for whole names, `^` for all but these.
///
/// # Source
/// NCCL's guide, `NCCL_SOCKET_IFNAME`.
fn chosen<'a>(list: &str, interfaces: &'a [String]) -> Vec<&'a str> {
    let (but, list) = match list.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let (exact, list) = match list.strip_prefix('=') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let is_named = |one: &str| {
        let mut names = list.split(',').map(str::trim);
        names.any(|name| {
            if exact {
                one == name
            } else {
                one.starts_with(name)
            }
        })
    };
    let all = interfaces.iter().map(String::as_str);
    all.filter(|one| is_named(one) != but).collect()
}
