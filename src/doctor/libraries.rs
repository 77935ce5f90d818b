//! Copies of a shared library on this machine: where the loader looks, and where vendors put them.

use super::Scene;
use std::io::Read as _;

/// A file that is a copy of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The name by which it was met.
    pub(super) path: String,
    /// The same without links.
    pub(super) real: String,
    /// Whether the loader finds it by its plain name.
    pub(super) is_on_path: bool,
}

/// Folders in which packages and images put libraries without telling the loader.
const VENDORS: &[&str] = &[
    "/opt/amazon/ofi-nccl/lib",
    "/opt/amazon/ofi-nccl/lib64",
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
    "/opt/amazon/ofi-nccl/lib/aarch64-linux-gnu",
    "/opt/amazon/aws-ofi-nccl/lib",
    "/opt/aws-ofi-nccl/lib",
    "/opt/amazon/efa/lib",
    "/opt/amazon/efa/lib64",
    "/opt/amazon/openmpi/lib",
    "/opt/amazon/openmpi/lib64",
    "/opt/amazon/openmpi5/lib",
    "/opt/amazon/openmpi5/lib64",
    "/opt/hpcx/ompi/lib",
    "/opt/hpcx/nccl_rdma_sharp_plugin/lib",
    "/usr/local/mpi/lib",
    "/usr/local/lib",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/compat",
];

