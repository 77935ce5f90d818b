//! Which algorithm runs an operation: the one that was asked for, else by a table over sizes.

use super::algo::Algo;
use super::algo::Verb;
use crate::backend::KernelWish;
use crate::base::Bytes;
use crate::base::Fault;
use crate::record::Choice;
use crate::record::Shape;
use crate::record::TUNING_SCHEMA;
use crate::record::Tuning;

/// An algorithm, and with what grid where that is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) algo: Algo,
    pub(super) blocks: Option<u32>,
    pub(super) block_threads: Option<u32>,
}

/// A line of a table that was read.
#[derive(Debug, Clone, Copy)]
struct Entry {
    verb: Verb,
    up_to: u64,
    chosen: Chosen,
}

/// How algorithms are chosen in one session.
#[derive(Debug)]
pub(super) struct Chooser {
    forced: Option<Algo>,
    blocks: Option<u32>,
    block_threads: Option<u32>,
    table: Vec<Entry>,
}

impl Chooser {
    /// # Errors
    /// `Usage` for a name that is none, or a table that cannot be read.
    pub(super) fn new(wish: &KernelWish, shape: &Shape) -> Result<Self, Fault> {
        let forced = wish.algo.as_deref().map(Algo::by_name).transpose()?;
        let built_in;
        let tuning = if let Some(tuning) = &wish.tuning {
            tuning
        } else {
            built_in = built_in_table(shape);
            &built_in
        };
        Ok(Self {
            forced,
            blocks: wish.blocks,
            block_threads: wish.block_threads,
            table: entries(tuning)?,
        })
    }

    /// What runs `verb` with `bytes` of size, of which `part` go from one rank to another, with
    /// launches of `most_blocks`.
    ///
    /// # Errors
    /// `Unsupported` where the algorithm that was asked for does not do it.
    pub(super) fn choose(
        &self,
        verb: Verb,
        bytes: u64,
        part: impl Fn(Algo) -> u64,
        most_blocks: u32,
    ) -> Result<Chosen, Fault> {
        let most_blocks = self.blocks.unwrap_or(most_blocks).min(most_blocks);
        let reaches = |algo: Algo| {
            algo.reach(most_blocks)
                .is_none_or(|reach| part(algo) <= reach)
        };
        let mut chosen = match self.forced {
            Some(algo) if !algo.verbs().contains(&verb) => return Err(no_such_thing(algo, verb)),
            Some(algo) if !reaches(algo) => {
                return Err(too_far(algo, bytes, algo.reach(most_blocks)));
            }
            Some(algo) => Chosen {
                algo,
                blocks: None,
                block_threads: None,
            },
            None => self.look_up(verb, bytes, reaches),
        };
        chosen.blocks = self.blocks.or(chosen.blocks);
        chosen.block_threads = self.block_threads.or(chosen.block_threads);
        Ok(chosen)
    }

    /// The first line that is for this size and can do it, else what does any size.
    fn look_up(&self, verb: Verb, bytes: u64, reaches: impl Fn(Algo) -> bool) -> Chosen {
        let of_verb = || self.table.iter().filter(|entry| entry.verb == verb);
        let fits = |entry: &&Entry| reaches(entry.chosen.algo);
        let found = of_verb().filter(|entry| bytes <= entry.up_to).find(fits);
        let found = found.or_else(|| of_verb().rev().find(fits));
        found.map_or_else(|| last_resort(verb), |entry| entry.chosen)
    }
}

/// What does any size, for a table that says nothing.
fn last_resort(verb: Verb) -> Chosen {
    let algo = match verb {
        Verb::AllReduce => Algo::TwoShot,
        Verb::ReduceScatter => Algo::Pull,
        Verb::AllGather | Verb::AllToAll | Verb::Broadcast => Algo::Put,
    };
    Chosen {
        algo,
        blocks: None,
        block_threads: None,
    }
}

fn no_such_thing(algo: Algo, verb: Verb) -> Fault {
    let able: Vec<_> = Algo::ALL
        .iter()
        .filter(|algo| algo.verbs().contains(&verb) && algo.moves_data())
        .map(|algo| algo.name())
        .collect();
    Fault::unsupported(format!(
        "algorithm `{}` does not run {}; what does: {}",
        algo.name(),
        verb.name(),
        able.join(", ")
    ))
}

