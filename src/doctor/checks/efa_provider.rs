//! What libfabric's EFA provider offers.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::scene::FI_INFO;
use super::super::scene::Silence;
use crate::record::Health;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

pub(super) const CHECK: Check = Check {
    name: "efa-provider",
    what: "`fi_info -p efa -t FI_EP_RDM`, run with a deadline: its domains, and the fabrics `efa` and `efa-direct`",
    why: "It is what NCCL's plugin asks for too: where it finds nothing (`fi_getinfo: -61`), the plugin does not (`No eligible providers were found`).",
    reads: "`fi_info` on `PATH` or in `/opt/amazon/efa/bin`",
    hint: "show the container `/dev/infiniband`, raise memlock, and see that the `efa` driver is loaded; then run `fi_info -p efa -t FI_EP_RDM` again",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let is_efa = hardware::fabric(scene) == Fabric::Efa;
    let said = match scene.ask(&FI_INFO) {
        Ok(said) => said,
        Err(Silence::Failed(words)) if is_efa => {
            return Look::default().and(Health::Failure, words);
        }
        Err(silence) if is_efa => return Look::unknown(silence.words().to_owned()),
        Err(silence) => return Look::none(format!("no EFA device; {}", silence.words())),
    };
    let offers = offers(&said);
    let mut look = Look::default();
    if offers.is_empty() {
        let health = if is_efa {
            Health::Failure
        } else {
            Health::NotApplicable
        };
        return look.and(health, "`fi_info` names no EFA domain");
    }
    for (fabric, domains) in &offers {
        look.share(format!("fabric {fabric}"), domains.len().to_string());
        look.ok(format!("fabric {fabric}: {} domains", domains.len()));
    }
    let most = offers.values().map(BTreeSet::len).max().unwrap_or(0);
    let devices = hardware::efas(scene).len();
    if most < devices {
        look.fail(format!("{most} domains for {devices} EFA devices"));
    }
    if !offers.contains_key("efa") {
        look.warn("no fabric `efa`: `fi_pingpong` and two-way sends will not work");
    }
    look
}

/// Domains by fabric, of `fi_info`'s paragraphs: `provider: efa`, `fabric: efa-direct`, `domain: rdmap16s27-rdm`.
fn offers(said: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut offers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut is_efa, mut fabric) = (false, String::new());
    for line in said.lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        match (name.trim(), value.trim()) {
            ("provider", provider) => is_efa = provider == "efa",
            ("fabric", value) => value.clone_into(&mut fabric),
            ("domain", domain) if is_efa => {
                offers
                    .entry(kind(&fabric))
                    .or_default()
                    .insert(domain.to_owned());
            }
            _ => {}
        }
    }
    offers
}

/// Before 2.0 each device was a fabric of its own, named by its address: `fe80::…`.
fn kind(fabric: &str) -> String {
    if fabric.starts_with("fe80") {
        "efa".to_owned()
    } else {
        fabric.to_owned()
    }
}
