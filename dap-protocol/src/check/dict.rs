//! One dictionary: a dimension of one rank.

use super::reader::{Reader, shown};
use super::{Checked, Strictness};
use crate::dim::{LISTED, Rules, Spelling, cyclic_start, is_reserved, unwritable};
use crate::error::excerpt;
use crate::literal::Value;
use crate::{Code, DimDict, Dist, Padding, ProtocolVersion};

/// Reads the dictionary of dimension `axis`.
///
/// `extent` is the buffer's extent, in elements, where there is a buffer: an empty dictionary needs
/// it, every other one is compared with it. Keys that the protocol does not know, or that belong to
/// another `dist_type`, are kept ([`DimDict::extra`]), except `padding` and `periodic`, which mean
/// a block.
#[must_use]
pub fn dim_dict(
    axis: usize,
    value: &Value,
    extent: Option<u64>,
    version: ProtocolVersion,
    strictness: Strictness,
) -> Checked<DimDict> {
    let mut reader = Reader::new(Some(axis), value, strictness);
    let found = match value {
        Value::Dict(entries) if entries.is_empty() => alias(&mut reader, extent),
        Value::Dict(entries) => {
            if let Some(kind) = kind(&mut reader, version) {
                let dim = typed(&mut reader, kind);
                extra(&mut reader, kind, entries, dim)
            } else {
                common(&mut reader, false);
                None
            }
        }
        other => {
            reader.violate(Code::D1, "dim_data", shown(other), "a dictionary");
            None
        }
    };
    if let (Some(dim), Some(extent)) = (&found, extent)
        && dim.stored_len() != extent
    {
        let hint = crate::dist_buffer::extent_hint(dim, extent).unwrap_or("");
        let allowed = format!("{} (by the dictionary){hint}", dim.stored_len());
        reader.violate(Code::C8, "buffer extent", extent.to_string(), &allowed);
    }
    Checked {
        value: found.filter(|_| reader.violations.is_empty()),
        violations: reader.violations,
        repairs: reader.repairs,
    }
}

/// Keeps the keys that say nothing about a dimension of this kind.
fn extra(
    reader: &mut Reader<'_>,
    kind: Kind,
    entries: &[(String, Value)],
    mut dim: Option<DimDict>,
) -> Option<DimDict> {
    for (key, value) in entries {
        if is_reserved(kind.letter(), key) {
            continue;
        }
        if let Some((given, allowed)) = unwritable(value) {
            reader.violate(Code::C2, &excerpt(key), given.to_owned(), &allowed);
            continue;
        }
        dim = dim.and_then(|dim| dim.with_extra(key, value.clone()).ok());
    }
    dim
}

/// The kinds, with 0.9's `n`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block,
    Whole,
    Cyclic,
    Unstructured,
}

impl Kind {
    /// The `dist_type` that it is written with.
    fn letter(self) -> &'static str {
        match self {
            Self::Block | Self::Whole => "b",
            Self::Cyclic => "c",
            Self::Unstructured => "u",
        }
    }
}

fn kind(reader: &mut Reader<'_>, version: ProtocolVersion) -> Option<Kind> {
    let allowed = "'b', 'c' or 'u'";
    let Some(value) = reader.get("dist_type") else {
        reader.missing("dist_type", allowed);
        return None;
    };
    match reader.string("dist_type", value)? {
        "b" => Some(Kind::Block),
        "c" => Some(Kind::Cyclic),
        "u" => Some(Kind::Unstructured),
        "n" if matches!(version.parts(), (0, 9, _)) => {
            reader.repair(Code::C6, "dist_type", shown(value), "'b'".to_owned());
            Some(Kind::Whole)
        }
        "n" => reader
            .bend(Code::C6, "dist_type", value, allowed, "'b'")
            .then_some(Kind::Whole),
        _ => {
            reader.violate(Code::C6, "dist_type", shown(value), allowed);
            None
        }
    }
}

/// `{}`: all of the dimension, as long as the buffer is.
fn alias(reader: &mut Reader<'_>, extent: Option<u64>) -> Option<DimDict> {
    let Some(size) = extent else {
        reader.violate(
            Code::C1,
            "size",
            "missing".to_owned(),
            "{} beside a buffer, or a size",
        );
        return None;
    };
    let mut spelling = Spelling::default();
    spelling.set(Spelling::EMPTY);
    let Ok(dim) = DimDict::whole(size) else {
        reader.violate(Code::C3, "size", size.to_string(), "at most 2^63 - 1");
        return None;
    };
    Some(dim.with_spelling(spelling))
}