fn too_far(algo: Algo, bytes: u64, reach: Option<u64>) -> Fault {
    Fault::unsupported(format!(
        "{} is beyond algorithm `{}`, which takes {} from one rank to another here",
        Bytes(bytes),
        algo.name(),
        Bytes(reach.unwrap_or(0))
    ))
}

fn entries(tuning: &Tuning) -> Result<Vec<Entry>, Fault> {
    if tuning.tuning_schema != TUNING_SCHEMA {
        return Err(Fault::usage(format!(
            "the table of algorithms has schema {}; this version reads {TUNING_SCHEMA}",
            tuning.tuning_schema
        )));
    }
    tuning.choices.iter().map(entry).collect()
}

fn entry(choice: &Choice) -> Result<Entry, Fault> {
    let algo = Algo::by_name(&choice.algo)?;
    let verb = Verb::by_name(&choice.collective).filter(|verb| algo.verbs().contains(verb));
    let Some(verb) = verb.filter(|_| algo.moves_data()) else {
        return Err(Fault::usage(format!(
            "the table of algorithms has `{}` for `{}`, which it does not run",
            choice.algo, choice.collective
        )));
    };
    Ok(Entry {
        verb,
        up_to: choice.up_to_bytes,
        chosen: Chosen {
            algo,
            blocks: choice.blocks,
            block_threads: choice.block_threads,
        },
    })
}

/// What a reader must know of how algorithms are chosen in a world of `world` ranks on GPUs called `gpu`.
pub(super) fn note(wish: &KernelWish, world: u32, gpu: Option<&str>) -> Option<String> {
    if let Some(algo) = &wish.algo {
        return Some(format!("every operation by algorithm `{algo}`"));
    }
    let Some(Tuning { shape, .. }) = &wish.tuning else {
        return Some(
            "algorithms by the built-in table; `ncclbench tune` measures one for this machine"
                .to_owned(),
        );
    };
    if shape.world != world {
        return Some(format!(
            "algorithms by a table that was measured with {} ranks, and this world has {world}",
            shape.world
        ));
    }
    let other = gpu.filter(|gpu| *gpu != shape.gpu)?;
    Some(format!(
        "algorithms by a table that was measured on {}, and this is {other}",
        shape.gpu
    ))
}

/// Up to how many KiB of size an algorithm is taken; the last for all that is larger.
type Lines = &'static [(u64, Algo)];

const REST: u64 = u64::MAX >> 10;

/// What is taken where no table was given.
///
/// # Source
/// Ranks that share a GPU: `results/2026-11-30-kernels-one-gpu`. Ranks with a GPU each: nothing was
/// measured; the limits are where published measurements of the same algorithms over NVLink change
/// over (`docs/kernels.md`).
fn built_in(verb: Verb, shape: &Shape) -> Lines {
    use Algo::{HandOut, Ll, LlTwoShot, OneShot, Pull, Put, TwoShot};
    let shared = shape.ranks_per_gpu > 1;
    match (verb, shared, shape.world) {
        (Verb::AllReduce, true, 0..=2) => &[(128, Ll), (512, OneShot), (REST, TwoShot)],
        (Verb::AllReduce, true, 3..=4) => &[(64, Ll), (512, OneShot), (REST, TwoShot)],
        (Verb::AllReduce, true, _) => &[(32, Ll), (128, OneShot), (REST, TwoShot)],
        (Verb::AllReduce, false, 0..=2) => &[(32, Ll), (REST, OneShot)],
        (Verb::AllReduce, false, 3..=4) => &[(16, Ll), (512, OneShot), (REST, TwoShot)],
        (Verb::AllReduce, false, _) => &[(16, Ll), (512, LlTwoShot), (REST, TwoShot)],
        (Verb::ReduceScatter, ..) => &[(128, Ll), (REST, Pull)],
        (Verb::AllGather, true, 0..=4) => &[(256, Ll), (REST, Put)],
        (Verb::AllGather, true, _) => &[(8, Ll), (REST, Put)],
        (Verb::AllGather, false, _) => &[(128, Ll), (REST, Put)],
        (Verb::AllToAll, true, 0..=2) => &[(256, Ll), (REST, Pull)],
        (Verb::AllToAll, true, 3..=4) => &[(32, Ll), (REST, Pull)],
        (Verb::AllToAll, true, _) => &[(8, Ll), (REST, Pull)],
        (Verb::AllToAll, false, _) => &[(64, Ll), (REST, Put)],
        (Verb::Broadcast, ..) => &[(128, Ll), (512, Put), (REST, HandOut)],
    }
}

