//! The kernels as a program on the CPU, and scripts for it.

use ncclbench::ffi::kernels::{FUNCTIONS, Launch};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The kernels as a program; see `tests/kernels/host.cpp`.
fn compiled() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(compile)
}

fn compile() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels-on-the-cpu");
    let compiler = Command::new("g++")
        .args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .args(["-x", "c++"])
        .arg(root.join("tests/kernels/host.cpp"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap_or_else(|error| panic!("this test needs g++, which cannot be run: {error}"));
    let log = String::from_utf8_lossy(&compiler.stderr);
    assert!(compiler.status.success(), "g++ refuses the kernels:\n{log}");
    program
}

/// A list of things for the program to do, and how much it will answer.
#[derive(Default)]
pub(crate) struct Script {
    bytes: Vec<u8>,
    answers: Vec<usize>,
}

impl Script {
    fn numbers(&mut self, numbers: &[u64]) {
        self.bytes
            .extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    }

    /// Allocates buffer `id`.
    pub(crate) fn buffer(&mut self, id: u64, contents: &[u8]) {
        self.numbers(&[1, id, contents.len() as u64]);
        self.bytes.extend(contents);
    }

    pub(crate) fn launch(&mut self, launch: &Launch) {
        let function = FUNCTIONS
            .iter()
            .position(|f| *f == launch.function)
            .unwrap();
        let (x, y) = launch.grid;
        let words = launch.params.len() as u64;
        self.numbers(&[
            2,
            function as u64,
            x.into(),
            y.into(),
            launch.block.into(),
            words,
        ]);
        self.numbers(&launch.params);
    }

    /// Asks for buffer `id`, which is `len` bytes long.
    pub(crate) fn read(&mut self, id: u64, len: usize) {
        self.numbers(&[3, id]);
        self.answers.push(len);
    }

    /// Runs it; the answers in order.
    pub(crate) fn run(self) -> Vec<Vec<u8>> {
        let mut child = Command::new(compiled())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = self.bytes;
        let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "the kernels fail on the CPU:\n{log}"
        );
        let mut rest = &output.stdout[..];
        self.answers
            .into_iter()
            .map(|len| {
                let (answer, behind) = rest.split_at(len);
                rest = behind;
                answer.to_vec()
            })
            .collect()
    }
}
