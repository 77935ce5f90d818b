//! Files of the machine, under its root.

use super::Scene;
use crate::base::Env;
use std::fs;
use std::io::Read as _;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// The most that is read of a file as text.
const MOST_BYTES: u64 = 4 << 20;

/// How many links are followed; as many as Linux does.
const MOST_LINKS: u32 = 40;

impl Scene {
    /// The place of an absolute path under the root.
    fn at(&self, path: &str) -> PathBuf {
        match &self.root {
            None => PathBuf::from(path),
            Some(root) => root.join(path.trim_start_matches('/')),
        }
    }

    /// The same for those who walk it themselves.
    pub(in super::super) fn place(&self, path: &str) -> PathBuf {
        self.at(path)
    }

    /// A path without links: as `realpath` gives it, within the root. The last component need not exist.
    pub fn real(&self, path: &str) -> Option<String> {
        let mut links = 0;
        let mut done = PathBuf::from("/");
        let mut rest: Vec<String> = parts(Path::new(path));
        while let Some(part) = rest.pop() {
            if part == ".." {
                done.pop();
                continue;
            }
            let next = done.join(&part);
            let Ok(target) = fs::read_link(self.at(&next.to_string_lossy())) else {
                done = next;
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            if target.is_absolute() {
                done = PathBuf::from("/");
            }
            rest.extend(parts(&target));
        }
        Some(done.to_string_lossy().into_owned())
    }

    /// A file's text, without white space at its ends.
    ///
    /// # Errors
    /// `PATH: ` and the system's words.
    pub fn read(&self, path: &str) -> Result<String, String> {
        let words = |error: std::io::Error| format!("{path}: {error}");
        let real = self
            .real(path)
            .ok_or_else(|| format!("{path}: a loop of links"))?;
        let file = fs::File::open(self.at(&real)).map_err(words)?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map_err(words)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A file's text, if it can be read and is not empty.
    pub fn text(&self, path: &str) -> Option<String> {
        self.read(path).ok().filter(|text| !text.is_empty())
    }

    /// A number that a file holds.
    pub fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// Names of a folder's entries, sorted; none where there is no such folder.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let Some(real) = self.real(folder) else {
            return Vec::new();
        };
        let entries = fs::read_dir(self.at(&real)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    /// Whether there is something at this path.
    pub fn exists(&self, path: &str) -> bool {
        self.real(path).is_some_and(|real| self.at(&real).exists())
    }

    /// Whether this is a folder.
    pub fn is_folder(&self, path: &str) -> bool {
        self.real(path).is_some_and(|real| self.at(&real).is_dir())
    }

    /// The last name of what a link points to.
    pub fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.at(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Whether the process may read and write there; the kernel counts permissions and cgroups.
    ///
    /// # Errors
    /// The system's words.
    pub fn may_use(&self, path: &str) -> Result<(), String> {
        let real = self.real(path).ok_or("a loop of links")?;
        let access = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
        rustix::fs::access(self.at(&real), access).map_err(|error| error.to_string())
    }

    /// Opens a file for looking through its bytes.
    pub(in super::super) fn open(&self, path: &str) -> Option<fs::File> {
        fs::File::open(self.at(&self.real(path)?)).ok()
    }

    /// Variables of `proc/self/environ`: ended by NUL as the kernel has them, or one a line.
    pub(super) fn environ(&self) -> Env {
        let text = self.read("/proc/self/environ").unwrap_or_default();
        let end = if text.contains('\0') { '\0' } else { '\n' };
        let pairs = text.split(end).filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.trim(), value)).collect()
    }
}

/// A path's names, the last first, to be taken from the end.
fn parts(path: &Path) -> Vec<String> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::ParentDir => Some("..".to_owned()),
        _ => None,
    });
    names.collect()
}
