//! Before the first measurement the checker is shown damage that was planted, and must find it: a
//! checker that cannot fail proves nothing.
//!
//! Planting needs no collective: a rank's own input, copied to itself, is a right output, and a
//! sum over a world of one is its input.

use super::Engine;
use crate::base::Fault;
use crate::base::Kind;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::base::pattern::Recipe;
use crate::base::pattern::SEED_STEP;
use crate::base::pattern::Source;
use crate::base::pattern::Stretch;
use crate::plan::Job;
use crate::record::Mismatches;

/// Elements of a planted output: odd, so that a kernel's edges take part.
const ELEMENTS: u64 = 4099;
/// The least that damage can be planted in.
const FEWEST: u64 = 4;
/// Narrower elements have so few values that damage looks like other damage.
const BYTES_FOR_A_CLASS: u64 = 4;

/// Damage that is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    /// None: the checker must be silent.
    None,
    /// The middle elements were never written.
    Unwritten,
    /// All is left over from the check before.
    Stale,
    /// All lies one element too far.
    Shifted,
}

const PLANTED: [Damage; 4] = [
    Damage::None,
    Damage::Unwritten,
    Damage::Stale,
    Damage::Shifted,
];

impl Damage {
    /// What the class of the first wrong element must begin with.
    fn class(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Unwritten => "unwritten",
            Self::Stale => "stale",
            Self::Shifted => "shifted",
        }
    }
}

impl Engine<'_> {
    /// Plants damage in the output of each lane and requires the checker to find it. Does nothing
    /// where nothing is checked.
    ///
    /// # Errors
    /// `Call` if the checker is silent about damage, sees some where there is none, or calls it by
    /// another name.
    pub fn prove_checker(&mut self, job: &Job) -> Result<(), Fault> {
        if job.case.checks == 0 {
            return Ok(());
        }
        self.plane.pulse().enter("testing the checker");
        for lane in 0..self.lanes.len() {
            for recipe in self.recipes(job, lane) {
                for damage in PLANTED {
                    self.prove(lane, &recipe, damage)?;
                }
            }
        }
        Ok(())
    }

    /// Copies on every lane; a sum on the first rank, whose input is the result in a world of one.
    fn recipes(&mut self, job: &Job, lane: usize) -> Vec<Recipe> {
        let copy = Recipe {
            redop: None,
            ..self.draw(job)
        };
        let sum = Recipe {
            redop: Some(RedOp::Sum),
            world: World(1),
            ..copy
        };
        if self.lanes[lane].rank.0 == 0 {
            vec![copy, sum]
        } else {
            vec![copy]
        }
    }

    fn prove(&mut self, lane: usize, recipe: &Recipe, damage: Damage) -> Result<(), Fault> {
        let width = recipe.dtype.size();
        let elements = ELEMENTS.min(self.capacity.0 / width);
        if elements < FEWEST {
            return Ok(());
        }
        let output = Span::whole(
            self.lanes[lane].output(),
            crate::base::Bytes(elements * width),
        );
        self.plant(lane, output, recipe, damage)?;
        let source = match recipe.redop {
            Some(_) => Source::Reduced { at: 0 },
            None => Source::Copied {
                rank: self.lanes[lane].rank,
                at: 0,
            },
        };
        let expect = [Stretch {
            len: elements,
            source,
        }];
        match self.session.verify(lane, output, recipe, &expect)? {
            Some(found) => {
                judge(&found, width, damage).map_err(|what| doubt(recipe, damage, &what))
            }
            None => Ok(()),
        }
    }

    fn plant(
        &mut self,
        lane: usize,
        output: Span,
        recipe: &Recipe,
        damage: Damage,
    ) -> Result<(), Fault> {
        let width = recipe.dtype.size();
        let stale = Recipe {
            seed: recipe.seed.wrapping_sub(SEED_STEP),
            ..*recipe
        };
        match damage {
            Damage::Stale => return self.session.fill(lane, output, &stale),
            _ => self.session.fill(lane, output, recipe)?,
        }
        match damage {
            Damage::Unwritten => {
                let middle = output.len / width / 2 * width;
                // poison follows the index in its span, as an output's does from the output's start
                self.session.poison(lane, output, recipe)?;
                self.session.fill(lane, output.part(0, middle), recipe)
            }
            Damage::Shifted => {
                self.session
                    .fill(lane, output.part(width, output.len - width), recipe)
            }
            Damage::None | Damage::Stale => Ok(()),
        }
    }
}

/// Says what is wrong with what the checker found.
fn judge(found: &Mismatches, width: u64, damage: Damage) -> Result<(), String> {
    match (damage, found.first.first()) {
        (Damage::None, None) if found.wrong == 0 => Ok(()),
        (Damage::None, _) => Err(format!("it calls {} right elements wrong", found.wrong)),
        (_, None) => Err("it does not see it".to_owned()),
        (_, Some(bad)) => {
            let named = bad.class.starts_with(damage.class());
            if named || width < BYTES_FOR_A_CLASS {
                Ok(())
            } else {
                Err(format!("it calls it `{}`", bad.class))
            }
        }
    }
}

fn doubt(recipe: &Recipe, damage: Damage, what: &str) -> Fault {
    let redop = recipe.redop.map_or("copies", RedOp::name);
    let planted = match damage {
        Damage::None => "no damage".to_owned(),
        _ => format!("{} data", damage.class()),
    };
    Fault::new(
        Kind::Call,
        format!(
            "the checker cannot be trusted: shown {planted} of {} {redop}, {what}",
            recipe.dtype
        ),
    )
    .hint("nothing was measured; please report this with the GPU, the driver and this line")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::BadElement;

    fn found(class: &str) -> Mismatches {
        let first = BadElement {
            rank: 0,
            host: String::new(),
            gpu: None,
            index: 3,
            expected_bits: 1,
            got_bits: 2,
            class: class.to_owned(),
        };
        Mismatches {
            wrong: 1,
            first: vec![first],
        }
    }

    #[test]
    fn a_checker_that_is_silent_or_sees_ghosts_or_misnames_is_not_trusted() {
        assert_eq!(judge(&Mismatches::default(), 4, Damage::None), Ok(()));
        assert!(judge(&found("other"), 4, Damage::None).is_err());
        assert!(judge(&Mismatches::default(), 1, Damage::Stale).is_err());
        assert!(judge(&found("other"), 4, Damage::Unwritten).is_err());
        assert_eq!(judge(&found("unwritten"), 4, Damage::Unwritten), Ok(()));
        assert_eq!(judge(&found("other"), 1, Damage::Shifted), Ok(()));
    }
}
