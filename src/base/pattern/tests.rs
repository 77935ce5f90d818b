//! The pattern's promises, held against plain arithmetic.

#![expect(clippy::cast_possible_truncation, reason = "sizes are small")]

use super::*;
use crate::base::arith::{divide_by, reciprocal_bits, reduce_into, scale};
use proptest::prelude::*;

const WORLDS: [u32; 10] = [1, 2, 3, 4, 5, 7, 8, 16, 64, 256];

fn all_reductions() -> impl Iterator<Item = (DataType, RedOp, World)> {
    DataType::ALL.iter().flat_map(|&dtype| {
        RedOp::ALL
            .iter()
            .flat_map(move |&redop| WORLDS.map(move |n| (dtype, redop, World(n))))
    })
}

fn recipe(seed: u64, dtype: DataType, redop: Option<RedOp>, world: World) -> Recipe {
    Recipe {
        seed,
        dtype,
        redop,
        world,
    }
}

/// What each rank contributes, after the scaling that comes before the reduction.
fn shares(recipe: &Recipe, redop: RedOp, first: u64, elements: u64) -> Vec<Vec<u8>> {
    let (dtype, world) = (recipe.dtype, recipe.world);
    let share = |rank| {
        let mut input = vec![0; (elements * dtype.size()) as usize];
        fill_bytes(recipe, rank, first, &mut input);
        match redop {
            RedOp::MulSum => scale(dtype, &mut input, mulsum_scalar_bits(dtype, rank)),
            RedOp::Avg if dtype.is_float() => {
                scale(dtype, &mut input, reciprocal_bits(dtype, world.0));
            }
            _ => {}
        }
        input
    };
    world.ranks().map(share).collect()
}

/// Reduces in a random tree, rounding to the datatype at every step.
fn reduce_at_random(
    recipe: &Recipe,
    redop: RedOp,
    mut parts: Vec<Vec<u8>>,
    mut dice: u64,
) -> Vec<u8> {
    while parts.len() > 1 {
        dice = hash::mix(dice.wrapping_add(1));
        let a = parts.swap_remove((dice as usize >> 8) % parts.len());
        let b = (dice as usize >> 32) % parts.len();
        reduce_into(recipe.dtype, redop, &mut parts[b], &a);
    }
    let mut sum = parts.pop().unwrap();
    if redop == RedOp::Avg {
        divide_by(recipe.dtype, &mut sum, recipe.world.0);
    }
    sum
}

fn reduced(at: u64, len: u64) -> [Stretch; 1] {
    [Stretch {
        len,
        source: Source::Reduced { at },
    }]
}

#[test]
fn any_tree_of_rounded_steps_gives_the_expected_bits() {
    for (seed, (dtype, redop, world)) in (7..).zip(all_reductions()) {
        let recipe = recipe(seed, dtype, Some(redop), world);
        for dice in 0..6 {
            let parts = shares(&recipe, redop, 5, 51);
            let got = reduce_at_random(&recipe, redop, parts, seed * 100 + dice);
            let findings = verify_bytes(&recipe, &reduced(5, 51), 0, &got);
            assert_eq!(
                findings.wrong, 0,
                "{dtype} {redop} {world}: {:?}",
                findings.first
            );
        }
    }
}

#[test]
fn a_reduction_that_lacks_any_rank_is_noticed() {
    for (seed, (dtype, redop, world)) in (1000..).zip(all_reductions()) {
        // An average of narrow integers over many ranks is nearly constant, whatever one rank does.
        let blunt = redop == RedOp::Avg && !dtype.is_float() && dtype.size() == 1 && world.0 > 8;
        if world.0 == 1 || world.0 > 16 || blunt {
            continue;
        }
        let recipe = recipe(seed, dtype, Some(redop), world);
        for rank in 0..world.0 as usize {
            let mut parts = shares(&recipe, redop, 0, 4096);
            parts.remove(rank);
            let got = reduce_at_random(&recipe, redop, parts, seed);
            let findings = verify_bytes(&recipe, &reduced(0, 4096), 0, &got);
            assert!(
                findings.wrong > 100,
                "{dtype} {redop} {world} {rank}: {}",
                findings.wrong
            );
        }
    }
}

#[test]
fn results_vary_and_are_finite() {
    for (dtype, redop, world) in all_reductions() {
        let recipe = recipe(3, dtype, Some(redop), world);
        let mut seen: Vec<u64> = (0..256).map(|i| plain_bits(&recipe.result(), i)).collect();
        if let Some(format) = lanes::Format::of(dtype) {
            let magnitude = Lanes::of(dtype).full() >> 1;
            for bits in &seen {
                let exponent = (bits & magnitude) >> format.mantissa;
                assert!(
                    exponent >= 1 && exponent <= u64::from(format.top),
                    "{dtype} {redop} {world} {bits:#x}"
                );
            }
        }
        seen.sort_unstable();
        seen.dedup();
        let few = redop == RedOp::Avg && dtype.size() == 1;
        assert!(
            few || seen.len() >= 16,
            "{dtype} {redop} {world}: {}",
            seen.len()
        );
    }
}

