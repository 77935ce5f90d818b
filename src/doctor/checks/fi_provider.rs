//! `FI_PROVIDER`: the provider that libfabric is told to use.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use super::super::hardware;
use super::super::hardware::Fabric;
use super::super::settings::Settings;
use super::super::settings::unset;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "fi-provider",
    what: "`FI_PROVIDER`",
    why: "`FI_PROVIDER=tcp` or `sockets` loads the plugin, says `Using network Libfabric`, and sends everything over TCP.",
    reads: "the environment, `/etc/nccl.conf`, `~/.nccl.conf`",
    hint: "`unset FI_PROVIDER`, or `export FI_PROVIDER=efa`",
    scope: Scope::Process,
    drift: Health::Failure,
    look,
};

fn look(scene: &Scene) -> Look {
    let settings = Settings::of(scene);
    let Some(setting) = settings.get("FI_PROVIDER") else {
        return Look::default().and(Health::Ok, "not set");
    };
    let shown = setting.shown("FI_PROVIDER");
    let mut look = Look::default();
    look.share("FI_PROVIDER", setting.value.trim());
    let is_efa = hardware::fabric(scene) == Fabric::Efa;
    // `^tcp` is all but tcp
    let value = setting.value.trim();
    let lets_efa = match value.strip_prefix('^') {
        Some(but) => !but.split(',').any(|one| one.trim() == "efa"),
        None => value.split([',', ';']).any(|one| one.trim() == "efa"),
    };
    match (is_efa, lets_efa) {
        (true, false) => {
            look.fail(format!("{shown}: EFA is not used although it is there"));
            look.hint(unset(&["FI_PROVIDER"]));
        }
        (false, true) if !value.starts_with('^') => {
            look.fail(format!("{shown}: there is no EFA device"));
            look.hint(unset(&["FI_PROVIDER"]));
        }
        _ => look.ok(shown),
    }
    look
}
