//! What was done, a line each, in the file that a variable names: what a test cannot see otherwise.

use std::fs::File;
use std::io::Write;
use std::sync::LazyLock;

static FILE: LazyLock<Option<File>> = LazyLock::new(|| {
    let path = std::env::var_os("STAND_IN_JOURNAL")?;
    let opened = File::options().append(true).create(true).open(&path);
    match opened {
        Ok(file) => Some(file),
        Err(error) => {
            eprintln!("stand-in: `STAND_IN_JOURNAL={}`: {error}", path.display());
            std::process::exit(99);
        }
    }
});

/// Writes a line, in one piece, so that those of threads and libraries do not mix.
pub fn line(text: &str) {
    if let Some(mut file) = FILE.as_ref() {
        let written = file.write_all(format!("{text}\n").as_bytes());
        if let Err(error) = written {
            eprintln!("stand-in: the journal: {error}");
            std::process::exit(99);
        }
    }
}