proptest! {
    #[test]
    fn a_slice_made_alone_is_the_slice_of_the_whole(
        seed: u64, world in 1u32..300, rank in 0u32..300, first in 0u64..100, len in 0u64..100,
        dtype in 0usize..12, redop in 0usize..7
    ) {
        let dtype = DataType::ALL[dtype];
        let recipe = recipe(seed, dtype, RedOp::ALL.get(redop).copied(), World(world));
        let rank = Rank(rank % world);
        let size = dtype.size() as usize;
        let mut whole = vec![0; 200 * size];
        let mut slice = vec![0; len as usize * size];
        let range = first as usize * size..(first + len) as usize * size;
        fill_bytes(&recipe, rank, 0, &mut whole);
        fill_bytes(&recipe, rank, first, &mut slice);
        prop_assert_eq!(&slice, &whole[range.clone()]);
        for (index, element) in (first..).zip(slice.chunks(size)) {
            prop_assert_eq!(element, &input_bits(&recipe, rank, index).to_le_bytes()[..size]);
        }
        poison_bytes(&recipe, 0, &mut whole);
        poison_bytes(&recipe, first, &mut slice);
        prop_assert_eq!(&slice, &whole[range]);
    }

    #[test]
    fn checking_in_slices_finds_what_checking_the_whole_finds(
        seed: u64, dtype in 0usize..12, cut in 0u64..300, bad in prop::collection::btree_set(0u64..300, 0..20)
    ) {
        let dtype = DataType::ALL[dtype];
        let recipe = recipe(seed, dtype, None, World(3));
        let size = dtype.size() as usize;
        let stretches = [
            Stretch { len: 101, source: Source::Copied { rank: Rank(1), at: 7 } },
            Stretch { len: 50, source: Source::Unspecified },
            Stretch { len: 149, source: Source::Copied { rank: Rank(2), at: 0 } },
        ];
        let mut got = vec![0; 300 * size];
        fill_bytes(&recipe, Rank(1), 7, &mut got[..101 * size]);
        fill_bytes(&recipe, Rank(2), 0, &mut got[151 * size..]);
        for index in &bad {
            got[*index as usize * size] ^= 4;
        }
        let counted: Vec<u64> = bad.into_iter().filter(|i| !(101..151).contains(i)).collect();
        let whole = verify_bytes(&recipe, &stretches, 0, &got);
        prop_assert_eq!(whole.wrong, counted.len() as u64);
        let listed: Vec<u64> = whole.first.iter().map(|finding| finding.index).collect();
        prop_assert_eq!(&listed[..], &counted[..counted.len().min(Findings::LISTED)]);
        let (a, b) = got.split_at(cut as usize * size);
        let a = verify_bytes(&recipe, &stretches, 0, a);
        let b = verify_bytes(&recipe, &stretches, cut, b);
        prop_assert_eq!(a.wrong + b.wrong, whole.wrong);
        prop_assert!(b.first.iter().all(|finding| finding.index >= cut && counted.contains(&finding.index)));
    }
}

#[test]
fn poison_is_no_result_where_results_leave_room_for_it() {
    for (dtype, redop, world) in all_reductions() {
        let recipe = recipe(11, dtype, Some(redop), world);
        let (poison, result) = (recipe.poison(), recipe.result());
        let apart = |i| plain_bits(&poison, i).abs_diff(plain_bits(&result, i));
        let equal = (0..4096).filter(|i| apart(*i) == 0).count();
        let chance = 4096 >> Lanes::of(dtype).bits.min(12);
        let limit = if result.mask & 1 == 0 {
            0
        } else {
            5 * chance + 3
        };
        assert!(equal <= limit, "{dtype} {redop} {world}: {equal}");
        let tolerance = recipe.exactness().tolerance();
        let near = tolerance > 0 && (0..4096).any(|i| (1..=tolerance).contains(&apart(i)));
        assert!(!near, "{dtype} {redop} {world}");
    }
}

/// A buffer of right results, then one element spoilt by `spoil`, which is told the right bits.
fn class_after(
    recipe: &Recipe,
    stretches: &[Stretch],
    spoil: impl Fn(u64, u64) -> u64,
) -> Vec<Class> {
    let bad: Vec<(u64, u64)> = [1000u64, 1003, 1777, 2049]
        .map(|index| {
            let right = expected_bits(recipe, &stretches[0].source, index).unwrap();
            (index, spoil(index, right))
        })
        .to_vec();
    let bad: Vec<_> = bad
        .into_iter()
        .filter(|(index, got)| expected_bits(recipe, &stretches[0].source, *index) != Some(*got))
        .collect();
    let classes = classify(recipe, stretches, &bad);
    assert!(!bad.is_empty() && classes.len() == bad.len());
    classes
}

fn most(classes: &[Class]) -> Class {
    *classes
        .iter()
        .max_by_key(|class| classes.iter().filter(|other| other == class).count())
        .unwrap()
}

