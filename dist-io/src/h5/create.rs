//! Datasets made: contiguous ones, and what every dataset of this crate has.

use dap_protocol::ProtocolVersion;
use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};
use hdf5_metno::{Dataset, DatasetBuilderEmptyShape, Datatype};

use super::attribute::{AttributeValue, attach};
use super::dataset::kind_at;
use super::{DIM_DATA_ATTRIBUTE, Refusal, VERSION_ATTRIBUTE};

/// Makes a contiguous dataset, all of its bytes allocated and none written.
pub(super) fn contiguous(
    group: &hdf5::Group,
    key: &str,
    ty: &Datatype,
    shape: &[u64],
) -> Result<Dataset, Refusal> {
    let builder = group
        .new_dataset_builder()
        .no_chunk()
        .alloc_time(Some(AllocTime::Early))
        .fill_time(FillTime::Never)
        .empty_as(ty);
    let builder = shaped(builder, shape)?;
    builder
        .create(key)
        .map_err(Refusal::library("make the dataset"))
}

/// With a shape, which may be that of a scalar.
pub(super) fn shaped(
    builder: hdf5::DatasetBuilderEmpty,
    shape: &[u64],
) -> Result<DatasetBuilderEmptyShape, Refusal> {
    Ok(if shape.is_empty() {
        builder.shape(())
    } else {
        builder.shape(extents(shape)?)
    })
}

/// A shape as the library's crate takes it.
pub(super) fn extents(shape: &[u64]) -> Result<Vec<usize>, Refusal> {
    let extents = shape.iter().map(|&extent| usize::try_from(extent));
    extents
        .collect::<Result<_, _>>()
        .map_err(|_| Refusal::Memory { bytes: u64::MAX })
}

/// Where the elements of a contiguous dataset begin; 0 where there are none.
pub(super) fn offset_of(dataset: &Dataset, shape: &[u64]) -> Result<u64, Refusal> {
    match dataset.offset() {
        Some(offset) => Ok(offset),
        None if shape.contains(&0) => Ok(0),
        None => Err(Refusal::Library {
            operation: "make the dataset".to_owned(),
            message: "its elements have no place".to_owned(),
        }),
    }
}

/// Says how a dataset was distributed, and what else goes with it.
pub(super) fn describe(
    dataset: &hdf5::Location,
    dim_data: &str,
    attributes: &[(String, AttributeValue)],
) -> Result<(), Refusal> {
    let text = |text: &str| AttributeValue::Text(text.to_owned());
    let version = ProtocolVersion::CURRENT.to_string();
    attach(dataset, VERSION_ATTRIBUTE, &text(&version))?;
    attach(dataset, DIM_DATA_ATTRIBUTE, &text(dim_data))?;
    for (name, value) in attributes {
        attach(dataset, name, value)?;
    }
    Ok(())
}

/// Closes a dataset and its file, with all that the library still holds of them.
pub(super) fn close(file: hdf5::File, dataset: Dataset) -> Result<(), Refusal> {
    drop(dataset);
    let close = |error| Refusal::library("close the file")(error);
    file.flush().map_err(close)?;
    file.close().map_err(close)
}

/// Checks that a dataset can be made under this key.
pub(super) fn check_free(file: &hdf5::File, names: &[&str]) -> Result<(), Refusal> {
    for end in 1..=names.len() {
        let path = names[..end].join("/");
        if !file.link_exists(&path) {
            return Ok(());
        }
        if end == names.len() {
            return Err(Refusal::KeyExists);
        }
        if kind_at(file, &path)? != Some(hdf5::LocationType::Group) {
            return Err(Refusal::NotAGroup { at: path });
        }
    }
    Ok(())
}
