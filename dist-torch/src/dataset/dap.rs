//! Fields as arrays of the Distributed Array Protocol, out and in.

use std::sync::Arc;

use dap_protocol::literal;
use dap_protocol::{
    DimData, DimDict, DistBuffer, Element, HostArray, HostBuffer, LocalBuffer, ProtocolError,
};
use dist_comm::OneSided;
use dist_maps::Distribution;

use super::build::{canary, rows_by_rank, settle};
use super::{DistDataset, Part};
use crate::layout::{CANARY, Layout};
use crate::memory::try_vec;
use crate::placement::without_padding;
use crate::schema::{Kind, Structure};
use crate::{DataError, Placement, Schema};

/// Parts of distributed arrays that become the fields of a data set: [`DistDataset::from_dap`].
#[derive(Default)]
pub struct DapFields<'a> {
    fields: Vec<(String, DistBuffer<Box<dyn HostBuffer + 'a>>)>,
}

impl<'a> DapFields<'a> {
    /// No fields yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// And this one: this rank's part of an array whose first dimension counts the rows, and whose others lie whole on every
    /// rank. Any exporter's part will do, in blocks, cyclic, or by lists; communication padding is left out.
    ///
    /// # Errors
    /// Those of the protocol; none for a part that fits its own metadata.
    pub fn field<B: HostBuffer + 'a>(
        mut self,
        name: impl Into<String>,
        part: DistBuffer<B>,
    ) -> Result<Self, ProtocolError> {
        let part = part.map_buffer(|buffer| Box::new(buffer) as Box<dyn HostBuffer + 'a>)?;
        self.fields.push((name.into(), part));
        Ok(self)
    }
}

impl std::fmt::Debug for DapFields<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.fields.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

/// What a rank says of its part of a field.
struct Imported {
    placement: Placement,
    /// Stored rows before those that are owned.
    skipped: usize,
}

impl DistDataset {
    /// This rank's rows of a field of fixed shape as its part of a distributed array, `(rows, *shape)`: the rows are distributed as the
    /// data set's are, the other dimensions lie whole on every rank. Each group of ranks has an array of its own. Local; copies
    /// the rows.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_torch::{DapFields, DataError, DistDataset, Rows, from_fn};
    ///
    /// ThreadComm::run(3, |comm| {
    ///     let source = from_fn(7, |row| Ok::<_, std::io::Error>(([row as f32, 0.5], row)));
    ///     let data = DistDataset::builder("pairs").build(comm, &source)?;
    ///     let part = data.export::<f32>("0")?;
    ///     assert_eq!(part.dim_data().global_shape(), [7, 2]);
    ///     // and back, as a data set of one field
    ///     let again = DistDataset::from_dap("again", comm, &DapFields::new().field("x", part)?)?;
    ///     assert_eq!(again.sample(5)?.get("x"), data.sample(5)?.get("0"));
    ///     Ok::<_, DataError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<DataError>>(())
    /// ```
    ///
    /// # Errors
    /// [`DataError::UnknownField`], [`DataError::KindMismatch`], [`DataError::DtypeMismatch`]; [`DataError::Rank`] on a rank that has
    /// no place in the distribution; [`DataError::Allocation`].
    pub fn export<T: Element>(&self, name: &str) -> Result<DistBuffer<HostArray<T>>, DataError> {
        let field = self.schema.index_of(name)?;
        let kind = self.schema.fields()[field].kind();
        let Kind::Fixed { element, shape } = kind else {
            return Err(DataError::KindMismatch {
                name: name.into(),
                asked: "fixed",
                held: kind.name(),
            });
        };
        if *element != T::TYPE {
            return Err(DataError::DtypeMismatch {
                name: name.into(),
                asked: T::TYPE,
                held: *element,
            });
        }
        let no_place = DataError::Rank {
            given: self.rank,
            ranks: self.placement.ranks().len(),
        };
        let rows = self.placement.dim_dict(self.rank).ok_or(no_place)??;
        let mut dims = vec![rows];
        for &extent in shape {
            dims.push(DimDict::whole(extent as u64)?);
        }
        let mut extents = vec![self.own_rows()];
        extents.extend(shape);
        let layout = &self.rows.layouts[self.rank - self.first];
        let (offset, len) = (layout.offset(field), layout.column_len(field));
        let count = len / size_of::<T>();
        let mut data: Vec<T> = try_vec(count as u64)?;
        data.resize(count, T::default());
        if let Some(bytes) = T::bytes_mut(&mut data) {
            self.rows.window.get(self.rank, offset, bytes)?;
        } else {
            let mut bytes = try_vec(len as u64)?;
            bytes.resize(len, 0);
            self.rows.window.get(self.rank, offset, &mut bytes)?;
            let no_value = |_| DataError::Value { name: name.into() };
            dap_protocol::copy_bytes_to_elements(&bytes, &mut data).map_err(no_value)?;
        }
        Ok(DistBuffer::new(
            DimData::new(dims),
            HostArray::new(extents, data)?,
        )?)
    }

