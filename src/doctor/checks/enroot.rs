//! Enroot's folder at run time, and what it hides.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "enroot",
    what: "Enroot's folder in `/run`, and `ENROOT_RESTRICT_DEV`",
    why: "`/run` is emptied at each boot, so that containers fail with `mkdir: cannot create directory '/run/enroot'`; restricted devices hide RDMA from the job.",
    reads: "`/etc/enroot/enroot.conf`, `/run/enroot`",
    hint: "`echo 'd /run/enroot 1777 root root' > /etc/tmpfiles.d/enroot.conf && systemd-tmpfiles --create`; `ENROOT_RESTRICT_DEV n` in enroot.conf",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    const FILE: &str = "/etc/enroot/enroot.conf";
    let Some(text) = scene.text(FILE) else {
        return Look::none("no Enroot here");
    };
    let value = |name: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find_map(|line| {
            line.strip_prefix(name)?
                .strip_prefix(char::is_whitespace)
                .map(str::trim)
        })
    };
    let runtime = value("ENROOT_RUNTIME_PATH").unwrap_or("/run/enroot");
    // a folder whose name holds a variable belongs to each user
    let fixed = runtime.split('$').next().unwrap_or(runtime);
    let fixed = if fixed.len() == runtime.len() {
        fixed.trim_end_matches('/')
    } else {
        fixed.rsplit_once('/').map_or("", |(folder, _)| folder)
    };
    let mut look = Look::default();
    if fixed.starts_with("/run/") && !scene.is_folder(fixed) {
        look.warn(format!("{FILE} names {runtime}, and there is no {fixed}"));
    } else {
        look.ok(format!("its folder at run time is {runtime}"));
    }
    match value("ENROOT_RESTRICT_DEV") {
        Some(text) if text.starts_with(['y', 'Y']) => {
            look.warn("`ENROOT_RESTRICT_DEV y`: jobs in containers do not see /dev/infiniband");
        }
        _ => look.ok("devices are not restricted"),
    }
    look
}
