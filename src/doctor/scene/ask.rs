//! What other programs, the resolver and the system say of the machine; under a root what they said
//! when it was copied.

use super::COMMAND_LIMIT;
use super::RESOLVER_LIMIT;
use super::STORED;
use super::Scene;
use super::smi;
use crate::probe;
use crate::record::GpuHealths;
use std::net::IpAddr;

/// A program that tells something, and the file of a root that holds its words.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Its name, as it is looked for on `PATH`.
    pub program: &'static str,
    /// Where it is looked for besides.
    pub folders: &'static [&'static str],
    /// What it is called with.
    pub arguments: &'static [&'static str],
    /// The file under `doctor/` of a root.
    pub file: &'static str,
}

/// `fi_info`, for what EFA offers to NCCL's plugin.
pub(crate) const FI_INFO: Asked = Asked {
    program: "fi_info",
    folders: &["/opt/amazon/efa/bin"],
    arguments: &["-p", "efa", "-t", "FI_EP_RDM"],
    file: "fi_info",
};

/// The kernel's log.
pub(crate) const DMESG: Asked = Asked {
    program: "dmesg",
    folders: &["/usr/bin", "/bin"],
    arguments: &[],
    file: "dmesg",
};

/// The driver's own tool, where its library does not load.
pub(super) const NVIDIA_SMI: Asked = Asked {
    program: "nvidia-smi",
    folders: &["/usr/bin", "/usr/local/nvidia/bin"],
    arguments: &["-q"],
    file: "nvidia-smi",
};

/// The state of the NVLinks, which is in no other output.
pub(super) const NVIDIA_SMI_NVLINK: Asked = Asked {
    program: "nvidia-smi",
    folders: &["/usr/bin", "/usr/local/nvidia/bin"],
    arguments: &["nvlink", "-s"],
    file: "nvidia-smi-nvlink",
};

/// Every program that is asked.
pub(crate) const ALL: &[Asked] = &[FI_INFO, DMESG, NVIDIA_SMI, NVIDIA_SMI_NVLINK];

/// Why a program's words are not to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// It is not installed, or the root does not hold what it said.
    Absent(String),
    /// It failed, with its words.
    Failed(String),
}

impl Silence {
    /// In one line.
    pub fn words(&self) -> &str {
        match self {
            Self::Absent(words) | Self::Failed(words) => words,
        }
    }
}

impl Scene {
    /// What a program says.
    ///
    /// # Errors
    /// That it is not there, did not end in time, or its words and code where it failed.
    pub fn ask(&self, asked: &Asked) -> Result<String, Silence> {
        if !self.is_live() {
            let path = format!("/{STORED}/{}", asked.file);
            let text = self.read(&path);
            let none = |_| Silence::Absent(format!("the root holds no `{STORED}/{}`", asked.file));
            return stored(asked.program, &text.map_err(none)?);
        }
        let found = self.program(asked.program, asked.folders);
        let none = || Silence::Absent(format!("`{}` is not installed", asked.program));
        let said = probe::command::output(&found.ok_or_else(none)?, asked.arguments, COMMAND_LIMIT)
            .map_err(Silence::Failed)?;
        if said.code == Some(0) {
            return Ok(said.stdout);
        }
        let words = [said.stderr.trim(), said.stdout.trim()];
        let words = words.into_iter().find(|words| !words.is_empty());
        let words = words
            .and_then(|words| words.lines().next())
            .unwrap_or("no word");
        let code = said
            .code
            .map_or("a signal".to_owned(), |code| code.to_string());
        Err(Silence::Failed(format!(
            "`{} {}` ended with {code}: {words}",
            asked.program,
            asked.arguments.join(" ")
        )))
    }

    /// A program on `PATH`, else in one of `folders`.
    pub fn program(&self, name: &str, folders: &[&str]) -> Option<String> {
        let path = self.variable("PATH").unwrap_or_default();
        let named = path.split(':').filter(|folder| !folder.is_empty());
        let mut all = named.chain(folders.iter().copied());
        all.find_map(|folder| {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            (self.exists(&path) && !self.is_folder(&path)).then_some(path)
        })
    }

    /// The addresses of a name, in the resolver's order.
    ///
    /// # Errors
    /// Why there are none.
    pub fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, String> {
        if self.is_live() {
            return probe::resolver::addresses(name, RESOLVER_LIMIT);
        }
        let stored = format!("/{STORED}/getent");
        let said = self.read(&stored);
        let said = said.map_err(|_| format!("the root holds no `{STORED}/getent`"))?;
        let first = |line: &str| line.split_whitespace().next()?.parse().ok();
        let mut all: Vec<IpAddr> = said.lines().filter_map(first).collect();
        all.dedup();
        if all.is_empty() {
            return Err(format!("`{STORED}/getent` has no address"));
        }
        Ok(all)
    }

    /// Bytes of the file system at `path`, and how many of them are free.
    ///
    /// # Errors
    /// Why they are not known.
    pub fn space(&self, path: &str) -> Result<(u64, u64), String> {
        if self.is_live() {
            let stat = rustix::fs::statvfs(path).map_err(|error| format!("{path}: {error}"))?;
            return Ok((stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize));
        }
        let said = self.read(&format!("/{STORED}/df"));
        let said = said.map_err(|_| format!("the root holds no `{STORED}/df`"))?;
        space_in(&said, path).ok_or_else(|| format!("`{STORED}/df` has no line for `{path}`"))
    }

    /// The state of the GPUs.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn gpus(&self) -> Result<&GpuHealths, &str> {
        let told = self.gpus.get_or_init(|| self.ask_gpus());
        told.as_ref().map_err(String::as_str)
    }

    /// NVML on this machine; where it does not load, the driver's tool, which may bring its own.
    fn ask_gpus(&self) -> Result<GpuHealths, String> {
        let refused = match self.is_live().then(probe::gpu_health::all) {
            Some(Ok(told)) => return Ok(told),
            Some(Err(words)) => Some(words),
            None => None,
        };
        let said = self.ask(&NVIDIA_SMI).map_err(|silence| {
            let words = silence.words().to_owned();
            refused.map_or(words.clone(), |nvml| format!("{nvml}; {words}"))
        })?;
        let links = self.ask(&NVIDIA_SMI_NVLINK).unwrap_or_default();
        Ok(smi::parse(&said, &links))
    }
}

/// A stored output; one that starts with `exit N` is of a program that failed, with its words.
fn stored(program: &str, text: &str) -> Result<String, Silence> {
    let failed = text.strip_prefix("exit ");
    let code = failed.and_then(|rest| rest.lines().next());
    match code.map(str::trim) {
        Some(code) if !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit()) => {
            let words = text.lines().nth(1).unwrap_or("no word");
            Err(Silence::Failed(format!(
                "`{program}` ended with {code}: {words}"
            )))
        }
        _ => Ok(text.to_owned()),
    }
}

/// A line of `df -Pk`: blocks of 1024 bytes, used, available, percent, where.
fn space_in(said: &str, path: &str) -> Option<(u64, u64)> {
    said.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, blocks, _, free, _, place] = words[..] else {
            return None;
        };
        (place == path).then_some(())?;
        let bytes = |word: &str| Some(word.parse::<u64>().ok()? * 1024);
        Some((bytes(blocks)?, bytes(free)?))
    })
}
