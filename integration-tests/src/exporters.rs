//! Whatever shows an array by the protocol.

use std::path::Path;

use dap_protocol::{
    DimData, DistBuffer, DistributedArray, ElementType, HostBuffer, LocalBuffer, Order,
};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Distribution;
use dnpy_format::{MappedArray, MappedPart, npy, set};
use local_array::{ArrayError, IntoLocal, LocalArray};
use ndarray::{ArrayBase, ArrayView, Data, IxDyn, ShapeBuilder, ViewRepr};

use crate::importers::{Importer, Received, publish, write_whole};
use crate::stranger::Backwards;
use crate::{Error, oracle};

/// What an exporter shows its part to.
pub(crate) trait See<C> {
    fn see<B>(&self, part: DistBuffer<B>, comm: &C, folder: &Path) -> Result<Received, Error>
    where
        B: HostBuffer + IntoLocal<Storage: Data<Elem = f64>>;
}

/// An array type, or a reader of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exporter {
    /// `LocalArray`, its elements borrowed.
    LocalArray,
    /// What `dnpy_format::load` returns.
    DnpyFile,
    /// A mapped `.dnpy` file.
    MappedDnpy,
    /// Stored parts of a plain `.npy` file, padding included.
    NpyFile,
    /// Owned parts of a plain `.npy` file; their padding is not read.
    NpyFileOwned,
    /// A set of files that was saved in another distribution.
    Set,
    /// A stranger's array.
    Stranger,
}

/// All of them.
#[must_use]
pub fn exporters() -> Vec<Exporter> {
    use Exporter::{DnpyFile, LocalArray, MappedDnpy, NpyFile, NpyFileOwned, Set, Stranger};
    vec![
        LocalArray,
        DnpyFile,
        MappedDnpy,
        NpyFile,
        NpyFileOwned,
        Set,
        Stranger,
    ]
}

impl Exporter {
    /// Whether its padding is filled.
    pub(crate) fn fills_padding(self) -> bool {
        self != Self::NpyFileOwned
    }

    /// Makes an array with the values of the oracle, and shows this rank's part. Collective.
    pub(crate) fn show<C: Communicator>(
        self,
        distribution: &Distribution,
        comm: &C,
        folder: &Path,
        importer: Importer,
    ) -> Result<Received, Error> {
        let dim_data = distribution.dim_data(comm.rank())?;
        let made = Backwards::new(dim_data.clone(), elements(&dim_data))?;
        match self {
            Self::LocalArray => {
                let shape = distribution.global_shape();
                let array = LocalArray::<f64, IxDyn, _>::from_fn(distribution, comm, |at| {
                    oracle::value(at, shape)
                })?;
                importer.see(array.distarray(), comm, folder)
            }
            Self::DnpyFile => {
                let path = folder.join(format!("given_{}.dnpy", comm.rank()));
                agree(comm, dnpy_format::save(&path, &made))?;
                importer.see(agree(comm, dnpy_format::load::<f64>(&path))?, comm, folder)
            }
            Self::MappedDnpy => {
                let path = folder.join(format!("given_{}.dnpy", comm.rank()));
                agree(comm, dnpy_format::save(&path, &made))?;
                let part = agree(
                    comm,
                    MappedPart::open(&path).and_then(|mapped| mapped.part::<f64>()),
                )?;
                let (_, dim_data, array) = part.into_parts();
                importer.see(DistBuffer::new(dim_data, Mapped(&array))?, comm, folder)
            }
            Self::NpyFile | Self::NpyFileOwned => {
                let path = folder.join("given.npy");
                write_whole(&path, &made, comm)?;
                let read = if self == Self::NpyFile {
                    npy::read_by_dim_data
                } else {
                    npy::read_owned
                };
                importer.see(agree(comm, read(&path, &dim_data))?.part, comm, folder)
            }
            Self::Set => {
                let other = whole_rows(distribution)?;
                let dim_data_there = other.dim_data(comm.rank())?;
                let there = Backwards::new(dim_data_there.clone(), elements(&dim_data_there))?;
                let prefix = folder.join("given");
                publish(&prefix, &there, comm)?;
                let read = set::Set::open(&prefix).and_then(|set| set.read::<f64>(&dim_data));
                importer.see(agree(comm, read)?.part, comm, folder)
            }
            Self::Stranger => {
                let (_, dim_data, buffer) = made.distarray().into_parts();
                importer.see(DistBuffer::new(dim_data, buffer.clone())?, comm, folder)
            }
        }
    }
}

fn elements(dim_data: &DimData) -> Vec<f64> {
    oracle::part(dim_data)
        .into_iter()
        .map(|(value, _)| value)
        .collect()
}

/// The same array over the same ranks in blocks of whole rows; a scalar stays as it is.
fn whole_rows(distribution: &Distribution) -> Result<Distribution, Error> {
    let rows = Distribution::over(distribution.ranks()).shape(distribution.global_shape());
    Ok(if distribution.ndim() == 0 {
        rows.build()?
    } else {
        rows.block_balanced(0).build()?
    })
}

/// A mapped file's elements as `ndarray` sees them: what a user writes where two crates have never heard of each other.
struct Mapped<'m>(&'m MappedArray<f64>);

impl LocalBuffer for Mapped<'_> {
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn element_type(&self) -> ElementType {
        self.0.element_type()
    }
}

impl HostBuffer for Mapped<'_> {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        self.0.contiguous_bytes()
    }
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        self.0.visit_bytes(visit);
    }
}

impl<'m> IntoLocal for Mapped<'m> {
    type Storage = ViewRepr<&'m f64>;

    fn into_local(self) -> Result<ArrayBase<Self::Storage, IxDyn>, ArrayError> {
        let shape = IxDyn(self.0.shape()).set_f(self.0.order() == Order::Fortran);
        let elements = self.0.elements().unwrap_or(&[]);
        let given = elements.len();
        ArrayView::from_shape(shape, elements).map_err(|_| {
            let shape = self.0.shape().to_vec();
            dap_protocol::ProtocolError::ElementCount {
                shape,
                expected: None,
                given,
            }
            .into()
        })
    }
}
