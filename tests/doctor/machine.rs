//! Machines written down in one file each; `roots/README.md` says how.

use std::fs;
use std::path::Path;

/// What a file says of a machine.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) base: String,
    pub(crate) check: String,
    pub(crate) health: String,
    pub(crate) says: String,
    pub(crate) also: Vec<String>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// The head that opened it: files of one head have one text.
    head: usize,
    path: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    File(String),
    Link(String),
    Gone,
}

/// Where the machines are written down.
pub(crate) fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/roots")
}

/// Names of all machines.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".root").map(str::to_owned))
        .collect();
    names.sort();
    names
}

impl Machine {
    pub(crate) fn read(name: &str) -> Self {
        let path = folder().join(format!("{name}.root"));
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut machine = Self::default();
        for line in repeated(&text).lines() {
            match line
                .strip_prefix("-- ")
                .and_then(|line| line.strip_suffix(" --"))
            {
                Some(head) => machine.open(head),
                None => machine.take(name, line),
            }
        }
        machine
    }

    fn open(&mut self, head: &str) {
        let (pattern, kind) = match head.split_once(" -> ") {
            Some((pattern, target)) => (pattern, Some(target)),
            None => (head, None),
        };
        let number = self.entries.last().map_or(0, |last| last.head + 1);
        let gone = pattern.strip_suffix(" gone");
        for path in expanded(gone.unwrap_or(pattern)) {
            let kind = match (kind, gone) {
                (Some(target), _) => Kind::Link(target.to_owned()),
                (None, Some(_)) => Kind::Gone,
                (None, None) => Kind::File(String::new()),
            };
            self.entries.push(Entry {
                head: number,
                path,
                kind,
            });
        }
    }

    /// A line of text belongs to all files that the last head has opened.
    fn take(&mut self, name: &str, line: &str) {
        if self.entries.is_empty() {
            let (key, value) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("{name}: {line}"));
            match key {
                "base" => value.clone_into(&mut self.base),
                "check" => value.clone_into(&mut self.check),
                "health" => value.clone_into(&mut self.health),
                "says" => value.clone_into(&mut self.says),
                "also" => self.also = value.split(", ").map(str::to_owned).collect(),
                _ => panic!("{name}: `{key}` is nothing that a machine has"),
            }
            return;
        }
        let head = self.entries.last().map(|last| last.head);
        for entry in self.entries.iter_mut().filter(|one| Some(one.head) == head) {
            match &mut entry.kind {
                Kind::File(text) => text.extend([line, "\n"]),
                _ => panic!("{name}: text behind what is no file: {line}"),
            }
        }
    }

    /// Writes the machine under `root`, over what is there.
    pub(crate) fn build(&self, root: &Path) {
        for entry in &self.entries {
            entry.write(root);
        }
    }

    /// Writes the machine under `root`, over its base, calls `look` and puts everything back: most
    /// of a machine is its base, which is written once for all.
    pub(crate) fn with(&self, root: &Path, look: impl FnOnce()) {
        let aside = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
        let mut undo = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            let path = root.join(&entry.path);
            let kept = aside.path().join(number.to_string());
            let was_there = path.symlink_metadata().is_ok();
            if was_there {
                fs::rename(&path, &kept).unwrap();
            }
            assert!(
                was_there || !matches!(entry.kind, Kind::Gone),
                "{} is not there",
                path.display()
            );
            let first_new = path
                .ancestors()
                .take_while(|one| one.symlink_metadata().is_err());
            let first_new = first_new.last().map(Path::to_owned);
            if !matches!(entry.kind, Kind::Gone) {
                entry.write(root);
            }
            undo.push((path, first_new, was_there.then_some(kept)));
        }
        look();
        for (path, first_new, kept) in undo.into_iter().rev() {
            match first_new {
                Some(new) if new.is_dir() && !new.is_symlink() => fs::remove_dir_all(new).unwrap(),
                Some(new) if new.symlink_metadata().is_ok() => fs::remove_file(new).unwrap(),
                _ => {}
            }
            if let Some(kept) = kept {
                fs::rename(kept, path).unwrap();
            }
        }
    }
}

impl Entry {
    fn write(&self, root: &Path) {
        let path = root.join(&self.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match &self.kind {
            Kind::File(text) => fs::write(&path, text).unwrap(),
            Kind::Link(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            Kind::Gone => panic!(
                "{} cannot be gone from a machine without a base",
                path.display()
            ),
        }
    }
}

/// Lines between `@for n in A..B` and `@end`, once for each number.
fn repeated(text: &str) -> String {
    let mut out = String::new();
    let mut block: Option<(u32, u32, String)> = None;
    for line in text.lines() {
        match (&mut block, line.strip_prefix("@for n in ")) {
            (None, Some(range)) => {
                let (first, last) = range.split_once("..").unwrap();
                block = Some((first.parse().unwrap(), last.parse().unwrap(), String::new()));
            }
            (Some((first, last, body)), None) if line == "@end" => {
                for n in *first..=*last {
                    out += &body.replace("{n}", &n.to_string());
                }
                block = None;
            }
            (Some((.., body)), _) => body.extend([line, "\n"]),
            (None, None) => out.extend([line, "\n"]),
        }
    }
    assert!(block.is_none(), "`@for` without `@end`");
    out
}

/// `{0..7}` and `{a,b}` in a path, any number of them.
fn expanded(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_owned()];
    };
    let (inner, after) = rest.split_once('}').unwrap();
    let words: Vec<String> = match inner.split_once("..") {
        Some((first, last)) => {
            let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
            (first..=last).map(|n| n.to_string()).collect()
        }
        None => inner.split(',').map(str::to_owned).collect(),
    };
    let all = words
        .iter()
        .flat_map(|word| expanded(&format!("{before}{word}{after}")));
    all.collect()
}
