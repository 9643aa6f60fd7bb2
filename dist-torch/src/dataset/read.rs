//! Reading: a [`ReadPlan`] carried out on the windows.

use std::mem;
use std::ops::Range;

use dist_comm::Get;

use super::{DistDataset, Part};
use crate::batch::Column;
use crate::fill::varying;
use crate::layout::END;
use crate::memory::try_vec;
use crate::plan::Fetch;
use crate::rows::chosen;
use crate::schema::Kind;
use crate::{Batch, DataError, ReadPlan};

/// A field whose length differs, while it is read.
struct Varying {
    field: usize,
    /// Its number among such fields.
    number: usize,
    /// Bytes of an item.
    item: usize,
    /// Ends as their owners have them: for each fetch one more than it has rows.
    ends: Vec<u64>,
}

impl DistDataset {
    /// Reads into a batch that is empty, and stays so after an error.
    pub(super) fn fetch(
        &self,
        rows: &[u64],
        fields: &[usize],
        batch: &mut Batch,
    ) -> Result<(), DataError> {
        let chosen = chosen(fields, self.schema.fields().len())?;
        let plan = ReadPlan::new(&self.placement, rows)?;
        let columns = batch.prepare(&self.schema, rows.len(), &chosen)?;

        let staged = plan.rows() - plan.repeats().len() + plan.fetches().len();
        let mut varying = varying(&self.schema)
            .enumerate()
            .filter(|&(_, field)| chosen[field])
            .map(|(number, field)| {
                let mut ends = try_vec(staged as u64)?;
                ends.resize(staged, 0);
                Ok(Varying {
                    field,
                    number,
                    item: self.item_bytes(field),
                    ends,
                })
            })
            .collect::<Result<Vec<_>, DataError>>()?;

        self.read_rows(&plan, &chosen, columns, &mut varying)?;
        if let Some(values) = &self.values {
            self.read_values(&plan, values, columns, &varying)?;
        }
        self.repeat(&plan, &chosen, columns);
        batch.done(rows.len(), &chosen);
        Ok(())
    }

    /// The fields of fixed shape, and the ends of the others.
    fn read_rows(
        &self,
        plan: &ReadPlan,
        chosen: &[bool],
        columns: &mut [Column],
        varying: &mut [Varying],
    ) -> Result<(), DataError> {
        let mut gets = Vec::new();
        for (field, column) in columns.iter_mut().enumerate() {
            let item = self.item_bytes(field);
            if chosen[field] && self.is_fixed(field) && item > 0 {
                let places = plan.fetches().iter().map(|fetch| {
                    let source = self.rows.offset(self, fetch, field) + fetch.local * item;
                    let range = fetch.at * item..(fetch.at + fetch.len) * item;
                    (fetch.rank, source, range)
                });
                cut(column.values.bytes_mut(), places, &mut gets);
            }
        }
        for Varying { field, ends, .. } in varying {
            let mut at = 0;
            let places = plan.fetches().iter().map(|fetch| {
                let source = self.rows.offset(self, fetch, *field) + fetch.local * END;
                let start = at;
                at += (fetch.len + 1) * END;
                (fetch.rank, source, start..at)
            });
            cut(bytemuck::must_cast_slice_mut(ends), places, &mut gets);
        }
        self.rows.get(gets)
    }

    /// The items of the fields whose length differs.
    fn read_values(
        &self,
        plan: &ReadPlan,
        values: &Part,
        columns: &mut [Column],
        varying: &[Varying],
    ) -> Result<(), DataError> {
        let mut gets = Vec::new();
        for (field, column) in columns.iter_mut().enumerate() {
            let Some(this) = varying.iter().find(|this| this.field == field) else {
                continue;
            };
            let (item, offsets) = (this.item, &mut column.offsets);
            self.offsets(plan, values, this, offsets)?;
            let items = usize::try_from(offsets[plan.rows()]).ok();
            let bytes = items.and_then(|items| items.checked_mul(item));
            let too_large = DataError::TooLarge { what: "a batch" };
            column.values.set_len(bytes.ok_or(too_large)?)?;
            let mut at = 0;
            let places = plan.fetches().iter().map(|fetch| {
                let start = to_len(this.ends[at]) * item;
                at += fetch.len + 1;
                let source = values.offset(self, fetch, this.number) + start;
                let range = to_len(offsets[fetch.at])..to_len(offsets[fetch.at + fetch.len]);
                (fetch.rank, source, range.start * item..range.end * item)
            });
            cut(column.values.bytes_mut(), places, &mut gets);
        }
        values.get(gets)
    }

