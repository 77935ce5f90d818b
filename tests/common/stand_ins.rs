//! Builds the stand-ins and says where they are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder that holds `libcuda.so.1`, `libnccl.so.2` and `old/libnccl.so.2`.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join("target/stand-ins");
        let status = Command::new(root.join("tests/stand-ins/build.sh"))
            .arg(&folder)
            .status()
            .unwrap();
        assert!(status.success(), "the stand-ins do not build");
        folder
    })
}

/// The path of one of them.
pub(crate) fn library(name: &str) -> String {
    let path = folder().join(name);
    assert!(path.is_file(), "{} was not built", path.display());
    path.to_str().unwrap().to_owned()
}
