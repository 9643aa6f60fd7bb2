//! Metadata with exactly one rule broken, and the code of that rule.

use proptest::prelude::*;
use proptest::sample::Index;

use super::strategies::dim_data_set;
use crate::literal::Value;
use crate::{Code, DimData, DimDict, Dist, MAX_SIZE, Padding, ProtocolVersion};

/// `dim_data` of one rank that breaks one rule, when read strictly beside a buffer of `shape`.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// What a reader is given.
    pub value: Value,
    /// The buffer's shape, in elements.
    pub shape: Vec<usize>,
    /// The one rule that is broken.
    pub code: Code,
}

/// The parts of all ranks, each valid, that break one rule together.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokenSet {
    /// What a check of the whole set is given.
    pub parts: Vec<(ProtocolVersion, DimData)>,
    /// The one rule that is broken.
    pub code: Code,
}

/// `dim_data` with one rule of a single rank broken (D1 to U2).
pub fn broken_dim_data() -> impl Strategy<Value = Broken> {
    (dim_data_set(1..=6), any::<Index>(), any::<Index>()).prop_map(|(set, rank, which)| {
        let all = mutations(rank.get(&set));
        which.get(&all).clone()
    })
}

/// A set of ranks with one rule of the whole set broken (S1 to S9).
pub fn broken_set() -> impl Strategy<Value = BrokenSet> {
    (dim_data_set(1..=6), any::<Index>()).prop_map(|(set, which)| {
        let all = set_mutations(&set);
        which.get(&all).clone()
    })
}

/// Every way known here to break one rule of one rank's valid metadata; never none.
#[must_use]
pub fn mutations(data: &DimData) -> Vec<Broken> {
    let shape: Vec<usize> = data
        .iter()
        .map(|dim| usize::try_from(dim.stored_len()).unwrap_or(usize::MAX))
        .collect();
    let mut all = Vec::new();
    let mut add = |value: Value, shape: &[usize], code| {
        let shape = shape.to_vec();
        all.push(Broken { value, shape, code });
    };
    let whole = data.to_value();
    let items = whole.as_sequence().unwrap_or(&[]);
    add(Value::None, &shape, Code::D1);
    add(Value::List(items.to_vec()), &shape, Code::D1);
    add(whole.clone(), &[&shape[..], &[1]].concat(), Code::D2);
    for (axis, dim) in data.iter().enumerate() {
        let mut longer = shape.clone();
        longer[axis] += 1;
        add(whole.clone(), &longer, Code::C8);
        let with = |item: Value| {
            let mut items = items.to_vec();
            items[axis] = item;
            Value::Tuple(items)
        };
        add(with(Value::Int(3)), &shape, Code::D1);
        for (changes, code) in changes(dim) {
            let mut entries = match &items[axis] {
                Value::Dict(entries) => entries.clone(),
                _ => Vec::new(),
            };
            for (key, value) in changes {
                entries.retain(|(k, _)| k != key);
                entries.extend(value.map(|value| (key.to_owned(), value)));
            }
            add(with(Value::Dict(entries)), &shape, code);
        }
    }
    all
}

