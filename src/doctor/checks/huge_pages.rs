//! Transparent huge pages.

use super::super::Check;
use super::super::Look;
use super::super::Scene;
use super::super::Scope;
use crate::record::Health;

pub(super) const CHECK: Check = Check {
    name: "huge-pages",
    what: "transparent huge pages",
    why: "With `always` the kernel joins and splits pages while programs run, which shows as jitter.",
    reads: "`/sys/kernel/mm/transparent_hugepage/enabled`",
    hint: "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`",
    scope: Scope::Host,
    drift: Health::Warning,
    look,
};

fn look(scene: &Scene) -> Look {
    let text = match scene.read("/sys/kernel/mm/transparent_hugepage/enabled") {
        Ok(text) => text,
        Err(why) => return Look::unknown(why),
    };
    // `always [madvise] never`
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let Some((chosen, _)) = chosen else {
        return Look::unknown(format!("`{text}` names no choice"));
    };
    let mut look = Look::default();
    look.share("huge-pages", chosen);
    if chosen == "always" {
        look.warn(chosen);
    } else {
        look.ok(chosen);
    }
    look
}
