//! The report as people read it.

use super::report::HostPart;
use super::report::RankPart;
use super::report::Report;
use super::sighting::Machine;
use crate::base::counted;
use crate::probe::interface::Interface;
use crate::probe::library::Found;
use crate::probe::rdma::Device;
use std::fmt::Write as _;

/// The whole report.
pub(super) fn of(report: &Report) -> String {
    let mut text = opening(report);
    for (index, host) in report.hosts.iter().enumerate() {
        line(&mut text, 0, "");
        host_part(&mut text, host);
        let here = report.ranks.iter().filter(|rank| rank.host_index == index);
        for rank in here {
            rank_part(&mut text, rank);
        }
    }
    line(&mut text, 0, "");
    closing(&mut text, report);
    text
}

fn line(text: &mut String, indent: usize, what: &str) {
    // writing to a String cannot fail
    let _ = writeln!(text, "{:indent$}{what}", "");
}

fn opening(report: &Report) -> String {
    let mut text = String::new();
    let first = if report.met {
        let ranks = counted(report.ranks.len(), "rank", "ranks");
        let processes = counted(report.processes as usize, "process", "processes");
        let hosts = counted(report.hosts.len(), "host", "hosts");
        format!("{ranks} in {processes} on {hosts}")
    } else {
        "this process alone, which did not meet the others".to_owned()
    };
    line(
        &mut text,
        0,
        &format!("ncclbench {} where: {first}", report.ncclbench),
    );
    if let Some(place) = &report.rendezvous {
        line(&mut text, 0, &format!("rendezvous: {place}"));
    }
    let backend = format!("backend: {} ({})", report.backend, report.backend_reason);
    line(&mut text, 0, &backend);
    for note in &report.notes {
        line(&mut text, 0, &format!("note: {note}"));
    }
    text
}

fn host_part(text: &mut String, host: &HostPart) {
    line(text, 0, &format!("host {} ({})", host.host, host.identity));
    if let Some(machine) = &host.machine {
        machine_part(text, machine);
    }
    for found in &host.libraries {
        line(text, 2, &library(found));
    }
}

fn machine_part(text: &mut String, machine: &Machine) {
    let resolved = match &machine.resolved.failure {
        Some(failure) => format!("cannot be resolved: {failure}"),
        None => format!("resolves to {}", joined(&machine.resolved.found)),
    };
    line(text, 2, &format!("its name {resolved}"));
    match &machine.interfaces.failure {
        Some(failure) => line(text, 2, &format!("interfaces unknown: {failure}")),
        None => {
            for interface in &machine.interfaces.found {
                line(text, 2, &interface_line(interface));
            }
        }
    }
    if machine.rdma.is_empty() {
        line(text, 2, "no InfiniBand or EFA device");
    }
    for device in &machine.rdma {
        line(text, 2, &rdma_line(device));
    }
}

fn joined<T: std::fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn interface_line(one: &Interface) -> String {
    let addresses = if one.addresses.is_empty() {
        "no address".to_owned()
    } else {
        joined(&one.addresses)
    };
    let speed = one.speed_mbit.map_or_else(
        || "speed unknown".to_owned(),
        |speed| format!("{speed} Mb/s"),
    );
    format!(
        "interface {}: {}, {addresses}, {speed}",
        one.name, one.state
    )
}

fn rdma_line(one: &Device) -> String {
    let parts = [&one.driver, &one.link, &one.state, &one.rate];
    let parts: Vec<&str> = parts.iter().filter_map(|part| part.as_deref()).collect();
    format!("device {}: {}", one.name, parts.join(", "))
}

fn library(found: &Found) -> String {
    match found {
        Found::Loaded(record) => {
            let kind = if record.stand_in { " (stand-in)" } else { "" };
            let (name, version, path) = (&record.name, &record.version, &record.path);
            format!("{name} {version}{kind} from {path}")
        }
        Found::Absent { name, why } => format!("no {name}: {why}"),
    }
}

fn rank_part(text: &mut String, one: &RankPart) {
    let RankPart {
        rank,
        process,
        pid,
        local_rank,
        ..
    } = one;
    let head = format!("rank {rank}: process {process}, pid {pid}, local rank {local_rank}");
    line(text, 2, &head);
    let launcher = one.launcher.as_deref().unwrap_or("none could be used");
    let mut launcher = format!("launcher {launcher} ({})", one.launcher_reason);
    if !one.also_announced.is_empty() {
        let others = one.also_announced.join(", ");
        let _ = write!(launcher, "; variables of {others} are set too");
    }
    line(text, 4, &launcher);
    line(text, 4, &gpu(one));
    line(text, 4, &cpus(one));
}

fn gpu(one: &RankPart) -> String {
    let mut text = match &one.gpu {
        None => "no GPU".to_owned(),
        Some(gpu) => format!(
            "GPU {} of {} visible: {}, {}, {}",
            gpu.ordinal,
            one.visible_gpus,
            gpu.name,
            gpu.bus_id,
            gpu.uuid.as_deref().unwrap_or("no id")
        ),
    };
    if let Some(list) = &one.cuda_visible_devices {
        let _ = write!(text, " (CUDA_VISIBLE_DEVICES={list})");
    }
    text
}

fn cpus(one: &RankPart) -> String {
    let cores = one
        .n_cores
        .map_or_else(String::new, |cores| format!(" on {cores} cores"));
    let slurm = one.slurm_cpus_per_task.as_ref();
    let slurm = slurm.map_or_else(
        || "SLURM_CPUS_PER_TASK not set".to_owned(),
        |said| format!("SLURM_CPUS_PER_TASK={said}"),
    );
    format!("CPUs {}: {}{cores}; {slurm}", one.cpus, one.n_cpus)
}

fn closing(text: &mut String, report: &Report) {
    if report.odd.is_empty() {
        line(text, 0, "nothing is odd");
    }
    for oddity in &report.odd {
        line(text, 0, &format!("odd: {}", oddity.what));
        line(text, 2, &format!("hint: {}", oddity.hint));
    }
    match &report.refused {
        None => line(text, 0, "a run that is started like this would begin"),
        Some(refusal) => {
            line(
                text,
                0,
                &format!("a run would be refused: {}", refusal.what),
            );
            for hint in &refusal.hints {
                line(text, 2, &format!("hint: {hint}"));
            }
        }
    }
}
