//! What a virtual dataset is made of. (File Format Specification, III.E, VII.E and VIII.)

use super::{Cursor, damaged, unread};
use crate::h5::Refusal;
use crate::h5::vds::{Block, Blocks, Mapping, Selected};

/// Takes the mappings of a virtual dataset from its value in the global heap.
pub(super) fn take(mut bytes: Cursor<'_>) -> Result<Vec<Mapping>, Refusal> {
    let at = bytes.at;
    let sum = bytes.rest.split_last_chunk::<4>();
    let (rest, sum) = sum.ok_or_else(|| damaged(at, "the mappings that begin here are cut off"))?;
    if !cfg!(fuzzing) && u32::from_le_bytes(*sum) != super::super::append::checksum(rest) {
        return Err(damaged(
            at,
            "the checksum of the mappings that begin here is wrong",
        ));
    }
    bytes.rest = rest;
    let version = bytes.byte()?;
    if version != 0 {
        return Err(unread(&format!("mappings of version {version}")));
    }
    let count = bytes.length()?;
    let mut mappings = Vec::new();
    for _ in 0..count {
        mappings.push(Mapping {
            file: bytes.text()?.to_vec(),
            dataset: bytes.text()?.to_vec(),
            source: selected(&mut bytes)?,
            target: selected(&mut bytes)?,
        });
    }
    Ok(mappings)
}

/// Takes a selection.
fn selected(bytes: &mut Cursor<'_>) -> Result<Selected, Refusal> {
    let at = bytes.at;
    let (kind, version) = (bytes.number(4)?, bytes.number(4)?);
    if kind == 3 {
        bytes.skip(8)?;
        return Ok(Selected::All);
    }
    if kind != 2 {
        return Err(unread("selections that are no blocks"));
    }
    let (flags, width) = match version {
        1 => {
            bytes.skip(4)?;
            (0, 4)
        }
        2 => (bytes.byte()?, 8),
        3 => {
            let flags = bytes.byte()?;
            (flags, bytes.count(1)?)
        }
        _ => return Err(damaged(at, "a selection of a version that there is not")),
    };
    if !matches!(width, 2 | 4 | 8) {
        return Err(damaged(at, "a selection in numbers of this size"));
    }
    if version < 3 {
        bytes.skip(4)?; // its length
    }
    let ndim = bytes.count(4)?;
    if flags & 1 != 0 {
        return regular(bytes, ndim, width);
    }
    let count = bytes.number(width)?;
    let mut blocks = Selected::Other;
    for _ in 0..count {
        let mut corner = || {
            (0..ndim)
                .map(|_| bytes.number(width))
                .collect::<Result<Vec<u64>, _>>()
        };
        let (first, last) = (corner()?, corner()?);
        if ndim == 0 {
            break;
        }
        let axes = first.iter().zip(&last);
        let shape = axes.map(|(first, last)| last.checked_sub(*first)?.checked_add(1));
        let shape: Option<Vec<u64>> = shape.collect();
        blocks = match shape {
            Some(shape) if count == 1 => Selected::Union(vec![Block::new(first, shape)]),
            _ => Selected::Other,
        };
    }
    Ok(blocks)
}

/// Takes a regular selection: where it begins, stride, count and block per dimension.
fn regular(bytes: &mut Cursor<'_>, ndim: usize, width: usize) -> Result<Selected, Refusal> {
    let (mut start, mut shape) = (Vec::new(), Vec::new());
    let mut is_block = true;
    for _ in 0..ndim {
        start.push(bytes.number(width)?);
        let (stride, count) = (bytes.number(width)?, bytes.number(width)?);
        let block = bytes.number(width)?;
        let extent = match count {
            1 => Some(block),
            _ if stride == block => count.checked_mul(block),
            _ => None,
        };
        // all ones: without an end
        let unlimited = u64::MAX >> (64 - 8 * width);
        match extent.filter(|_| count != unlimited && block != unlimited) {
            Some(extent) => shape.push(extent),
            None => is_block = false,
        }
    }
    let axes = start.into_iter().zip(shape);
    let axes = axes.map(|(start, block)| Blocks {
        start,
        stride: 1,
        count: Some(1),
        block: Some(block),
    });
    Ok(if is_block {
        Selected::Regular(axes.collect())
    } else {
        Selected::Other
    })
}