/// Keys to replace, or to remove.
type Changes = Vec<(&'static str, Option<Value>)>;

fn changes(dim: &DimDict) -> Vec<(Changes, Code)> {
    let set = |key, value: Value| vec![(key, Some(value))];
    let pair = |a: i64, b: i64| Value::Tuple(vec![a.into(), b.into()]);
    let mut all = vec![
        (set("size", (MAX_SIZE + 1).into()), Code::C3),
        (set("size", "4".into()), Code::C2),
        (set("proc_grid_size", 0_i64.into()), Code::C4),
        (set("proc_grid_rank", (-1_i64).into()), Code::C5),
        (set("proc_grid_rank", true.into()), Code::C2),
        (set("dist_type", "x".into()), Code::C6),
        (set("dist_type", "n".into()), Code::C6),
        (set("dist_type", Value::None), Code::C2),
    ];
    let mut required = vec!["dist_type", "size", "proc_grid_size", "proc_grid_rank"];
    match dim.dist() {
        Dist::Block {
            start,
            stop,
            padding,
            ..
        } => {
            required.extend(["start", "stop"]);
            let stored = stop - start;
            all.extend([
                (set("start", (-1_i64).into()), Code::B1),
                (set("start", (stop + 1).into()), Code::B2),
                (set("stop", (dim.size() + 1).into()), Code::B4),
                (set("stop", 1.5.into()), Code::C2),
                (set("padding", Value::Tuple(vec![1_i64.into()])), Code::B3),
                (set("padding", pair(0, -1)), Code::B3),
                (
                    set("padding", Value::List(vec![0_i64.into(), 0_i64.into()])),
                    Code::B3,
                ),
                (
                    set(
                        "padding",
                        Value::Tuple(vec![(stored + 1).into(), 0_i64.into()]),
                    ),
                    Code::B5,
                ),
                (set("periodic", "yes".into()), Code::C2),
                (set("periodic", 1_i64.into()), Code::C2),
            ]);
            if dim.grid_rank() == 0 && stored > 1 && padding.lower + padding.upper < stored {
                all.push((set("start", 1_i64.into()), Code::B6));
            }
        }
        Dist::Cyclic { .. } => {
            required.push("start");
            all.extend([
                (set("block_size", 0_i64.into()), Code::K1),
                (set("block_size", 2.5.into()), Code::C2),
                (set("start", (-1_i64).into()), Code::K2),
                (set("padding", pair(0, 0)), Code::C7),
                (set("periodic", true.into()), Code::C7),
            ]);
        }
        Dist::Unstructured { indices, .. } => {
            required.push("indices");
            let mut twice: Vec<Value> = indices.iter().map(|&i| i.into()).collect();
            twice.push(twice.first().cloned().unwrap_or(Value::Int(5)));
            if twice.len() == 1 {
                twice.push(Value::Int(5));
            }
            all.extend([
                (set("indices", Value::Tuple(twice)), Code::U2),
                (set("indices", Value::Bytes(b"abc".to_vec())), Code::U1),
                (set("indices", Value::List(vec![0.5.into()])), Code::U1),
                (
                    set("indices", Value::List(vec![Value::Int(1 << 63)])),
                    Code::U1,
                ),
                (set("one_to_one", 1_i64.into()), Code::C2),
                (set("padding", pair(1, 1)), Code::C7),
            ]);
        }
    }
    all.extend(
        required
            .into_iter()
            .map(|key| (vec![(key, None)], Code::C1)),
    );
    all
}

/// Every way known here to break one rule of a valid set of ranks, given in rank order; never none.
///
/// # Panics
/// When there is no rank.
#[must_use]
pub fn set_mutations(set: &[DimData]) -> Vec<BrokenSet> {
    let parts: Vec<_> = set
        .iter()
        .map(|data| (ProtocolVersion::CURRENT, data.clone()))
        .collect();
    let mut all = vec![
        BrokenSet {
            parts: parts[1..].to_vec(),
            code: Code::S1,
        },
        BrokenSet {
            parts: [&parts[..], &parts[..1]].concat(),
            code: Code::S1,
        },
    ];
    if set.len() > 1 {
        let mut twice = parts.clone();
        twice[1] = twice[0].clone();
        let mut versions = parts.clone();
        versions[1].0 = ProtocolVersion::V0_9_0;
        all.extend([
            BrokenSet {
                parts: twice,
                code: Code::S1,
            },
            BrokenSet {
                parts: versions,
                code: Code::S9,
            },
        ]);
    }
    for axis in 0..set.first().map_or(0, DimData::ndim) {
        // Changes the dictionaries of some ranks along the axis.
        let mut change = |code, f: &Change<'_>| {
            let mut changed = set.to_vec();
            for (rank, data) in changed.iter_mut().enumerate() {
                let mut dims = data.dims().to_vec();
                if let Some(dim) = f(rank, &dims[axis]) {
                    dims[axis] = dim;
                }
                *data = DimData::new(dims);
            }
            if changed != set {
                let version = ProtocolVersion::CURRENT;
                let parts = changed.into_iter().map(|data| (version, data)).collect();
                all.push(BrokenSet { parts, code });
            }
        };
        let resized = |dim: &DimDict| {
            DimDict::new(
                dim.size() + 1,
                dim.grid_size(),
                dim.grid_rank(),
                dim.dist().clone(),
            )
            .ok()
        };
        if set.len() > 1 {
            change(Code::S3, &|rank, dim| {
                if rank == 1 { resized(dim) } else { None }
            });
        }
        let shared = |rank: usize| {
            let coord = set[rank][axis].grid_rank();
            set.iter()
                .filter(|data| data[axis].grid_rank() == coord)
                .count()
                > 1
        };
        if shared(0) {
            change(Code::S2, &|rank, dim| {
                (rank == 0).then(|| dim.clone().with_extra("mark", Value::None).ok())?
            });
        }
        match set[0][axis].dist() {
            Dist::Block { .. } => {
                change(Code::S4, &|_, dim| resized(dim));
                if let Some(rank) = widenable(set, axis) {
                    change(Code::S5, &|r, dim| {
                        let Padding { lower, upper } = dim.padding();
                        (r == rank).then(|| dim.clone().with_padding(lower, upper + 1).ok())?
                    });
                }
            }
            Dist::Unstructured {
                one_to_one: true, ..
            } => indices(set, axis, &mut change),
            _ => {}
        }
    }
    all.push(thin());
    all
}

