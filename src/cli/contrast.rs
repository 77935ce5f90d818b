//! `ncclbench contrast`: its own options, the arms, and the command line that each arm runs.

use super::args::Args;
use super::environment;
use super::values::{label, whole};
use super::{Parsed, guise};
use crate::base::Fault;
use crate::launcher;
use crate::record::contrast::Arm;
use clap::{CommandFactory as _, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

/// The subcommand.
pub(super) const COMMAND: super::Command = super::Command {
    name: "contrast",
    summary: "the same sweep with several settings side by side: EFA against TCP",
    help,
    parse: |argv, _| parse(argv),
};

/// `ncclbench contrast …`, read and checked.
#[derive(Debug, Clone)]
pub struct ContrastArgs {
    /// The arms; the others are held against the first.
    pub arms: Vec<Arm>,
    /// How often each arm is run.
    pub rounds: u32,
    /// What starts the processes of an arm; none where every process of this one starts a child.
    pub start: Vec<String>,
    /// Where the runs' files are kept.
    pub save: Option<PathBuf>,
    /// Print data instead of text.
    pub json: bool,
    /// The run, as each arm does it.
    pub run: Box<Args>,
    /// Its arguments, less what says how the processes were started.
    pub words: Vec<String>,
    /// The command line, as given.
    pub argv: Vec<String>,
}

/// Runs the same sweep once with each of several settings and shows them side by side
///
/// Without `--arm` the settings are two: as it is, and with the network plugin off
/// (`NCCL_NET_PLUGIN=none NCCL_NET=Socket`; on backend `mpi` Open MPI over TCP), which shows what EFA
/// is worth here. Every arm runs in
/// fresh processes, because NCCL reads its variables once; all else is as for a run: start it under
/// the same launcher, with the options of the collective.
#[derive(Debug, Parser)]
#[command(
    name = "ncclbench contrast",
    disable_version_flag = true,
    args_override_self = true,
    term_width = 100,
    override_usage = "ncclbench contrast COLLECTIVE [OPTIONS OF A RUN] [OPTIONS]",
    after_help = AFTER
)]
struct Options {
    /// An arm: its name and its variables. A variable without a value, as `-NCCL_ALGO`, is removed;
    /// what has no `=` belongs to the value before it. With one arm only, it is held against the run
    /// as it is
    #[arg(long, value_name = "NAME[=VAR=VALUE,...]", action = clap::ArgAction::Append)]
    arm: Vec<String>,
    /// How often each arm is run, by turns; the medians are shown
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1, 1000))]
    rounds: u32,
    /// Start each arm's processes by this command, e.g. `mpirun -n 16`, from one process of this
    /// program. Its words are separated by blanks; the runs' files must be seen by both
    #[arg(long, value_name = "COMMAND", value_parser = label)]
    start: Option<String>,
    /// Keep the runs' files in this folder, as `NAME-ROUND.jsonl`
    #[arg(long, value_name = "DIR", value_parser = label)]
    save: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "\
Examples:
  srun -N2 --ntasks-per-node=8 ncclbench contrast allreduce -b 1M -e 1G
  ncclbench contrast alltoall -e 64M --spawn 8 --arm ll128=NCCL_PROTO=LL128 --arm simple=NCCL_PROTO=Simple
  ncclbench contrast allreduce --start 'srun -N2 --ntasks-per-node=8' --save /shared/runs
  ncclbench contrast allreduce -g 8 --arm tree=NCCL_ALGO=Tree --rounds 5

The arms' own tables go to stderr, the comparison to stdout. A ratio is the arm's time over the first
arm's: 20 means twenty times as long.

Exit codes are those of the arms' runs, the most severe; an arm that could not run ends it.
";

/// Our options with a value, our options without, and options of a run that say how this process was
/// started, with a value.
const OWN: [&str; 4] = ["--arm", "--rounds", "--start", "--save"];
const FLAGS: [&str; 3] = ["--json", "--help", "-h"];
const LAUNCH: [&str; 7] = [
    "--spawn",
    "--launcher",
    "--rank",
    "--world",
    "--rendezvous",
    "--secret-file",
    "--pmix-lib",
];

