//! The file of a sweep's run, held by one process at a time.

use crate::base::Fault;
use crate::base::Kind;
use crate::record::Header;
use crate::store::Store;
use std::fs::File;
use std::fs::TryLockError;
use std::path::Path;
use std::path::PathBuf;

/// Creates the file of a new run in the store.
///
/// # Errors
/// `Output` where that cannot be done.
pub(in crate::app) fn create(store: &str, header: &Header) -> Result<(PathBuf, File), Fault> {
    let new = Store::at(store).create(header)?;
    hold(&new.file, &new.path)?;
    Ok((new.path, new.file))
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