/// A rank whose upper padding can grow by one, with a block above it.
fn widenable(set: &[DimData], axis: usize) -> Option<usize> {
    set.iter().position(|data| {
        let dim = &data[axis];
        let padding = dim.padding();
        // What is left must do for the block below, or S6 would be broken too.
        let room = dim.stored_len() > 2 * padding.lower + padding.upper;
        let above = set
            .iter()
            .any(|other| other[axis].grid_rank() > dim.grid_rank() && other[axis].stored_len() > 0);
        room && above
    })
}

/// A rank's dictionary along the axis in another form, or none where it stays.
type Change<'a> = dyn Fn(usize, &DimDict) -> Option<DimDict> + 'a;

/// S7 and S8 by dropping an index, and by taking one from elsewhere, at one coordinate.
fn indices(set: &[DimData], axis: usize, change: &mut dyn FnMut(Code, &Change<'_>)) {
    let list = |dim: &DimDict| match dim.dist() {
        Dist::Unstructured { indices, .. } => indices.to_vec(),
        _ => Vec::new(),
    };
    let holders: Vec<&DimDict> = set
        .iter()
        .map(|data| &data[axis])
        .filter(|d| d.stored_len() > 0)
        .collect();
    let Some(&first) = holders.first() else {
        return;
    };
    let replace = |dim: &DimDict, indices: Vec<i64>| {
        DimDict::unstructured(dim.size(), dim.grid_size(), dim.grid_rank(), indices, true).ok()
    };
    change(Code::S7, &|_, dim| {
        (dim.grid_rank() == first.grid_rank()).then(|| replace(dim, list(dim)[1..].to_vec()))?
    });
    let Some(&other) = holders.iter().find(|d| d.grid_rank() != first.grid_rank()) else {
        return;
    };
    change(Code::S8, &|_, dim| {
        let mut indices = list(dim);
        (dim.grid_rank() == first.grid_rank()).then(|| {
            indices[0] = list(other)[0];
            replace(dim, indices)
        })?
    });
}

/// S6: padding of two beside a block that owns one element.
fn thin() -> BrokenSet {
    let block = |rank: usize, start, stop, lower, upper| {
        let dist = Dist::Block {
            start,
            stop,
            padding: Padding { lower, upper },
            periodic: false,
        };
        let dim = DimDict::new(10, 3, rank, dist).expect("a valid dictionary");
        (ProtocolVersion::CURRENT, DimData::new(vec![dim]))
    };
    BrokenSet {
        parts: vec![
            block(0, 0, 6, 0, 2),
            block(1, 2, 7, 2, 2),
            block(2, 3, 10, 2, 0),
        ],
        code: Code::S6,
    }
}
