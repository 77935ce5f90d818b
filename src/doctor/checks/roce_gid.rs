//! The GID that RoCE is told to use.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::settings::Settings;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "roce-gid",
    what: "`NCCL_IB_GID_INDEX` on RoCE: whether each device has a GID of RoCE v2 at that index",
    why: "With an index whose GID is empty or of RoCE v1 the connections fail or NCCL takes TCP; NCCL 2.21 and later choose well by themselves.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`; `/sys/class/infiniband/*/ports/1/gids`, `gid_attrs/types`",
    hint: "`unset NCCL_IB_GID_INDEX` with NCCL 2.21 or later; else take the index of RoCE v2 with the interface's IPv4 address (`show_gids`)",
    scope: Scope::Process,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let devices = hardware::others(scene);
    let roce: Vec<_> = devices
        .iter()
        .filter(|one| one.link.as_deref() == Some("Ethernet"))
        .collect();
    if roce.is_empty() {
        return Look::none("no RoCE device");
    }
    let settings = Settings::of(scene);
    let Some(setting) = settings.get("NCCL_IB_GID_INDEX") else {
        return Look::default().and(
            Health::Ok,
            "not set: NCCL 2.21 and later choose by themselves",
        );
    };
    let shown = setting.shown("NCCL_IB_GID_INDEX");
    let index = setting.value.trim();
    let mut look = Look::default();
    look.share("NCCL_IB_GID_INDEX", index);
    for device in roce {
        let port = format!("/sys/class/infiniband/{}/ports/1", device.name);
        let gid = scene.text(&format!("{port}/gids/{index}"));
        let kind = scene.text(&format!("{port}/gid_attrs/types/{index}"));
        let is_empty = |gid: &String| gid.bytes().all(|byte| byte == b'0' || byte == b':');
        match (gid, kind) {
            (None, _) => look.fail(format!("{shown}: {} has no such index", device.name)),
            (Some(gid), _) if is_empty(&gid) => {
                look.fail(format!("{shown}: {}'s GID is empty", device.name));
            }
            (Some(_), Some(kind)) if !kind.contains("v2") => {
                look.warn(format!("{shown}: {}'s GID is of {kind}", device.name));
            }
            (Some(gid), _) => look.ok(format!("{shown}: {}: {gid}", device.name)),
        }
    }
    look
}
