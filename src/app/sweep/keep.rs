//! The file of a sweep's run, held by one process at a time.

use crate::base::Fault;
use crate::base::Kind;
use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Creates the file of a new run, `STORE/NAME-TIME.jsonl`.
///
/// # Errors
/// `Output` where that cannot be done.
pub(in crate::app) fn create(
    store: &str,
    name: &str,
    started: &str,
) -> Result<(PathBuf, File), Fault> {
    let failed = |error: &io::Error, path: &Path| {
        Fault::new(Kind::Output, error.to_string())
            .while_doing(format!("creating `{}`", path.display()))
    };
    let folder = Path::new(store);
    std::fs::create_dir_all(folder).map_err(|error| failed(&error, folder))?;
    let stamp: String = started
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    for attempt in 0u32.. {
        let again = if attempt == 0 {
            String::new()
        } else {
            format!("-{attempt}")
        };
        let path = folder.join(format!("{name}-{stamp}{again}.jsonl"));
        match File::create_new(&path) {
            Ok(file) => {
                hold(&file, &path)?;
                return Ok((path, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {}
            Err(error) => return Err(failed(&error, &path)),
        }
    }
    Err(Fault::new(Kind::Output, "no free name is left")
        .while_doing(format!("creating a run of `{name}`")))
}

/// Takes a run's file for this process, so that no other goes on with it at the same time; where the
/// file system knows no locks, nobody is kept out.
///
/// # Errors
/// `Output` where another process has it.
pub(super) fn hold(file: &File, path: &Path) -> Result<(), Fault> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Fault::new(
            Kind::Output,
            format!("another process is writing `{}`", path.display()),
        )
        .hint("wait for it, or give `--store` another folder")),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}