/// A required integer, or `default` where it may be missing and is.
fn or(reader: &mut Reader<'_>, optional: bool, key: &str, default: i128) -> Option<i128> {
    if optional && reader.get(key).is_none() {
        Some(default)
    } else {
        reader.required(key)
    }
}

/// `size`, `proc_grid_size` and `proc_grid_rank`, which every kind has; of `whole` ones the last
/// two may be missing.
fn common(reader: &mut Reader<'_>, whole: bool) -> [Option<i128>; 3] {
    let size = reader.required("size");
    let grid_size = or(reader, whole, "proc_grid_size", 1);
    let grid_rank = or(reader, whole, "proc_grid_rank", 0);

    let mut rules = Rules::default();
    if let Some(size) = size {
        rules.size(size.into());
    }
    match (grid_size, grid_rank) {
        (Some(size), Some(rank)) => rules.grid(size.into(), rank.into()),
        (Some(size), None) => rules.grid(size.into(), 0_i128.into()),
        (None, Some(rank)) => rules.grid(usize::MAX.into(), rank.into()),
        (None, None) => {}
    }
    add(reader, rules);
    [size, grid_size, grid_rank]
}

fn typed(reader: &mut Reader<'_>, kind: Kind) -> Option<DimDict> {
    let before = reader.violations.len();
    let whole = kind == Kind::Whole;
    let [size, grid_size, grid_rank] = common(reader, whole);
    if whole && grid_size.is_some_and(|n| n > 1) {
        let given = grid_size.map_or_else(String::new, |n| n.to_string());
        reader.violate(
            Code::C4,
            "proc_grid_size",
            given,
            "1 where dist_type is 'n'",
        );
    }

    let mut spelling = Spelling::default();
    let dist = match kind {
        Kind::Block | Kind::Whole => {
            let start = or(reader, whole, "start", 0);
            let stop = or(reader, whole, "stop", size.unwrap_or(0));
            block(reader, [size, grid_rank, start, stop], &mut spelling)
        }
        Kind::Cyclic => {
            block_only(reader);
            cyclic(reader, size, grid_rank, &mut spelling)
        }
        Kind::Unstructured => {
            block_only(reader);
            unstructured(reader, &mut spelling)
        }
    };
    if reader.violations.len() > before {
        return None;
    }
    let size = u64::try_from(size?).ok()?;
    let grid_size = usize::try_from(grid_size?).ok()?;
    let grid_rank = usize::try_from(grid_rank?).ok()?;
    Some(DimDict::checked(size, grid_size, grid_rank, dist?).with_spelling(spelling))
}

fn add(reader: &mut Reader<'_>, rules: Rules) {
    for v in rules.found {
        let key = v.key.unwrap_or_default();
        reader.violate(v.code, &key, v.given, &v.allowed);
    }
}

/// `padding` and `periodic` on a dimension that is no block.
fn block_only(reader: &mut Reader<'_>) {
    for key in ["padding", "periodic"] {
        if let Some(value) = reader.get(key) {
            reader.bend(Code::C7, key, value, "block only", "not there");
        }
    }
}

fn block(
    reader: &mut Reader<'_>,
    [size, grid_rank, start, stop]: [Option<i128>; 4],
    spelling: &mut Spelling,
) -> Option<Dist> {
    // A number that is missing has its own violation; the other one is looked at all the same.
    let beyond = i128::MAX;
    let (size, rank) = (size.unwrap_or(beyond).into(), grid_rank.unwrap_or(1).into());
    let mut rules = Rules::default();
    match (start, stop) {
        (Some(start), Some(stop)) => rules.block_range(size, rank, start.into(), stop.into()),
        (Some(start), None) => {
            rules.block_range(beyond.into(), 1_i128.into(), start.into(), beyond.into());
        }
        (None, Some(stop)) => rules.block_range(size, rank, 0_i128.into(), stop.into()),
        (None, None) => {}
    }
    add(reader, rules);

    let padding = match reader.get("padding") {
        None => Some(Padding::default()),
        Some(value) => {
            spelling.set(Spelling::PADDING);
            padding(reader, value)
        }
    };
    if reader.get("periodic").is_some() {
        spelling.set(Spelling::PERIODIC);
    }
    let periodic = reader.boolean("periodic", false);
    let start = u64::try_from(start?).ok()?;
    let stop = u64::try_from(stop?).ok()?;
    let padding = padding?;
    let mut rules = Rules::default();
    rules.padding(start, stop, padding);
    add(reader, rules);
    Some(Dist::Block {
        start,
        stop,
        padding,
        periodic: periodic?,
    })
}

