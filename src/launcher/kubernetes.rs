//! Kubernetes' indexed jobs: each pod has its index; how many there are and where the first one is
//! to be found, Kubernetes does not say and the job's description must.

use super::Launcher;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::explicit;
use super::variables;
use crate::base::Env;
use crate::base::Fault;
use crate::base::Kind;

/// Set in every pod of an indexed job.
///
/// # Source
/// Kubernetes, `pkg/controller/job/indexed_job_utils.go`.
pub(super) const INDEX: &str = "JOB_COMPLETION_INDEX";

/// How many pods there are: the job's `completions`.
const WORLD: &str = "NCCLBENCH_WORLD";

/// Where the first pod is to be found, or a folder that all pods share.
const RENDEZVOUS: &str = "NCCLBENCH_RENDEZVOUS";

/// See the module.
#[derive(Debug)]
pub(super) struct Kubernetes;

impl Launcher for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn summary(&self) -> &'static str {
        "an indexed job of Kubernetes, with NCCLBENCH_WORLD and NCCLBENCH_RENDEZVOUS"
    }

    fn is_announced(&self, _wish: &Wish, env: &Env) -> bool {
        env.has(INDEX)
    }

    fn take(&self, setting: &Setting<'_>) -> Result<Taken, Fault> {
        let (process, processes) = index(setting)?;
        Ok(Taken {
            seat: ProcessSeat {
                process,
                processes,
                local_process: None,
                launcher: self.name(),
                reason: format!("{INDEX}={process} of {processes}"),
            },
            job: "kubernetes".to_owned(),
            way: if processes == 1 {
                Way::Alone
            } else {
                way(setting)?
            },
            notes: Vec::new(),
        })
    }
}

fn index(setting: &Setting<'_>) -> Result<(u32, u32), Fault> {
    let env = setting.env;
    let Some(world) = setting.wish.world else {
        if !env.has(WORLD) {
            return Err(missing(WORLD, "`--world`")
                .hint(format!("set `{WORLD}` to the job's `completions`"))
                .hint("if this pod is to measure by itself, say `--launcher alone`"));
        }
        return variables::index_of(env, INDEX, WORLD);
    };
    let index = variables::number(env, INDEX)?;
    if index < world {
        return Ok((index, world));
    }
    let text = format!("`{INDEX}={index}` is not below `--world {world}`");
    Err(Fault::new(Kind::Launch, text).hint("give the job's `completions` as `--world`"))
}

fn way(setting: &Setting<'_>) -> Result<Way, Fault> {
    let wished = setting.wish.rendezvous.as_deref();
    let (text, who) = match (wished, setting.env.get(RENDEZVOUS)) {
        (Some(text), _) => (text, "--rendezvous"),
        (None, Some(text)) => (text, RENDEZVOUS),
        (None, None) => {
            return Err(missing(RENDEZVOUS, "`--rendezvous`").hint(format!(
                "set `{RENDEZVOUS}` to the first pod's name in a headless service and a port: `JOB-0.SERVICE:29500`"
            )));
        }
    };
    Ok(match explicit::parse_way(text, who)? {
        // a pod's name is known some time after the pod has started
        Way::At(place) => Way::Awaited(place),
        way => way,
    })
}

fn missing(variable: &str, flag: &str) -> Fault {
    let text = format!(
        "`{INDEX}` says that this is a pod of an indexed job, but neither `{variable}` nor {flag} is given"
    );
    Fault::new(Kind::Launch, text)
}