#[test]
fn each_kind_of_damage_to_a_reduction_is_named() {
    for (seed, (dtype, redop, world)) in (50..).zip(all_reductions()) {
        let wide = dtype.size() >= 4 && !(redop == RedOp::Avg && dtype.is_float());
        if !wide || world.0 > 16 {
            continue;
        }
        let recipe = recipe(seed, dtype, Some(redop), world);
        let stretches = reduced(0, 1 << 20);
        let class =
            |spoil: &dyn Fn(u64, u64) -> u64| most(&class_after(&recipe, &stretches, spoil));
        assert_eq!(class(&|i, _| poison_bits(&recipe, i)), Class::Unwritten);
        assert_eq!(class(&|_, right| right ^ 0x20), Class::BitFlip { bit: 5 });
        let earlier = Recipe {
            seed: seed.wrapping_sub(SEED_STEP),
            ..recipe
        };
        let stale = |i, _| plain_bits(&earlier.result(), i);
        assert_eq!(class(&stale), Class::Stale { checks: 1 });
        let shifted = |i, _| plain_bits(&recipe.result(), i + 4);
        assert_eq!(class(&shifted), Class::Shifted { by: 4 });
        // from before the first element that the stretch's own start would reach
        let late = |i: u64, _| plain_bits(&recipe.result(), i.saturating_sub(1));
        assert_eq!(class(&late), Class::Shifted { by: -1 });
        if world.0 < 3 {
            continue;
        }
        if redop != RedOp::Min && redop != RedOp::Max {
            let input = |i, _| input_bits(&recipe, Rank(2), i);
            assert_eq!(
                class(&input),
                Class::InputOf { rank: Rank(2) },
                "{dtype} {redop} {world}"
            );
        }
    }
}

#[test]
fn a_missing_and_a_doubled_rank_are_named() {
    for (seed, (dtype, redop, world)) in (50..).zip(all_reductions()) {
        let named = dtype.size() >= 4 && redop != RedOp::Avg;
        if !named || world.0 < 3 || world.0 > 16 {
            continue;
        }
        let recipe = recipe(seed, dtype, Some(redop), world);
        let stretches = reduced(0, 4096);
        let without = |index: u64, lost: usize| {
            let mut parts = shares(&recipe, redop, index, 1);
            parts.remove(lost);
            bits(&reduce_at_random(&recipe, redop, parts, 1))
        };
        let with_twice = |index: u64, rank: usize| {
            let mut parts = shares(&recipe, redop, index, 1);
            parts.push(parts[rank].clone());
            bits(&reduce_at_random(&recipe, redop, parts, 1))
        };
        let extreme = redop == RedOp::Min || redop == RedOp::Max;
        let lost = |index: u64, right: u64| {
            // Only the loss of a winner shows.
            let winner = |r: &u32| input_bits(&recipe, Rank(*r), index) == right;
            if extreme {
                (0..world.0).find(winner).unwrap()
            } else {
                1
            }
        };
        let classes = class_after(&recipe, &stretches, |i, right| {
            without(i, lost(i, right) as usize)
        });
        assert!(
            classes
                .iter()
                .all(|class| matches!(class, Class::Missing { .. })),
            "{dtype} {redop} {world} {classes:?}"
        );
        if !extreme {
            assert_eq!(most(&classes), Class::Missing { rank: Rank(1) });
            let classes = class_after(&recipe, &stretches, |i, _| with_twice(i, 2));
            assert_eq!(
                most(&classes),
                Class::Doubled { rank: Rank(2) },
                "{dtype} {redop} {world}"
            );
        }
    }
}

fn bits(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[test]
fn damage_to_narrow_elements_is_named_by_what_fits_most_of_them() {
    for dtype in [
        DataType::Int8,
        DataType::F8e4m3,
        DataType::F8e5m2,
        DataType::Half,
    ] {
        let recipe = recipe(5, dtype, Some(RedOp::Sum), World(8));
        let stretches = reduced(0, 1 << 20);
        let bad: Vec<(u64, u64)> = (100..116).map(|i| (i, poison_bits(&recipe, i))).collect();
        assert_eq!(
            most(&classify(&recipe, &stretches, &bad)),
            Class::Unwritten,
            "{dtype}"
        );
    }
}

#[test]
fn a_copy_from_the_wrong_rank_is_named() {
    let recipe = recipe(5, DataType::Float, None, World(5));
    let stretches = [Stretch {
        len: 4096,
        source: Source::Copied {
            rank: Rank(1),
            at: 0,
        },
    }];
    let classes = class_after(&recipe, &stretches, |i, _| input_bits(&recipe, Rank(3), i));
    assert_eq!(most(&classes), Class::InputOf { rank: Rank(3) });
}

#[test]
fn classes_read_as_the_records_spell_them() {
    let classes = [
        (Class::Missing { rank: Rank(2) }, "missing rank 2"),
        (Class::BitFlip { bit: 7 }, "bit flip (bit 7)"),
        (
            Class::Shifted { by: -16 },
            "shifted (belongs -16 elements away)",
        ),
    ];
    for (class, text) in classes {
        assert_eq!(class.to_string(), text);
    }
}