/// Folders that the loader searches after its list.
const DEFAULTS: &[&str] = &[
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// Folders under which Python keeps packages.
const PYTHONS: &[&str] = &["/usr/local/lib", "/usr/lib", "/opt/conda/lib"];

/// Folders in which the loader looks for a plain name, in its order.
///
/// # Source
/// ld.so(8). The cache is made of the folders that `ldconfig` is told; its file is not read.
pub(super) fn loader_folders(scene: &Scene) -> Vec<String> {
    let mut folders: Vec<String> = split(scene.variable("LD_LIBRARY_PATH"));
    folders.extend(configured(scene, "/etc/ld.so.conf", 0));
    folders.extend(DEFAULTS.iter().map(|folder| (*folder).to_owned()));
    folders
}

fn split(list: Option<&str>) -> Vec<String> {
    let parts = list.unwrap_or_default().split([':', ';']);
    let parts = parts.map(|part| part.trim_end_matches('/'));
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Folders that a file of `ldconfig` names; `include` takes a pattern in the last name.
fn configured(scene: &Scene, path: &str, depth: u32) -> Vec<String> {
    let text = scene.text(path).unwrap_or_default();
    let mut folders = Vec::new();
    for line in text.lines().map(str::trim) {
        match line.strip_prefix("include") {
            Some(pattern) if depth < 4 => {
                for file in matching(scene, pattern.trim()) {
                    folders.extend(configured(scene, &file, depth + 1));
                }
            }
            _ if line.starts_with('/') => folders.push(line.trim_end_matches('/').to_owned()),
            _ => {}
        }
    }
    folders
}

fn matching(scene: &Scene, pattern: &str) -> Vec<String> {
    let (folder, name) = match pattern.rsplit_once('/') {
        Some(("", name)) => ("/".to_owned(), name),
        Some((folder, name)) if folder.starts_with('/') => (folder.to_owned(), name),
        Some((folder, name)) => (format!("/etc/{folder}"), name),
        None => ("/etc".to_owned(), pattern),
    };
    let (start, end) = name.split_once('*').unwrap_or((name, ""));
    let fits = |one: &String| one.starts_with(start) && one.ends_with(end);
    let names = scene.list(&folder).into_iter().filter(fits);
    names.map(|name| format!("{folder}/{name}")).collect()
}

/// Folders that hold `nvidia/nccl/lib` and the like of Python's packages.
fn python_folders(scene: &Scene, inner: &str) -> Vec<String> {
    let own = ["VIRTUAL_ENV", "CONDA_PREFIX"];
    let own = own.iter().filter_map(|name| scene.variable(name));
    let bases = own.map(|base| format!("{base}/lib"));
    let bases = bases.chain(PYTHONS.iter().map(|base| (*base).to_owned()));
    let mut folders = Vec::new();
    for base in bases {
        let names = scene.list(&base).into_iter();
        for python in names.filter(|name| name.starts_with("python3")) {
            for packages in ["dist-packages", "site-packages"] {
                folders.push(format!("{base}/{python}/{packages}/{inner}"));
            }
        }
    }
    folders
}

/// Every copy whose name is one of `names`, or one of them with a version behind, those that the
/// loader finds first and in its order; `python` is a folder among Python's packages.
pub(super) fn copies(scene: &Scene, names: &[&str], python: Option<&str>) -> Vec<Found> {
    let on_path = loader_folders(scene);
    let vendors = VENDORS.iter().map(|folder| (*folder).to_owned());
    let pythons = python.map_or_else(Vec::new, |inner| python_folders(scene, inner));
    let off_path: Vec<String> = vendors.chain(pythons).collect();
    let mut found: Vec<Found> = Vec::new();
    for (folders, is_on_path) in [(&on_path, true), (&off_path, false)] {
        for folder in folders {
            for path in named(scene, folder, names) {
                let Some(real) = scene.real(&path) else {
                    continue;
                };
                if !scene.exists(&real) || found.iter().any(|one| one.real == real) {
                    continue;
                }
                found.push(Found {
                    path,
                    real,
                    is_on_path,
                });
            }
        }
    }
    found
}

fn named(scene: &Scene, folder: &str, names: &[&str]) -> Vec<String> {
    let exact = names.iter().map(|name| format!("{folder}/{name}"));
    let exact: Vec<String> = exact.filter(|path| scene.exists(path)).collect();
    if !exact.is_empty() {
        return exact;
    }
    // a runtime package may have the file with its full version only
    let longer = |entry: &String| {
        let fits = |name: &&str| {
            entry
                .strip_prefix(*name)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        names.iter().any(fits)
    };
    let entries = scene.list(folder).into_iter().filter(longer);
    entries.map(|entry| format!("{folder}/{entry}")).collect()
}

/// The version behind `.so.` of a file's name, if it has three numbers at least.
pub(super) fn version_in_name(path: &str) -> Option<String> {
    let (_, version) = path.rsplit_once(".so.")?;
    let numbers = version
        .split('.')
        .filter(|part| part.parse::<u32>().is_ok());
    (numbers.count() >= 3).then(|| version.to_owned())
}

/// What follows `mark` in a file, where a digit follows it: `NCCL version 2.28.3+cuda13.0`.
pub(super) fn version_inside(scene: &Scene, path: &str, mark: &str) -> Option<String> {
    const CHUNK: usize = 1 << 20;
    const OVERLAP: usize = 128;
    let mut file = scene.open(path)?;
    let mut window: Vec<u8> = Vec::new();
    loop {
        let kept = window.len().saturating_sub(OVERLAP);
        window.drain(..kept);
        let before = window.len();
        let mut next = std::io::Read::by_ref(&mut file).take(CHUNK as u64);
        let got = next.read_to_end(&mut window).ok()?;
        match after(&window, mark.as_bytes()) {
            // cut by the window's end: the next one holds all of it
            Some((_, true)) if got > 0 => {}
            Some((found, _)) => return Some(found),
            None => {}
        }
        if got == 0 || window.len() == before {
            return None;
        }
    }
}

/// What follows the first mark, and whether it goes on to the end.
fn after(bytes: &[u8], mark: &[u8]) -> Option<(String, bool)> {
    let mut from = 0;
    while let Some(step) = bytes[from..].iter().position(|byte| *byte == mark[0]) {
        let at = from + step;
        let rest = &bytes[at..];
        if rest.starts_with(mark) && rest.get(mark.len()).is_some_and(u8::is_ascii_digit) {
            let told = rest[mark.len()..].iter();
            let told =
                told.take_while(|byte| byte.is_ascii_alphanumeric() || b".+-_".contains(byte));
            let told: String = told.map(|byte| char::from(*byte)).collect();
            let is_cut = mark.len() + told.len() == rest.len();
            return Some((told, is_cut));
        }
        from = at + 1;
    }
    None
}
