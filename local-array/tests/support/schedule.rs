//! Which calls of a fixture a number of ranks looks at, and how it spreads their arrays.
//!
//! One rank looks at all calls, more ranks at a share, so that 2 to 7 see all. The calls of an operation are shuffled by
//! a hash of their number and dealt out from there, turn by turn: a turn names a call, and the distributions of its
//! arrays. So neither the distributions nor the operations of a number of ranks follow from the number, and 2, 3 and 4
//! ranks alone see each operation over each distribution. The test `it::schedule` counts.

use std::collections::BTreeMap;

use dist_maps::Distribution;
use serde_json::Value;

use super::numpy::{Call, calls};
use super::plain::zoo;
use super::{Failure, ensure};

/// The distributions of [`zoo`], and those of arrays without dimensions.
const LAYOUTS: usize = 8;
const LAYOUTS_OF_ONE: usize = 2;

/// A fixture, of whose calls more than one rank look at one in `one_in`.
pub struct Sample {
    pub name: &'static str,
    fixture: &'static str,
    one_in: usize,
}

macro_rules! samples {
    ($($name:ident: $file:literal, $one_in:literal;)*) => {
        $(pub const $name: Sample = Sample {
            name: $file,
            fixture: include_str!(concat!("../fixtures/numpy/", $file, ".jsonl")),
            one_in: $one_in,
        };)*
        pub const SAMPLES: &[Sample] = &[$($name),*];
    };
}

samples! {
    SORTING: "sorting", 6;
    OVER: "over", 6;
    STATISTICS: "statistics", 6;
    REARRANGE: "rearrange", 6;
    LINALG: "linalg", 3;
}

/// What counts as an operation: the name, with the arguments that choose another way through the code.
pub fn operation(call: &Call) -> String {
    let mut name = format!("{} of {}", call.op, call.inputs.len());
    for (number, input) in call.inputs.iter().take(2).enumerate() {
        if input.shape.is_empty() {
            name += &format!(", {number} without dimensions");
        }
    }
    for argument in ["order", "mode", "side", "kind", "memory"] {
        if let Some(value) = call.args.get(argument).and_then(Value::as_str) {
            name += &format!(", {argument} {value}");
        }
    }
    for argument in ["axis", "axes"] {
        if call.args.get(argument).is_some_and(Value::is_null) {
            name += &format!(", no {argument}");
        }
    }
    if call.args.contains_key("dtype") {
        name += ", dtype";
    }
    name
}

/// How many distributions the arrays of an operation have: the most of its first two.
pub fn layouts(call: &Call) -> usize {
    let shapes = call.inputs.iter().take(2).map(|input| &input.shape);
    let count = |shape: &Vec<usize>| {
        if shape.is_empty() {
            LAYOUTS_OF_ONE
        } else {
            LAYOUTS
        }
    };
    shapes.map(count).max().unwrap_or(1)
}

/// A well mixed word: the step of SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Sample {
    /// All calls.
    pub fn calls(&self) -> Result<&'static [Call], Failure> {
        calls(self.fixture)
    }

    /// The calls that `ranks` ranks look at, each with its turn.
    pub fn due(&self, ranks: usize) -> Result<Vec<(usize, &'static Call)>, Failure> {
        let mut operations: BTreeMap<String, Vec<(u64, &Call)>> = BTreeMap::new();
        for (number, call) in self.calls()?.iter().enumerate() {
            let of_operation = operations.entry(operation(call)).or_default();
            of_operation.push((mixed(number as u64), call));
        }
        let mut due = Vec::new();
        for calls in operations.values_mut() {
            calls.sort_by_key(|&(hash, _)| hash);
            let layouts = layouts(calls[0].1);
            let turns = if ranks == 1 {
                0..calls.len().max(layouts)
            } else {
                // Three numbers of ranks go through the distributions.
                let share = calls.len().div_ceil(self.one_in).max(layouts.div_ceil(3));
                (ranks - 2) * share..(ranks - 1) * share
            };
            due.extend(turns.map(|turn| (turn, calls[turn % calls.len()].1)));
        }
        Ok(due)
    }

    /// Those of some operations, of at least as many calls as asked for.
    pub fn due_of(
        &self,
        is_meant: impl Fn(&Call) -> bool,
        least: usize,
        ranks: usize,
    ) -> Result<Vec<(usize, &'static Call)>, Failure> {
        let count = self.calls()?.iter().filter(|call| is_meant(call)).count();
        ensure(count >= least, || {
            format!("only {count} calls of {}", self.name)
        })?;
        let mut due = self.due(ranks)?;
        due.retain(|(_, call)| is_meant(call));
        ensure(!due.is_empty(), || format!("nothing of {}", self.name))?;
        Ok(due)
    }
}

/// Which of `count` distributions an array of a call has, in its turn: each goes through all of them in eight turns, and
/// past the others.
pub fn layout(turn: usize, array: usize, count: usize) -> usize {
    let step = [1, 5, 3, 7][array % 4];
    (turn % LAYOUTS * step + array * (1 + turn / LAYOUTS)) % count
}

/// That distribution.
pub fn one_of(shape: &[u64], ranks: usize, turn: usize, array: usize) -> Distribution {
    let mut all = zoo(shape, ranks);
    all.swap_remove(layout(turn, array, all.len()))
}
