//! As which program this one was called: by its own name, or by that of a program of nccl-tests.
//!
//! Links to this program under those names make scripts written for nccl-tests run it.

use super::options::Options;
use crate::base::Fault;
use crate::collective;
use crate::collective::Collective;
use clap::CommandFactory as _;
use std::ffi::OsString;
use std::path::Path;

/// What a program of nccl-tests is called behind its collective: `all_reduce_perf`.
const PERF: &str = "_perf";

/// As which program this one was called.
#[derive(Debug, Clone, Default)]
pub enum Guise {
    /// As itself.
    #[default]
    Own,
    /// As one of nccl-tests, whose options, defaults, output and exit codes are then meant.
    NcclTests {
        /// The name, as its output shows it: `all_reduce_perf_mpi`.
        program: String,
        /// What the name measures.
        what: &'static dyn Collective,
    },
}

impl Guise {
    /// Reads a command line's first word: the name after the last slash, with or without what
    /// nccl-tests' builds append (`_mpi`).
    pub fn of(program: Option<&OsString>) -> Self {
        let name = program.and_then(|path| Path::new(path).file_name());
        let Some(name) = name.and_then(|name| name.to_str()) else {
            return Self::Own;
        };
        let means = |what: &&&dyn Collective| {
            let rest = name.strip_prefix(what.nccl_tests_name());
            rest.is_some_and(|rest| rest.starts_with(PERF))
        };
        match collective::ALL.iter().find(means) {
            None => Self::Own,
            Some(&what) => Self::NcclTests {
                program: name.to_owned(),
                what,
            },
        }
    }

    /// Whether nccl-tests' ways are meant.
    pub fn is_nccl_tests(&self) -> bool {
        matches!(self, Self::NcclTests { .. })
    }

    /// The program that the table names.
    pub fn program(&self, what: &dyn Collective) -> String {
        match self {
            Self::Own => format!("{}{PERF}", what.nccl_tests_name()),
            Self::NcclTests { program, .. } => program.clone(),
        }
    }
}

/// The names of links to this program, each as nccl-tests calls its own.
pub(super) fn link_names() -> impl Iterator<Item = String> {
    let names = collective::ALL.iter();
    names.map(|what| format!("{}{PERF}", what.nccl_tests_name()))
}

/// `argv` with nccl-tests' long options written out, which may be cut there as long as they are
/// unique among nccl-tests' own.
///
/// # Errors
/// `Usage` for a word that could be several.
pub(super) fn written_out(argv: &[OsString]) -> Result<Vec<OsString>, Fault> {
    let command = Options::command();
    let (mut all, mut theirs) = (vec!["help"], vec!["help"]);
    for option in command.get_arguments() {
        let names = option.get_long_and_visible_aliases().unwrap_or_default();
        let names = names
            .into_iter()
            .chain(option.get_all_aliases().unwrap_or_default());
        all.extend(names);
        theirs.extend(option.get_short().and(option.get_long()));
    }
    let write_out = |word: &OsString| match word.to_str().and_then(|word| word.strip_prefix("--")) {
        None | Some("") => Ok(word.clone()),
        Some(word) => whole_name(word, &all, &theirs),
    };
    argv.iter().map(write_out).collect()
}

/// `--NAME` or `--NAME=VALUE` of what may be cut; what is no beginning of any name stays as it is.
fn whole_name(word: &str, all: &[&str], theirs: &[&str]) -> Result<OsString, Fault> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, format!("={value}")),
        None => (word, String::new()),
    };
    let begun: Vec<&str> = theirs
        .iter()
        .copied()
        .filter(|one| one.starts_with(name))
        .collect();
    match begun.as_slice() {
        _ if all.contains(&name) => Ok(format!("--{word}").into()),
        [] => Ok(format!("--{word}").into()),
        [one] => Ok(format!("--{one}{value}").into()),
        several => Err(Fault::usage(format!(
            "`--{name}` could be `--{}`",
            several.join("` or `--")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guise(path: &str) -> Guise {
        Guise::of(Some(&path.into()))
    }

    #[test]
    fn every_program_of_nccl_tests_is_known_with_any_suffix_and_any_path() {
        for what in collective::ALL {
            for (before, behind) in [("", ""), ("/opt/x/build/", "_mpi"), ("./", "_perf2.bin")] {
                let name = format!("{}_perf{behind}", what.nccl_tests_name());
                match guise(&format!("{before}{name}")) {
                    Guise::NcclTests {
                        program,
                        what: found,
                    } => {
                        assert_eq!((program, found.name()), (name, what.name()));
                    }
                    Guise::Own => panic!("{name}"),
                }
            }
        }
    }

    #[test]
    fn other_names_are_the_programs_own() {
        for name in [
            "ncclbench",
            "/usr/bin/ncclbench-0.1",
            "all_reduce",
            "perf",
            "",
            "/",
            "xall_reduce_perf",
        ] {
            assert!(!guise(name).is_nccl_tests(), "{name}");
        }
        assert!(!Guise::of(None).is_nccl_tests());
    }

    #[test]
    fn a_cut_option_is_written_out_where_it_is_one_of_nccl_tests_and_unique() {
        let read =
            |word: &str| written_out(&[word.into()]).map(|all| all[0].to_str().unwrap().to_owned());
        for (cut, whole) in [
            ("--minb", "--minbytes"),
            ("--minb=8", "--minbytes=8"),
            ("--time", "--timeout"),
            ("--timeout-op", "--timeout-op"),
            ("--warmup-iters", "--warmup-iters"),
            ("--op", "--op"),
            ("--frobnicate", "--frobnicate"),
            ("--", "--"),
            ("-b", "-b"),
            ("--hel", "--help"),
        ] {
            assert_eq!(read(cut).as_deref(), Ok(whole), "{cut}");
        }
        let fault = read("--step").unwrap_err();
        assert!(
            fault.message.contains("--stepfactor` or `--stepbytes"),
            "{fault}"
        );
    }
}
