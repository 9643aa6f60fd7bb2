//! [`from_file`]: a dataset as a distributed array, a virtual one from its parts.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{DistBuffer, Element, ElementType, HostArray, copy_bytes_to_elements};
use dist_comm::agree::agree;
use dist_comm::{Communicator, SharedFile};

use super::super::load::{check_values, placed, read_part, zeros};
use super::super::together::{by_rank_0, same};
use super::super::{Refusal, Wanted, load_hdf5};
use super::look_up::{LookedUp, look_up};
use super::mosaic::{Mosaic, MosaicFile};
use crate::{Direction, FileLayout, IoError, IoPlan, read_elements};

/// Loads one dataset of an HDF5 file, each rank its part. Collective; equal paths, dataset names and element types.
///
/// `dataset_name` is the full path of one array, `"/data"` or `"/group/x"`, never that of a group. As in
/// [`load_hdf5`](crate::load_hdf5), all that a rank's part stores is read, padding too, and nothing is converted.
///
/// A virtual dataset is read from its parts: each rank opens those that hold what it reads, without the HDF5 library, which would
/// let a missing part pass for zeros. Before that, every part is looked at: that it is there and whole, of the right type and
/// shape, in one piece, and, if [`to_file`](crate::to_file) wrote it, of this save and for this place. Anybody's virtual dataset is
/// read whose mappings are blocks, do not overlap and leave no element out. Any other dataset is read as `load_hdf5` does.
///
/// # Errors
/// The same on every rank: those of [`load_hdf5`](crate::load_hdf5); of [`IoError::Hdf5`] also [`Refusal::Part`] with the part and
/// what is wrong with it, [`Refusal::NotBlocks`] and [`Refusal::Uncovered`].
pub fn from_file<'a, T: Element>(
    path: impl AsRef<Path>,
    dataset_name: &str,
    wanted: impl Into<Wanted<'a>>,
    comm: &(impl Communicator + ?Sized),
) -> Result<DistBuffer<HostArray<T>>, IoError> {
    let (path, wanted) = (path.as_ref(), wanted.into());
    same(comm, "path", path.as_os_str().as_bytes())?;
    same(comm, "dataset name", dataset_name.as_bytes())?;
    let looked_up = by_rank_0(comm, path, dataset_name, || look_up(path, dataset_name))?;
    let LookedUp {
        found,
        parts: Some(parts),
    } = looked_up
    else {
        return load_hdf5(path, comm, wanted, dataset_name);
    };
    let kind = match wanted {
        Wanted::AsSaved => "as saved",
        Wanted::Distribution(_) => "a distribution",
        Wanted::DimData(_) => "dim_data",
    };
    same(comm, "element type", T::TYPE.to_string().as_bytes())?;
    same(comm, "kind of part", kind.as_bytes())?;
    let refused = |refusal: Refusal| IoError::Hdf5 {
        path: path.to_owned(),
        key: dataset_name.to_owned(),
        refusal: Box::new(refusal),
    };
    let element = found.element().map_err(refused)?;
    if found.is_enumeration {
        return Err(refused(Refusal::Enumeration));
    }
    if element != T::TYPE {
        return Err(IoError::ElementType {
            given: element,
            allowed: T::TYPE,
        });
    }
    let (dim_data, distribution) = placed(comm, &found, wanted, &refused)?;
    // a scalar is read by every rank: no dictionary can say that one has none
    let distribution = distribution.filter(|_| dim_data.ndim() > 0);
    let sizes = (element.size(), element.word_size());
    let mosaic = Mosaic::new(&found.shape, sizes, parts, false);
    let file = MosaicFile::new(comm, path, mosaic);
    let (shape, mut elements) = agree(comm, zeros::<T>(&dim_data))?;
    let mut checked = match T::bytes_mut(&mut elements) {
        Some(_) => Vec::new(),
        None => vec![0; elements.len()], // `bool`: bytes are looked at before they are elements
    };
    let bytes = T::bytes_mut(&mut elements).unwrap_or(&mut checked);
    if let Some(distribution) = &distribution {
        let plan = IoPlan::new(
            distribution,
            element.size(),
            FileLayout::Contiguous,
            Direction::Read,
        )?;
        read_elements(comm, &file, 0, &plan, bytes)?;
    } else {
        let read = |offset, to: &mut [u8]| file.read_at(offset, to);
        agree(comm, read_part(read, &dim_data, element.size(), bytes))?;
    }
    check_values(comm, &checked, element)?;
    if element == ElementType::Bool {
        agree(comm, copy_bytes_to_elements(&checked, &mut elements))?;
    }
    let buffer = HostArray::new(shape, elements).map_err(IoError::from);
    let part = buffer.and_then(|buffer| Ok(DistBuffer::new(dim_data, buffer)?));
    Ok(agree(comm, part)?)
}
