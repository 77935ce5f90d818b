//! Network interfaces: packet size, and the subnet that leads outside.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;
use std::net::Ipv4Addr;

pub(super) const CHECK: Check = Check {
    name: "interfaces",
    what: "largest packet (MTU) of each interface that is up, and the subnet of the one that leads outside",
    why: "Different packet sizes along the way make TCP slow or hang with large messages; EFA needs both nodes in one subnet.",
    reads: "`/sys/class/net/*/{operstate,mtu,device,speed}`, `/proc/net/route`",
    hint: "one packet size everywhere: `ip link set dev NAME mtu 9001` (EC2) or 9000; nodes of a job in one subnet and placement group",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let names = scene.list("/sys/class/net");
    if names.is_empty() {
        return Look::unknown("/sys/class/net shows nothing");
    }
    let mut look = Look::default();
    let mut sizes: Vec<(String, u32)> = Vec::new();
    for name in names {
        let folder = format!("/sys/class/net/{name}");
        let is_up = scene
            .text(&format!("{folder}/operstate"))
            .is_some_and(|state| state == "up");
        // only what has a device carries packets to other hosts
        if !is_up || !scene.exists(&format!("{folder}/device")) {
            continue;
        }
        if let Some(size) = scene.number(&format!("{folder}/mtu")) {
            sizes.push((name, size));
        }
    }
    let shown: Vec<String> = sizes
        .iter()
        .map(|(name, size)| format!("{name} {size}"))
        .collect();
    let mut kinds: Vec<u32> = sizes.iter().map(|(_, size)| *size).collect();
    kinds.sort_unstable();
    kinds.dedup();
    look.share(
        "mtu",
        kinds
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    );
    match kinds.len() {
        0 => look.ok("no interface with a device of its own is up"),
        1 => look.ok(format!("MTU: {}", shown.join(", "))),
        _ => look.warn(format!(
            "MTU differs between interfaces: {}",
            shown.join(", ")
        )),
    }
    if let Some(subnet) = subnet(scene) {
        look.share("subnet", &subnet);
        look.ok(format!("subnet {subnet}"));
    }
    look
}

/// The subnet of the interface of the default route.
///
/// # Source
/// Linux, `/proc/net/route`: addresses in hexadecimal, in the machine's byte order.
fn subnet(scene: &Scene) -> Option<String> {
    let table = scene.text("/proc/net/route")?;
    let routes: Vec<(&str, u32, u32)> = table.lines().skip(1).filter_map(route).collect();
    let (outward, ..) = routes.iter().find(|(_, to, mask)| *to == 0 && *mask == 0)?;
    let own = |(name, to, mask): &&(&str, u32, u32)| name == outward && *to != 0 && *mask != 0;
    // the broadest of the interface's own networks: a single host's route is none
    let (_, to, mask) = routes
        .iter()
        .filter(own)
        .min_by_key(|(.., mask)| mask.count_ones())?;
    let address = Ipv4Addr::from(to.to_le_bytes());
    Some(format!("{address}/{}", mask.count_ones()))
}

fn route(line: &str) -> Option<(&str, u32, u32)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
    Some((*words.first()?, number(1)?, number(7)?))
}