    /// A data set of distributed arrays, a row of which is a sample: its fields are called as the arrays are, its rows lie
    /// where theirs do. Collective; every rank gives its parts of the same arrays in the same order. Copies what it takes.
    ///
    /// See [`export`](Self::export) for an example.
    ///
    /// # Errors
    /// The same on every rank. [`DataError::OnRank`] when the parts make no array, the arrays have other numbers of rows or are distributed
    /// otherwise, a row has no rank or several, another dimension is cut, or two fields have one name.
    pub fn from_dap<C: OneSided + ?Sized>(
        name: impl Into<String>,
        comm: &C,
        fields: &DapFields<'_>,
    ) -> Result<Self, DataError> {
        let (rank, size) = (comm.rank(), comm.size());
        // of the whole array: a rank without a place in it has a part without any extent
        let named = fields.fields.iter().map(|(name, part)| {
            let shape = part.dim_data().global_shape();
            let extents = shape.iter().skip(1).map(|&extent| usize::try_from(extent));
            let too_large = |_| DataError::TooLarge {
                what: "a row of a field",
            };
            let leaf = Structure::Leaf(Kind::Fixed {
                element: part.buffer().element_type(),
                shape: extents.collect::<Result<_, _>>().map_err(too_large)?,
            });
            Ok((name.clone(), leaf))
        });
        let named: Result<Vec<_>, DataError> = named.collect();
        let schema = named.and_then(|named| Schema::new(Structure::Map(named)));
        let schema = Arc::new(settle(comm, schema)?);
        let texts = comm.all_gather_v(schema.to_json().as_bytes())?;
        if let Some(other) = texts.iter().position(|text| *text != texts[0]) {
            let shown = |rank: usize| String::from_utf8_lossy(&texts[rank]).into_owned();
            return Err(DataError::Differs {
                what: "arrays of",
                rank: other,
                given: shown(other),
                other: 0,
                allowed: shown(0),
            });
        }
        let mut imported = Vec::new();
        for (name, part) in &fields.fields {
            let texts = comm.all_gather_v(part.dim_data().to_value().to_string().as_bytes())?;
            imported.push(settle(comm, import(name, part, rank, &texts))?);
        }
        let placement = match imported.first() {
            Some(first) => first.placement.clone(),
            None => Placement::new(0, &crate::Share::Nsplit, 0..size)?,
        };
        let alike = imported
            .iter()
            .zip(&fields.fields)
            .try_for_each(|(field, (name, _))| {
                let same = field.placement.axis() == placement.axis()
                    && field.placement.ranks() == placement.ranks();
                let reason = "its rows are distributed otherwise than those of the first field";
                same.then_some(()).ok_or_else(|| refused(name, reason))
            });
        settle(comm, alike)?;
        let layouts = rows_by_rank(&placement, 0, size).map(|rows| Layout::of_rows(&schema, rows));
        let layouts: Vec<Layout> = settle(comm, layouts.collect())?;
        let own = &layouts[rank];
        let mut window = comm.window(own.len())?;
        window.with_local(&mut |part| {
            part[..CANARY].copy_from_slice(&canary(&schema, rank));
            for (index, (field, (_, given))) in imported.iter().zip(&fields.fields).enumerate() {
                let item = schema.fields()[index].kind().item_bytes().unwrap_or(0);
                copy_rows(
                    given.buffer(),
                    field.skipped * item,
                    own.column(part, index),
                );
            }
        })?;
        let data = Self {
            name: name.into(),
            schema,
            placement,
            rank,
            first: 0,
            rows: Part { window, layouts },
            values: None,
            decode: None,
        };
        data.probe(comm)?;
        Ok(data)
    }
}

fn refused(name: &str, reason: impl std::fmt::Display) -> DataError {
    DataError::Import {
        name: name.into(),
        reason: format!("{reason}"),
    }
}

/// Where the rows of a field are, from what the ranks' parts say of themselves.
fn import(
    name: &str,
    part: &DistBuffer<Box<dyn HostBuffer + '_>>,
    rank: usize,
    texts: &[Vec<u8>],
) -> Result<Imported, DataError> {
    let parts = texts.iter().map(|text| {
        let value = literal::parse(&String::from_utf8_lossy(text)).map_err(|e| refused(name, e))?;
        DimData::from_value(&value, None).map_err(|e| refused(name, e))
    });
    let parts: Vec<DimData> = parts.collect::<Result<_, _>>()?;
    let whole = Distribution::from_dim_data_per_rank(&parts).map_err(|e| refused(name, e))?;
    let Some((rows, others)) = whole.axes().split_first() else {
        return Err(refused(name, "it has no dimension that could count rows"));
    };
    if others.iter().any(|axis| axis.ranks() > 1) {
        return Err(refused(
            name,
            "a dimension other than the first is distributed",
        ));
    }
    let skipped = whole
        .grid_rank(rank)
        .map_or(0, |coord| rows.owned_local(coord).start);
    let placement = Placement::of_axis(without_padding(rows)?, whole.targets().into())?;
    // by the rule of the part's own version
    if part.owned_shape().first() != Some(&(placement.rows_of(rank) as u64)) {
        return Err(refused(
            name,
            "its padding at a periodic edge follows version 0.9 of the protocol",
        ));
    }
    Ok(Imported { placement, skipped })
}

/// Copies the bytes of a buffer, in C order and from byte `skipped` on, as far as `into` goes.
fn copy_rows(buffer: &dyn HostBuffer, mut skipped: usize, mut into: &mut [u8]) {
    buffer.visit_bytes(&mut |piece| {
        let unwanted = skipped.min(piece.len());
        skipped -= unwanted;
        let wanted = &piece[unwanted..];
        let wanted = &wanted[..wanted.len().min(into.len())];
        let (now, later) = std::mem::take(&mut into).split_at_mut(wanted.len());
        now.copy_from_slice(wanted);
        into = later;
    });
}
