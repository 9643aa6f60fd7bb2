//! The calls of the fixtures and the distributions of their arrays, counted without running them.

use std::collections::{BTreeMap, BTreeSet};

use super::support::numpy::Call;
use super::support::schedule::{SAMPLES, Sample, layout, layouts, operation};
use super::support::{
    Failure,
    plain::{turns, zoo},
};

/// How often each pair of an operation and a distribution of its array number `array` is due.
fn pairs(
    sample: &Sample,
    ranks: &[usize],
    array: usize,
) -> Result<BTreeMap<(String, usize), usize>, Failure> {
    let mut pairs = BTreeMap::new();
    for &ranks in ranks {
        for (turn, call) in sample.due(ranks)? {
            let Some(input) = call.inputs.get(array) else {
                continue;
            };
            let shape: Vec<u64> = input.shape.iter().map(|&n| n as u64).collect();
            let layout = layout(turn, array, zoo(&shape, ranks).len());
            *pairs.entry((operation(call), layout)).or_default() += 1;
        }
    }
    Ok(pairs)
}

/// The operations of a sample, each with how many distributions its array number `array` may have.
fn operations(sample: &Sample, array: usize) -> Result<BTreeMap<String, usize>, Failure> {
    let mut operations = BTreeMap::new();
    for call in sample.calls()? {
        if let Some(input) = call.inputs.get(array) {
            let count = operations.entry(operation(call)).or_insert(0);
            *count = zoo(&vec![1; input.shape.len()], 2).len().max(*count);
        }
    }
    Ok(operations)
}

#[test]
fn every_operation_meets_every_distribution() -> Result<(), Failure> {
    let mut empty = Vec::new();
    for sample in SAMPLES {
        for ranks in [&[1, 2, 3, 4, 5, 6, 7][..], &[2, 3, 4], &[1]] {
            for array in 0..2 {
                let found = pairs(sample, ranks, array)?;
                for (operation, layouts) in operations(sample, array)? {
                    empty.extend(
                        (0..layouts)
                            .map(|layout| (operation.clone(), layout))
                            .filter(|pair| !found.contains_key(pair))
                            .map(|pair| {
                                format!("{} on {ranks:?}, array {array}: {pair:?}", sample.name)
                            }),
                    );
                }
            }
        }
    }
    assert!(
        empty.is_empty(),
        "{} pairs are missing: {empty:#?}",
        empty.len()
    );
    Ok(())
}

#[test]
fn every_operation_is_due_at_every_number_of_ranks_and_every_call_at_one() -> Result<(), Failure> {
    for sample in SAMPLES {
        let address = |call: &Call| std::ptr::from_ref(call).addr();
        let all: BTreeSet<String> = sample.calls()?.iter().map(operation).collect();
        let mut seen = BTreeSet::new();
        for ranks in 1..=7 {
            let due = sample.due(ranks)?;
            let found: BTreeSet<String> = due.iter().map(|(_, call)| operation(call)).collect();
            assert_eq!(found, all, "{} on {ranks} ranks", sample.name);
            if ranks > 1 {
                seen.extend(due.iter().map(|(_, call)| address(call)));
            }
        }
        assert_eq!(
            seen.len(),
            sample.calls()?.len(),
            "calls of {}",
            sample.name
        );
    }
    Ok(())
}

/// Neither an even nor an odd number of ranks is tied to some distributions.
#[test]
fn a_number_of_ranks_meets_every_distribution() -> Result<(), Failure> {
    for sample in SAMPLES {
        for ranks in 1..=7 {
            let due = sample.due(ranks)?;
            let due = due
                .iter()
                .filter(|(_, call)| !call.inputs[0].shape.is_empty());
            let found: BTreeSet<usize> = due
                .map(|&(turn, call)| layout(turn, 0, layouts(call)))
                .collect();
            assert_eq!(
                found.len(),
                zoo(&[3], ranks).len(),
                "{} on {ranks} ranks",
                sample.name
            );
        }
    }
    Ok(())
}

/// The cases without a fixture to deal out: one rank alone, three numbers of ranks in a row, and with them all, see each.
#[test]
fn turns_go_through_all() {
    for salt in 0..20 {
        for count in [2, 8] {
            for ranks in [&[1][..], &[2, 3, 4], &[4, 5, 6], &[5, 6, 7]] {
                let seen: BTreeSet<usize> = ranks
                    .iter()
                    .flat_map(|&ranks| turns(count, ranks, salt))
                    .collect();
                assert_eq!(seen.len(), count, "{ranks:?}, {salt}");
            }
        }
    }
}