/// Reads the whole command line, the program's name included.
fn parse(argv: &[OsString]) -> Result<Parsed, Fault> {
    let argv: Vec<String> = argv
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let given = argv.get(2..).unwrap_or_default();
    let (own, run) = part(given, &OWN, &FLAGS);
    let named = std::iter::once(&argv[0]).chain(&own);
    let options = match Options::try_parse_from(named) {
        Ok(options) => options,
        Err(error) => return super::text_or_fault(&error),
    };
    let line: Vec<OsString> = argv[..1].iter().chain(&run).map(OsString::from).collect();
    let env = environment::variables();
    let plain = guise::Guise::of(None);
    let mut args = match super::measure(&line, &plain, &env)? {
        Parsed::Measure(args) => args,
        other => return Ok(other),
    };
    refuse_outputs(&args)?;
    let mut words = part(&run, &LAUNCH, &[]).1;
    let start = options.start.unwrap_or_default();
    if start.is_empty() && args.backend.name() == "mpi" {
        return Err(Fault::usage(
            "MPI starts once in a launched process, so that backend `mpi` needs `--start`",
        )
        .hint("run `ncclbench contrast … --start 'mpirun -n 16' --launcher mpi` without mpirun"));
    }
    if !start.is_empty() {
        (args.launch, words) = (alone(&args.launch)?, run);
    }
    Ok(Parsed::Contrast(Box::new(ContrastArgs {
        arms: arms(&options.arm, args.backend.name())?,
        rounds: options.rounds,
        save: options.save.map(PathBuf::from),
        json: options.json,
        run: args,
        start: start.split_whitespace().map(str::to_owned).collect(),
        words,
        argv,
    })))
}

/// Words that belong to some options, and the others.
fn part(words: &[String], valued: &[&str], flags: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let is_joined = |name: &&str| {
            word.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('='))
        };
        if valued.contains(&word.as_str()) {
            taken.push(word.clone());
            taken.extend(words.next().cloned());
        } else if flags.contains(&word.as_str()) || valued.iter().any(is_joined) {
            taken.push(word.clone());
        } else {
            left.push(word.clone());
        }
    }
    (taken, left)
}

/// The launch of the one process that has a command start the others; what else is said of a launch is
/// theirs.
fn alone(asked: &launcher::Wish) -> Result<launcher::Wish, Fault> {
    if asked.spawn.is_some() || asked.rank.is_some() {
        return Err(Fault::usage(
            "`--start` starts the processes; `--spawn` and `--rank` say that they are started otherwise",
        ));
    }
    Ok(launcher::Wish {
        launcher: None,
        rank: Some(0),
        world: Some(1),
        ..asked.clone()
    })
}

fn refuse_outputs(args: &Args) -> Result<(), Fault> {
    let asked = [
        (args.output.is_some(), "--output"),
        (args.json.is_some(), "-J"),
        (args.dry_run, "--dry-run"),
    ];
    match asked.iter().find(|(is_asked, _)| *is_asked) {
        None => Ok(()),
        Some((_, option)) => Err(Fault::usage(format!(
            "`{option}` is for one run, and a contrast has several"
        ))
        .hint("keep the runs' files with `--save DIR`")),
    }
}

/// The arms that are asked for, or the default ones.
fn arms(asked: &[String], backend: &str) -> Result<Vec<Arm>, Fault> {
    let as_is = Arm {
        name: "as-is".to_owned(),
        ..Arm::default()
    };
    if asked.is_empty() {
        let off = match backend {
            "nccl" => [("NCCL_NET", "Socket"), ("NCCL_NET_PLUGIN", "none")],
            "mpi" => [("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_btl", "tcp,self")],
            other => {
                return Err(Fault::usage(format!(
                    "the default arms are for backends `nccl` and `mpi`; give `--arm` for `{other}`"
                )));
            }
        };
        let tcp = Arm {
            name: "tcp".to_owned(),
            set: off
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            unset: Vec::new(),
        };
        return Ok(vec![as_is, tcp]);
    }
    let mut arms: Vec<Arm> = asked
        .iter()
        .map(|text| arm(text))
        .collect::<Result<_, _>>()?;
    if arms.len() == 1 {
        arms.insert(0, as_is);
    }
    let mut names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Fault::usage(format!("two arms are called `{}`", pair[0]))),
        None => Ok(arms),
    }
}

