//! [`Growing`]: a dataset that is appended to, looked up.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use dap_protocol::ElementType;
use hdf5_metno::dataset::Dataset;
use serde::{Deserialize, Serialize};

use super::format::unsuited;
use super::header::Header;
use super::steps::Steps;
use super::superblock::Superblock;
use super::tree::{Entry, Tree};
use crate::IoError;
use crate::h5::attribute::names;
use crate::h5::chunk::{Filter, Known, filters_of};
use crate::h5::dataset::{Found, describe, how, opened};
use crate::h5::together::is_regular;
use crate::h5::{Refusal, Storage, ffi, verify};

/// A dataset that grows, as every rank knows it.
#[derive(Debug)]
pub(super) struct Growing {
    pub(super) told: Told,
    pub(super) element: ElementType,
    /// The chunks that have rows and lack some.
    pub(super) tail: BTreeMap<Vec<u64>, Known>,
    /// Those of the last append.
    pub(super) steps: Option<Steps>,
    /// What rank 0 knows.
    pub(super) index: Option<(Header, Tree)>,
}

/// What rank 0 tells of a dataset.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) found: Found,
    max: Option<u64>,
    pub(super) chunk: Vec<u64>,
    pub(super) filters: Vec<Filter>,
    pub(super) fill: Vec<u8>,
    /// Chunks of the last row of chunks: coordinates, first byte, length, mask.
    tail: Vec<(Vec<u64>, u64, u32, u32)>,
}

impl Growing {
    pub(super) fn new(told: Told, index: Option<(Header, Tree)>) -> Result<Self, Refusal> {
        let known = |&(ref coords, offset, len, left_out): &(Vec<u64>, u64, u32, u32)| {
            let known = Known {
                offset,
                len,
                left_out,
            };
            (coords.clone(), known)
        };
        Ok(Self {
            element: told.found.element()?,
            tail: told.tail.iter().map(known).collect(),
            told,
            steps: None,
            index,
        })
    }

    /// Rows that are published.
    pub(super) fn rows(&self) -> u64 {
        self.told.found.shape[0]
    }

    /// Rows that there will be with so many more.
    pub(super) fn rows_after(&self, more: u64) -> Result<u64, IoError> {
        let rows = self.rows().checked_add(more);
        // global indices are signed, and the chunk of the last row ends somewhere
        let last = rows.and_then(|rows| rows.checked_next_multiple_of(self.told.chunk[0]));
        let rows = rows.filter(|_| last.is_some_and(|last| i64::try_from(last).is_ok()));
        let rows = rows.ok_or(IoError::Overflow {
            what: "number of rows",
        })?;
        match self.told.max.filter(|&max| rows > max) {
            None => Ok(rows),
            Some(max) => Err(IoError::MaxExtent {
                axis: 0,
                given: rows,
                allowed: max,
            }),
        }
    }

    /// Takes note of rows that are published, and of the chunks that were named for them.
    pub(super) fn has_grown(&mut self, rows: u64, entries: Vec<Entry>) {
        self.told.found.shape[0] = rows;
        let step = self.told.chunk[0];
        for entry in entries {
            let known = Known {
                offset: entry.offset,
                len: entry.len,
                left_out: entry.left_out,
            };
            self.tail.insert(entry.coords, known);
        }
        let last = rows / step;
        let has_rows = !rows.is_multiple_of(step);
        self.tail.retain(|coords, _| has_rows && coords[0] == last);
    }
}

/// What is to be known of a dataset to append to it, where its header lies, and what it says. By rank 0.
pub(super) fn look_up(
    path: &Path,
    key: &str,
    file: &File,
    superblock: &Superblock,
) -> Result<(u64, Told, (Header, Tree)), Refusal> {
    let (_library, dataset) = opened(path, key)?;
    let len = is_regular(path)?.ok_or(Refusal::NotFound)?.len();
    let mut found = describe(&dataset, len)?;
    let Storage::Chunked { chunk } = found.storage.clone() else {
        return Err(unsuited("it is not in chunks"));
    };
    let how = how(&dataset)?;
    let filters = filters_of(&how)?;
    let names = names(&dataset)?;
    if names.iter().any(|name| name == verify::SUMS) {
        return Err(unsuited("it has checksums, which would no longer be right"));
    }
    if filters.contains(&Filter::Lzf) {
        return Err(unsuited(
            "its chunks go through the filter lzf, which is only undone",
        ));
    }
    let ty = dataset
        .dtype()
        .map_err(Refusal::library("ask for the element type"))?;
    let max = limit(&dataset)?;
    let address = ffi::header_address(&dataset)?;
    let header = Header::read(file, address, superblock.eof)?;
    header.growable()?;
    let is_same = header.chunk == chunk && found.shape.get(1..) == header.shape.get(1..);
    if !is_same {
        return Err(unsuited("its header says something else than the library"));
    }
    // the library may have kept an older one in memory
    found.shape.clone_from(&header.shape);
    let tree = Tree::read(file, header.root(), &chunk, superblock.fan, superblock.eof)?;
    let row = found.shape[0] / chunk[0];
    let tail = tree.row(row).map(|entry| {
        let expected = entry.offset.saturating_add(u64::from(entry.len));
        if expected > superblock.eof {
            return Err(Refusal::Truncated {
                expected,
                found: superblock.eof,
            });
        }
        Ok((
            entry.coords.clone(),
            entry.offset,
            entry.len,
            entry.left_out,
        ))
    });
    let told = Told {
        tail: tail.collect::<Result<_, _>>()?,
        found,
        max,
        chunk,
        filters,
        fill: ffi::fill_value(&how, &ty),
    };
    Ok((address, told, (header, tree)))
}

/// Where the chunks of a dataset lie, in C order of their grid: first byte and length. By one rank.
pub(in crate::h5) fn places(path: &Path, dataset: &Dataset) -> Result<Vec<(u64, u64)>, Refusal> {
    let file = File::open(path).map_err(Refusal::os("open"))?;
    let superblock = Superblock::read(&file)?;
    let header = Header::read(&file, ffi::header_address(dataset)?, superblock.eof)?;
    let chunk = header.chunk.clone();
    let tree = Tree::read(&file, header.root(), &chunk, superblock.fan, superblock.eof)?;
    let places = tree.entries().iter().map(|entry| {
        let len = u64::from(entry.len);
        let expected = entry.offset.saturating_add(len);
        if expected > superblock.eof {
            return Err(Refusal::Truncated {
                expected,
                found: superblock.eof,
            });
        }
        Ok((entry.offset, len))
    });
    places.collect()
}

/// How many rows a dataset may have; `None` where there is no limit.
fn limit(dataset: &Dataset) -> Result<Option<u64>, Refusal> {
    let space = dataset
        .space()
        .map_err(Refusal::library("ask for the shape"))?;
    let extents = space
        .extents()
        .map_err(Refusal::library("ask for the shape"))?;
    match extents.maxdims().first() {
        Some(first) => Ok(first.map(|max| max as u64)),
        None => Err(unsuited("it has no dimensions")),
    }
}
