//! [`Conversion`]: the elements of an array on their way to a target, within a budget of memory.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use dap_protocol::{DimData, DistBuffer, ElementType, HostBuffer, LocalBuffer, Order};
#[cfg(feature = "hdf5")]
use dist_io::SaveHdf5;
use dist_maps::Distribution;
use dnpy_format::set::{PartRecord, SetWriter};
use dnpy_format::{SaveId, npy};

use super::error::CliError;
use super::pieces::whole;
use super::progress::Work;
use super::source::Source;

/// What is read, and the memory that elements may take.
#[derive(Clone, Copy)]
pub(super) struct Conversion<'a> {
    pub(super) source: &'a Source,
    pub(super) budget: u64,
}

impl Conversion<'_> {
    /// Writes a `.npy` file.
    pub(super) fn to_npy(self, path: &Path) -> Result<(), CliError> {
        let shape = self.source.shape();
        let boxes = self.source.boxes(None, self.budget, 0)?;
        let work = Work::writing(stored_bytes(&whole(&shape)?, self.source.element()));
        let element = self.source.element();
        let writer = npy::PartsWriter::create(path, SaveId::random(), element, &shape)?;
        let write = || {
            let mut written = 0;
            for piece in boxes {
                let piece = piece?;
                let elements = self.source.read(&piece)?;
                let bytes = writer.write_part(&DistBuffer::new(piece, elements)?)?;
                written += bytes;
                work.done(bytes)?;
            }
            Ok::<u64, CliError>(written)
        };
        match write() {
            Ok(written) => writer.publish(written)?,
            Err(error) => {
                // the first error is the one to tell
                let _ = writer.discard();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes a set of `.dnpy` files.
    pub(super) fn to_set(self, prefix: &Path, wanted: &Distribution) -> Result<(), CliError> {
        let writer = SetWriter::new(prefix, SaveId::random());
        let mut parts = Vec::with_capacity(wanted.ranks());
        let mut total = 0_u64;
        for rank in 0..wanted.ranks() {
            let part = wanted.dim_data(rank)?;
            total = total.saturating_add(stored_bytes(&part, self.source.element()));
            parts.push(part);
        }
        let work = Work::writing(total);
        let mut records: Vec<PartRecord> = Vec::new();
        let mut save = || -> Result<(), CliError> {
            for (rank, part) in parts.iter().enumerate() {
                let stream = Stream::new(self, part, &work)?;
                let record = writer.save_part(rank, &DistBuffer::new(part.clone(), &stream)?)?;
                records.push(record);
                stream.outcome()?;
            }
            Ok(())
        };
        if let Err(error) = save() {
            for record in &records {
                // no manifest names it; what cannot be removed is removed by the next save
                let _ = fs::remove_file(prefix.with_file_name(record.file()));
            }
            return Err(error);
        }
        writer.publish(&records)?;
        Ok(())
    }

    /// Writes an HDF5 dataset, or a virtual one with its parts.
    #[cfg(feature = "hdf5")]
    pub(super) fn to_hdf5(
        self,
        save: &SaveHdf5,
        wanted: &Distribution,
        in_parts: bool,
    ) -> Result<(), CliError> {
        let element = self.source.element();
        let work = Work::writing(stored_bytes(&whole(&self.source.shape())?, element));
        let mut writer = if in_parts {
            save.begin_parts(wanted, element)?
        } else {
            save.begin(wanted, element)?
        };
        // chunks that are coded take three times their size
        let chunk = writer.chunk().map(<[u64]>::to_vec);
        let mut coding = 0;
        if let Some(chunk) = &chunk {
            let bytes = chunk
                .iter()
                .fold(element.size() as u64, |n, &c| n.saturating_mul(c));
            let at_once = bytes.max(self.budget / 12);
            writer = writer.coding(at_once);
            coding = at_once.saturating_mul(3);
        }
        for piece in self.source.boxes(chunk.as_deref(), self.budget, coding)? {
            let piece = piece?;
            let elements = self.source.read(&piece)?;
            work.done(writer.write_part(&DistBuffer::new(piece, elements)?)?)?;
        }
        Ok(writer.publish()?)
    }
}

/// Bytes of a part, padding included.
fn stored_bytes(part: &DimData, element: ElementType) -> u64 {
    let extents = part.local_shape().into_iter();
    extents.fold(element.size() as u64, u64::saturating_mul)
}

/// A part whose elements are read when they are asked for: a buffer that is never in memory as a whole.
struct Stream<'a> {
    conversion: Conversion<'a>,
    part: &'a DimData,
    shape: Vec<usize>,
    work: &'a Work,
    /// Why it stopped; whoever visits the bytes cannot be told.
    failed: RefCell<Option<CliError>>,
}

impl<'a> Stream<'a> {
    fn new(
        conversion: Conversion<'a>,
        part: &'a DimData,
        work: &'a Work,
    ) -> Result<Self, CliError> {
        let extents = part.local_shape().into_iter();
        let shape = extents.map(usize::try_from).collect::<Result<_, _>>();
        let too_large = |_| dap_protocol::ProtocolError::Overflow {
            what: "extent of a part",
        };
        Ok(Self {
            conversion,
            part,
            shape: shape.map_err(too_large)?,
            work,
            failed: RefCell::new(None),
        })
    }

    /// Whether all bytes were visited.
    fn outcome(&self) -> Result<(), CliError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn visit(&self, visit: &mut dyn FnMut(&[u8])) -> Result<(), CliError> {
        let Conversion { source, budget } = self.conversion;
        for piece in source.pieces(self.part, budget)? {
            let elements = source.read(&piece?)?;
            let mut bytes = 0;
            elements.visit_bytes(&mut |some| {
                visit(some);
                bytes += some.len() as u64;
            });
            self.work.done(bytes)?;
        }
        Ok(())
    }
}

impl LocalBuffer for Stream<'_> {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn element_type(&self) -> ElementType {
        self.conversion.source.element()
    }
}

impl HostBuffer for Stream<'_> {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        None
    }

    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        self.failed.replace(self.visit(visit).err());
    }
}
