//! Gives the library the name that the loader knows the vendor's by, and compiles the collectives'
//! kernels for the CPU into it.

use std::path::{Path, PathBuf};
use std::process::Command;

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script its folder by a variable"
)]
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo:rerun-if-changed=build.rs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for folder in ["kernels", "tests/kernels"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    run(Command::new(root.join("tests/kernels/build-host.sh")).arg(&out));
    let objects = std::fs::read_dir(&out).expect("the folder is there");
    let objects = objects.filter_map(|entry| Some(entry.ok()?.path()));
    let objects = objects.filter(|path| path.extension().is_some_and(|end| end == "o"));
    let archive = out.join("libkernels.a");
    let _ = std::fs::remove_file(&archive);
    run(Command::new("ar").arg("crs").arg(&archive).args(objects));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=kernels");
    println!("cargo:rustc-link-lib=dylib=stdc++");
}

fn run(command: &mut Command) {
    let status = command.status().expect("a compiler for C++ is installed");
    assert!(status.success(), "{command:?} failed");
}