/// `NAME`, `NAME=VAR=VALUE,VAR=VALUE,-VAR`.
fn arm(text: &str) -> Result<Arm, Fault> {
    let (name, rest) = text.split_once('=').unwrap_or((text, ""));
    let refuse = |what: &str| {
        Fault::usage(format!(
            "`--arm {text}`: {what}; expected NAME=VAR=VALUE,VAR=VALUE, e.g. `tcp=NCCL_NET=Socket,NCCL_NET_PLUGIN=none`"
        ))
    };
    let plain = |name: &str| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        !name.is_empty() && name.bytes().all(letters)
    };
    if !plain(name) {
        return Err(refuse("a name has letters, digits, `_`, `-` and `.`"));
    }
    let mut arm = Arm {
        name: name.to_owned(),
        ..Arm::default()
    };
    let mut last: Option<String> = None;
    for piece in rest.split(',').filter(|piece| !piece.is_empty()) {
        match (piece.split_once('='), piece.strip_prefix('-'), &last) {
            (Some((variable, value)), ..) if plain(variable) => {
                arm.set.insert(variable.to_owned(), value.to_owned());
                last = Some(variable.to_owned());
            }
            (None, Some(variable), _) if plain(variable) => arm.unset.push(variable.to_owned()),
            (None, None, Some(before)) => {
                let value = arm.set.entry(before.clone()).or_default();
                value.push(',');
                value.push_str(piece);
            }
            _ => return Err(refuse(&format!("`{piece}` is no variable"))),
        }
    }
    Ok(arm)
}

/// The page of `help contrast`.
fn help() -> String {
    Options::command().render_long_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(arm: &Arm) -> Vec<(&str, &str)> {
        arm.set
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    #[test]
    fn an_arm_has_variables_values_with_commas_and_variables_that_are_removed() {
        let arm = arm("tcp=A=1,B=tcp,self,-C,D=").unwrap();
        assert_eq!(set(&arm), [("A", "1"), ("B", "tcp,self"), ("D", "")]);
        assert_eq!(
            (arm.name.as_str(), arm.unset.as_slice()),
            ("tcp", &["C".to_owned()][..])
        );
        for text in ["", "=A=1", "a b=A=1", "x=A", "x==1"] {
            assert!(super::arm(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_arm_is_held_against_the_run_as_it_is_and_none_is_efa_against_tcp() {
        let names = |asked: &[&str], backend| {
            let asked: Vec<String> = asked.iter().map(|&text| text.to_owned()).collect();
            arms(&asked, backend)
                .map(|arms| arms.into_iter().map(|arm| arm.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[], "nccl").unwrap(), ["as-is", "tcp"]);
        assert_eq!(names(&["x=A=1"], "host").unwrap(), ["as-is", "x"]);
        assert_eq!(names(&["a", "b"], "host").unwrap(), ["a", "b"]);
        assert!(names(&[], "host").is_err());
        assert!(names(&["a", "a"], "host").is_err());
    }

    #[test]
    fn what_belongs_to_the_contrast_or_to_the_launch_is_taken_out() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let given = words("allreduce --arm a=B=1 -b 8 --rounds=3 --json --rank 0 --spawn=2 -n 5");
        let (own, run) = part(&given, &OWN, &FLAGS);
        assert_eq!(own, words("--arm a=B=1 --rounds=3 --json"));
        assert_eq!(part(&run, &LAUNCH, &[]).1, words("allreduce -b 8 -n 5"));
    }
}
