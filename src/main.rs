//! The program: argv in, exit code out.

fn main() -> std::process::ExitCode {
    ncclbench::app::run(std::env::args_os()).into()
}
