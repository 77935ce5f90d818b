//! Files that appear whole or not at all.

use crate::base::{Fault, Kind};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// What happened to a file that was to be new.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is there.
    New,
    /// Another writer was first; nothing was changed.
    Taken,
}

/// Writes a file under a temporary name beside it and moves it to its place, whatever was there.
pub(super) fn replace(path: &Path, text: &str, unique: &str) -> Result<(), Fault> {
    let spare = write_spare(path, text, unique)?;
    fs::rename(&spare, path).map_err(|error| {
        drop(fs::remove_file(&spare));
        fault(&error, "writing", path)
    })
}

/// Writes a file that must not be there yet: it appears complete, and of two writers one is told that
/// it was too late.
pub(super) fn place_new(path: &Path, text: &str, unique: &str) -> Result<Placed, Fault> {
    let spare = write_spare(path, text, unique)?;
    let linked = fs::hard_link(&spare, path);
    let outcome = match linked {
        Ok(()) => Ok(Placed::New),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Placed::Taken),
        // some file systems have no links: the file is then written in its place
        Err(_) => write_new(path, text),
    };
    drop(fs::remove_file(&spare));
    outcome
}

fn write_new(path: &Path, text: &str) -> Result<Placed, Fault> {
    let mut file = match File::create_new(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Placed::Taken),
        Err(error) => return Err(fault(&error, "creating", path)),
    };
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    written
        .map(|()| Placed::New)
        .map_err(|error| fault(&error, "writing", path))
}

/// A hidden file beside `path`, on the disk before it is given its name.
fn write_spare(path: &Path, text: &str, unique: &str) -> Result<std::path::PathBuf, Fault> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let spare = folder.join(format!(".{name}.{unique}.tmp"));
    let written = File::create(&spare).and_then(|mut file| {
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
    });
    written.map_err(|error| fault(&error, "writing", &spare))?;
    Ok(spare)
}

pub(super) fn make_folder(folder: &Path) -> Result<(), Fault> {
    fs::create_dir_all(folder).map_err(|error| fault(&error, "creating folder", folder))
}

/// The bytes of a file; none where there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(missing(&error, "reading", path)),
    }
}

/// The names in a folder, sorted; none where there is no such folder. Hidden files are spare ones.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, Fault> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(missing(&error, "reading folder", folder)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| missing(&error, "reading folder", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

pub(super) fn fault(error: &io::Error, what: &str, path: &Path) -> Fault {
    Fault::new(Kind::Output, error.to_string()).while_doing(format!("{what} `{}`", path.display()))
}

pub(super) fn missing(error: &io::Error, what: &str, path: &Path) -> Fault {
    Fault::new(Kind::Missing, error.to_string()).while_doing(format!("{what} `{}`", path.display()))
}