    /// What came before in the batch.
    fn repeat(&self, plan: &ReadPlan, chosen: &[bool], columns: &mut [Column]) {
        for (field, column) in columns.iter_mut().enumerate() {
            if !chosen[field] {
                continue;
            }
            let (item, fixed) = (self.item_bytes(field), self.is_fixed(field));
            for repeat in plan.repeats() {
                let range = |at: usize| {
                    if fixed {
                        at * item..(at + 1) * item
                    } else {
                        to_len(column.offsets[at]) * item..to_len(column.offsets[at + 1]) * item
                    }
                };
                let (from, to) = (range(repeat.first), range(repeat.at).start);
                column.values.bytes_mut().copy_within(from, to);
            }
        }
    }

    fn is_fixed(&self, field: usize) -> bool {
        matches!(self.schema.fields()[field].kind(), Kind::Fixed { .. })
    }

    fn item_bytes(&self, field: usize) -> usize {
        // checked when the schema was made
        self.schema.fields()[field].kind().item_bytes().unwrap_or(0)
    }

    /// Where the items of each row begin in the batch, from what the owners' ends say.
    fn offsets(
        &self,
        plan: &ReadPlan,
        values: &Part,
        this: &Varying,
        offsets: &mut Vec<u64>,
    ) -> Result<(), DataError> {
        crate::memory::reserve(offsets, plan.rows() as u64 + 1)?;
        offsets.resize(plan.rows() + 1, 0);
        let mut at = 0;
        for fetch in plan.fetches() {
            let own = &this.ends[at..=at + fetch.len];
            at += fetch.len + 1;
            let held = values.layouts[fetch.rank - self.first].column_len(this.number);
            let last = usize::try_from(own[fetch.len]).ok();
            let inside = last
                .and_then(|last| last.checked_mul(this.item))
                .is_some_and(|end| end <= held);
            if !inside || own.windows(2).any(|pair| pair[0] > pair[1]) {
                return Err(DataError::Corrupt {
                    rank: fetch.rank,
                    what: "lengths of samples",
                });
            }
            for (len, pair) in offsets[fetch.at + 1..].iter_mut().zip(own.windows(2)) {
                *len = pair[1] - pair[0];
            }
        }
        for repeat in plan.repeats() {
            offsets[repeat.at + 1] = offsets[repeat.first + 1];
        }
        let mut sum = 0_u64;
        for offset in offsets {
            let next = sum.checked_add(*offset);
            sum = next.ok_or(DataError::TooLarge { what: "a batch" })?;
            *offset = sum;
        }
        Ok(())
    }
}

impl Part {
    /// Where a column begins in the part of the rank of a fetch.
    fn offset(&self, data: &DistDataset, fetch: &Fetch, column: usize) -> usize {
        self.layouts[fetch.rank - data.first].offset(column)
    }

    /// Reads all of it at once, rank by rank and in the order of memory.
    fn get(&self, mut gets: Vec<Get<'_>>) -> Result<(), DataError> {
        gets.sort_unstable_by_key(|get| (get.rank, get.offset));
        Ok(self.window.get_many(&mut gets)?)
    }
}

/// Makes a read of each place: a rank, the first byte there, and where the bytes go; the latter ascend and do not overlap.
fn cut<'a>(
    mut rest: &'a mut [u8],
    places: impl Iterator<Item = (usize, usize, Range<usize>)>,
    gets: &mut Vec<Get<'a>>,
) {
    let mut done = 0;
    for (rank, offset, range) in places {
        let (_, tail) = mem::take(&mut rest).split_at_mut(range.start - done);
        let (into, tail) = tail.split_at_mut(range.end - range.start);
        (rest, done) = (tail, range.end);
        if !into.is_empty() {
            gets.push(Get { rank, offset, into });
        }
    }
}

/// A number of items that are in memory.
fn to_len(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