/// The same as a table.
pub(super) fn built_in_table(shape: &Shape) -> Tuning {
    let line = |verb: Verb, &(kib, algo): &(u64, Algo)| Choice {
        collective: verb.name().to_owned(),
        up_to_bytes: if kib == REST { u64::MAX } else { kib << 10 },
        algo: algo.name().to_owned(),
        blocks: None,
        block_threads: None,
    };
    let lines = Verb::ALL.iter().flat_map(|&verb| {
        let lines = built_in(verb, shape).iter();
        lines.map(move |entry| line(verb, entry))
    });
    Tuning {
        tuning_schema: TUNING_SCHEMA,
        shape: shape.clone(),
        choices: lines.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(world: u32) -> Shape {
        Shape {
            world,
            ..Shape::default()
        }
    }

    fn chooser(wish: &KernelWish) -> Chooser {
        Chooser::new(wish, &shape(4)).unwrap()
    }

    #[test]
    fn the_built_in_table_serves_every_collective_and_size_of_every_world() {
        for world in 1..=16 {
            let chooser = Chooser::new(&KernelWish::default(), &shape(world)).unwrap();
            for &verb in Verb::ALL {
                for bytes in [1, 1 << 10, 1 << 20, 1 << 40] {
                    let chosen = chooser.choose(verb, bytes, |_| bytes, 1).unwrap();
                    assert!(chosen.algo.verbs().contains(&verb) && chosen.algo.moves_data());
                    assert!(chosen.algo.reach(1).is_none_or(|reach| bytes <= reach));
                }
            }
        }
    }

    #[test]
    fn a_table_of_another_shape_says_so() {
        let with = |tuning| KernelWish {
            tuning,
            ..KernelWish::default()
        };
        let said = note(&with(None), 4, None).unwrap();
        assert!(said.contains("built-in"), "{said}");
        let mut table = built_in_table(&shape(4));
        table.shape.gpu = "a GPU".to_owned();
        let measured = with(Some(table));
        assert_eq!(note(&measured, 4, Some("a GPU")), None);
        let said = note(&measured, 8, Some("a GPU")).unwrap();
        assert!(
            said.contains("with 4 ranks, and this world has 8"),
            "{said}"
        );
        let said = note(&measured, 4, Some("another")).unwrap();
        assert!(
            said.contains("measured on a GPU, and this is another"),
            "{said}"
        );
    }

    #[test]
    fn what_was_asked_for_is_taken_or_refused_with_the_reason() {
        let asked = |name: &str| {
            chooser(&KernelWish {
                algo: Some(name.to_owned()),
                ..KernelWish::default()
            })
        };
        let ll = asked("ll");
        let chosen = ll.choose(Verb::AllReduce, 64, |_| 64, 2).unwrap();
        assert_eq!(chosen.algo, Algo::Ll);
        let far = ll.choose(Verb::AllReduce, 1 << 20, |_| 1 << 20, 2);
        let fault = far.unwrap_err();
        assert!(fault.message.contains("beyond algorithm `ll`"), "{fault}");
        let wrong = asked("put").choose(Verb::AllReduce, 64, |_| 64, 2);
        let fault = wrong.unwrap_err();
        assert!(
            fault.message.contains("ll, oneshot, ll-twoshot, twoshot"),
            "{fault}"
        );
    }

    #[test]
    fn a_table_that_was_measured_replaces_the_built_in_one() {
        let mut tuning = built_in_table(&shape(4));
        tuning
            .choices
            .retain(|choice| choice.collective != "alltoall");
        tuning.choices.push(Choice {
            collective: "alltoall".to_owned(),
            up_to_bytes: 4096,
            algo: "pull".to_owned(),
            blocks: Some(3),
            block_threads: None,
        });
        let wish = |tuning: Tuning| KernelWish {
            tuning: Some(tuning),
            ..KernelWish::default()
        };
        let measured = chooser(&wish(tuning.clone()));
        for bytes in [64, 1 << 20] {
            let chosen = measured
                .choose(Verb::AllToAll, bytes, |_| bytes, 9)
                .unwrap();
            assert_eq!((chosen.algo, chosen.blocks), (Algo::Pull, Some(3)));
        }
        tuning.choices[0].algo = "put".to_owned();
        assert!(Chooser::new(&wish(tuning.clone()), &shape(4)).is_err());
        tuning.tuning_schema = 9;
        assert!(Chooser::new(&wish(tuning), &shape(4)).is_err());
    }
}
