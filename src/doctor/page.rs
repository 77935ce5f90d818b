//! `docs/doctor.md`, made of the checks themselves, and the list that `--list` prints. Pure.

use super::ALL;
use super::STORED;
use super::Scope;
use super::scene;
use std::fmt::Write as _;

/// Each check on a line.
pub fn list() -> String {
    let widest = ALL.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let lines = ALL
        .iter()
        .map(|check| format!("{:widest$}  {}\n", check.name, check.what));
    lines.collect()
}

/// The whole page.
pub fn page() -> String {
    let mut text = OPENING.to_owned();
    for check in ALL {
        // writing to a String cannot fail
        let _ = write!(
            text,
            "\n### `{}`\n\n- What: {}; in each {}.\n- Why: {}\n- Read from: {}.\n- Hint: {}.\n",
            check.name,
            check.what,
            match check.scope {
                Scope::Host => "host",
                Scope::Process => "process",
            },
            check.why,
            check.reads,
            check.hint
        );
    }
    text + &under_a_root()
}

const OPENING: &str = "\
# What is wrong with a machine

<!-- Made by `ncclbench doctor --explain`; change the checks in src/doctor/checks and write it anew. -->

`ncclbench doctor` looks at a machine before and after a run and says what will make runs fail, slow or wrong.
It starts no GPU work and changes nothing.

```
ncclbench doctor                                                    # this machine
srun -N64 --ntasks-per-node=8 --gres=gpu:8 --cpus-per-task=24 ncclbench doctor
ncclbench doctor --save node17.json                                 # the acceptance record of a node
ncclbench doctor --against node17.json                              # later: what has changed
ncclbench doctor --only nccl,net-plugin,efa-provider --json
```

Under a launcher start it exactly as a run is to be started: each process looks at what is its own (variables, CPU mask, limits, libraries), the first of each host at the host, and the first of all prints one table.
Hosts are compared: what differs between them is named with the hosts that have which value, those of the minority first.

| outcome | meaning |
|---|---|
| ok | as it should be |
| warning | it may cost speed, or may become trouble |
| failure | runs will fail, be wrong or be several times slower |
| unknown | it could not be looked at, with the reason; never a guess |
| not applicable | there is nothing here that the check is about |

The exit code is 0, or 3 if there is a failure; 2 is a wrong option, 4 that the processes did not meet.
`--json` prints one object: `hosts`, `findings` (each with `check`, `health`, `evidence`, `shared`, `own`, `hint` and the processes that made it), `drift`, `changes`.
`--save FILE` keeps every host's findings as an acceptance record, and `--against FILE` names each value and each outcome that is no longer what the record has; a record of one host is also what others are held against.
A change by itself does not alter the exit code.

Not looked at, because it cannot be seen from inside a machine: security groups (EFA needs a rule that names the group itself, both ways), availability zones and placement groups.
None of the checks of EFA was run on a machine with EFA; they are held against such machines as they are written down in `tests/doctor/`.

## Checks
";

const ELSEWHERE: &str = "
## A machine that is elsewhere

`--root DIR` looks at a copy of a machine: `DIR/proc`, `DIR/sys`, `DIR/etc`, `DIR/dev` and so on, with links kept as links.
Its variables are those of `DIR/proc/self/environ`, ended by NUL as the kernel has them or one a line.
Nothing of the machine that ncclbench runs on is asked; what other programs would say is read from files:

| file | holds the output of |
|---|---|
";

const STORED_ONES: &str = "| `doctor/getent` | `getent ahosts NAME`, with the host's own name |
| `doctor/df` | `df -Pk` |

A file whose first line is `exit CODE` is that of a program that failed; its words are on the next line.
A file that is not there makes its check unknown.
";

fn under_a_root() -> String {
    let row = |asked: &scene::Asked| {
        let call = [&[asked.program], asked.arguments].concat().join(" ");
        format!("| `{STORED}/{}` | `{call}` |\n", asked.file)
    };
    let rows: String = scene::ASKED.iter().map(row).collect();
    format!("{ELSEWHERE}{rows}{STORED_ONES}")
}
