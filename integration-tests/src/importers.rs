//! Whatever takes an array by the protocol.

use std::path::Path;

use dap_protocol::{DimData, DistBuffer, DistributedArray, HostBuffer};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, ReduceOp};
use dnpy_format::set::{PartRecord, Set, SetWriter};
use dnpy_format::{DnpyError, SaveId, npy, read_localarray, write_localarray};
use local_array::{IntoLocal, LocalArrayBase};
use ndarray::{Data, IxDyn};

use crate::exporters::See;
use crate::{Error, stranger};

/// What arrived on this rank: its metadata, and its elements in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The metadata of what arrived.
    pub dim_data: DimData,
    /// The stored elements.
    pub elements: Vec<f64>,
    /// Whether padding made the way too.
    pub with_padding: bool,
}

/// An array type, or a writer of files (whose files are read again).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Importer {
    /// `LocalArrayBase::from_distarray`.
    LocalArray,
    /// `dnpy_format::save`.
    DnpyFile,
    /// `write_localarray` into memory.
    DnpyStream,
    /// One `.npy` file written by all ranks.
    NpyFile,
    /// A published set.
    Set,
    /// A stranger's reader.
    Stranger,
}

/// All of them.
#[must_use]
pub fn importers() -> Vec<Importer> {
    use Importer::{DnpyFile, DnpyStream, LocalArray, NpyFile, Set, Stranger};
    vec![LocalArray, DnpyFile, DnpyStream, NpyFile, Set, Stranger]
}

impl<C: Communicator> See<C> for Importer {
    fn see<B>(&self, part: DistBuffer<B>, comm: &C, folder: &Path) -> Result<Received, Error>
    where
        B: HostBuffer + IntoLocal<Storage: Data<Elem = f64>>,
    {
        let received = |part: &DistBuffer<_>, with_padding| Received {
            dim_data: part.dim_data().clone(),
            elements: stranger::read(part),
            with_padding,
        };
        match self {
            Self::LocalArray => {
                let array = LocalArrayBase::<B::Storage, IxDyn, &C>::from_distarray(part, comm)?;
                let dim_data = array.dim_data()?;
                Ok(Received {
                    dim_data,
                    elements: array.local().iter().copied().collect(),
                    with_padding: true,
                })
            }
            Self::DnpyFile => {
                let path = folder.join(format!("taken_{}.dnpy", comm.rank()));
                agree(comm, dnpy_format::save(&path, &part))?;
                Ok(received(
                    &agree(comm, dnpy_format::load::<f64>(&path))?,
                    true,
                ))
            }
            Self::DnpyStream => {
                let mut bytes = Vec::new();
                write_localarray(&mut bytes, &part)?;
                Ok(received(&read_localarray::<f64, _>(&mut &bytes[..])?, true))
            }
            Self::NpyFile => {
                let path = folder.join("taken.npy");
                write_whole(&path, &part, comm)?;
                Ok(received(
                    &agree(comm, npy::load_npy::<f64>(&path, part.dim_data()))?,
                    false,
                ))
            }
            Self::Set => {
                let prefix = folder.join("taken");
                publish(&prefix, &part, comm)?;
                let read = Set::open(&prefix).and_then(|set| set.read::<f64>(part.dim_data()));
                Ok(received(&agree(comm, read)?.part, false))
            }
            Self::Stranger => Ok(Received {
                dim_data: part.dim_data().clone(),
                elements: stranger::read(&part),
                with_padding: true,
            }),
        }
    }
}

/// A save id that all ranks know. Collective.
fn save_id<C: Communicator>(comm: &C) -> Result<SaveId, Error> {
    let mut id = SaveId::random().to_string().into_bytes();
    comm.broadcast(0, &mut id)?;
    Ok(std::str::from_utf8(&id)?.parse()?)
}

/// Writes the array of all ranks into one `.npy` file. Collective.
pub(crate) fn write_whole<'a, A, C>(path: &Path, array: &'a A, comm: &C) -> Result<(), Error>
where
    A: DistributedArray,
    A::Buffer<'a>: HostBuffer,
    C: Communicator,
{
    let id = save_id(comm)?;
    let shape = array.distarray().dim_data().global_shape();
    let created = (comm.rank() == 0)
        .then(|| npy::PartsWriter::create(path, id, dap_protocol::ElementType::F64, &shape));
    let created = agree(comm, created.transpose())?;
    let writer = agree(
        comm,
        created.map_or_else(|| npy::PartsWriter::join(path, id), Ok),
    )?;
    let written = agree(comm, writer.write_part(array))?;
    let written = comm.all_reduce_value(written, ReduceOp::Sum)?;
    let published = if comm.rank() == 0 {
        writer.publish(written)
    } else {
        Ok(())
    };
    Ok(agree(comm, published)?)
}

/// Saves the array of all ranks as a set. Collective.
pub(crate) fn publish<'a, A, C>(prefix: &Path, array: &'a A, comm: &C) -> Result<(), Error>
where
    A: DistributedArray,
    A::Buffer<'a>: HostBuffer,
    C: Communicator,
{
    let writer = SetWriter::new(prefix, save_id(comm)?);
    let record = agree(comm, writer.save_part(comm.rank(), array))?;
    let published = comm
        .gather_v(0, &record.to_bytes())?
        .map_or(Ok(()), |records| {
            let records = records
                .iter()
                .map(|bytes| PartRecord::from_bytes(bytes))
                .collect::<Result<Vec<_>, _>>();
            records
                .map_err(DnpyError::from)
                .and_then(|records| writer.publish(&records))
        });
    Ok(agree(comm, published)?)
}