fn padding(reader: &mut Reader<'_>, value: &Value) -> Option<Padding> {
    const ALLOWED: &str = "a tuple of two counts";
    let Some([lower, upper]) = value.as_sequence() else {
        reader.violate(Code::B3, "padding", shown(value), ALLOWED);
        return None;
    };
    if matches!(value, Value::List(_)) {
        let tuple = Value::Tuple(vec![lower.clone(), upper.clone()]);
        reader.bend(Code::B3, "padding", value, ALLOWED, &shown(&tuple));
    }
    let (lower, upper) = (
        reader.integer("padding", lower),
        reader.integer("padding", upper),
    );
    if let (Ok(lower), Ok(upper)) = (u64::try_from(lower?), u64::try_from(upper?)) {
        return Some(Padding { lower, upper });
    }
    reader.violate(Code::B3, "padding", shown(value), ALLOWED);
    None
}

fn cyclic(
    reader: &mut Reader<'_>,
    size: Option<i128>,
    grid_rank: Option<i128>,
    spelling: &mut Spelling,
) -> Option<Dist> {
    let block_size = match reader.get("block_size") {
        None => Some(1),
        Some(value) => {
            spelling.set(Spelling::BLOCK_SIZE);
            reader.integer("block_size", value)
        }
    };
    let start = reader.required("start");
    let block_size = block_size?;
    // Without a start or a rank only the block size can be looked at: no rank at all starts at 0.
    let (rank, at) = match (grid_rank, start) {
        (Some(rank), Some(start)) if rank >= 0 => (rank, start),
        _ => (0, 0),
    };
    // A rank that says that it holds nothing, out of turn: what is missing is the whole set's matter.
    let expected = rank.saturating_mul(block_size);
    if let (Some(Ok(size)), Ok(block_size @ 1..)) =
        (size.map(u64::try_from), u64::try_from(block_size))
        && expected < size.into()
        && at >= size.into()
    {
        let allowed = format!("{expected} (proc_grid_rank * block_size)");
        let read_as = format!("{size}, nothing held");
        let bent = reader.bend(Code::K2, "start", &Value::Int(at), &allowed, &read_as);
        let start = size;
        return bent.then_some(Dist::Cyclic { start, block_size });
    }
    let mut rules = Rules::default();
    rules.cyclic(
        size.unwrap_or(i128::MAX).into(),
        rank.into(),
        at.into(),
        block_size.into(),
    );
    let sound = rules.found.is_empty();
    add(reader, rules);
    let start = start?;
    let block_size = u64::try_from(block_size).ok()?;
    if let (true, Some(Ok(size)), Ok(rank)) =
        (sound, size.map(u64::try_from), usize::try_from(rank))
    {
        let canonical = cyclic_start(size, rank, block_size);
        if i128::from(canonical) != start && start >= i128::from(size) {
            reader.repair(Code::K2, "start", start.to_string(), canonical.to_string());
        }
        // Beyond 64 bits is beyond `size`: the canonical start stands.
        let start = u64::try_from(start).unwrap_or(canonical);
        return Some(Dist::Cyclic { start, block_size });
    }
    None
}

fn unstructured(reader: &mut Reader<'_>, spelling: &mut Spelling) -> Option<Dist> {
    const ALLOWED: &str = "a sequence of 64-bit integers";
    if reader.get("one_to_one").is_some() {
        spelling.set(Spelling::ONE_TO_ONE);
    }
    let one_to_one = reader.boolean("one_to_one", false);
    let Some(value) = reader.get("indices") else {
        reader.missing("indices", ALLOWED);
        return None;
    };
    if matches!(value, Value::List(_)) {
        spelling.set(Spelling::INDEX_LIST);
    }
    let Some(items) = value.as_sequence() else {
        reader.violate(Code::U1, "indices", shown(value), ALLOWED);
        return None;
    };
    let mut indices = Vec::with_capacity(items.len());
    let mut bad = 0;
    for (at, item) in items.iter().enumerate() {
        if let Some(Ok(index)) = item.as_int().map(i64::try_from) {
            indices.push(index);
            continue;
        }
        bad += 1;
        if bad <= LISTED {
            let given = format!("{} at position {at}", shown(item));
            reader.violate(Code::U1, "indices", given, ALLOWED);
        }
    }
    if bad > LISTED {
        let given = format!("something else at {} more positions", bad - LISTED);
        reader.violate(Code::U1, "indices", given, ALLOWED);
    }
    let mut rules = Rules::default();
    rules.indices(&indices);
    add(reader, rules);
    Some(Dist::Unstructured {
        indices: indices.into(),
        one_to_one: one_to_one?,
    })
}
