//! HDF5 files of `dap`: a dataset made to be written from its first byte on, and the datasets that a file has.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use dap_protocol::literal::Value;
use dap_protocol::{DimData, ElementType, ProtocolVersion};
use dist_io::{IoError, Refusal, inspect_hdf5};
use dist_maps::Distribution;
use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};
use hdf5_metno::types::{H5Type, TypeDescriptor, VarLenUnicode};

use super::error::CliError;
use super::publish::Pending;
use super::source::with_element;

/// Groups inside each other, and datasets, that are looked at.
const DEPTH: usize = 32;
const DATASETS: usize = 10_000;

/// Makes a contiguous dataset in a file that is empty, or becomes a copy of the one that it will replace. The file then stands
/// where the elements begin.
pub(super) fn create(
    pending: &mut Pending,
    path: &Path,
    key: &str,
    element: ElementType,
    distribution: &Distribution,
) -> Result<(), CliError> {
    let failed = |operation: &'static str, message: String| CliError::Hdf5 {
        path: path.to_owned(),
        key: key.to_owned(),
        operation,
        message,
    };
    let library =
        |operation: &'static str| move |error: hdf5::Error| failed(operation, error.to_string());
    let wrong = |name: &str| name.is_empty() || name == "." || name.contains('\0');
    if key.split('/').any(wrong) {
        let message = "allowed: names joined by \"/\", none of them empty or \".\"".to_owned();
        return Err(failed("read the key", message));
    }
    let replaced = pending.replaced().map(Path::to_owned);
    let file = if let Some(old) = &replaced {
        let mut old = File::open(old).map_err(CliError::os("open", old))?;
        std::io::copy(&mut old, pending.file()).map_err(CliError::os("copy", path))?;
        hdf5::File::open_rw(pending.path()).map_err(library("open"))?
    } else {
        hdf5::File::create(pending.path()).map_err(library("create"))?
    };
    check_inside(&file, key).map_err(|message| failed("make the dataset", message))?;
    if file.link_exists(key) {
        return Err(failed(
            "make the dataset",
            "the key exists already".to_owned(),
        ));
    }
    let ty = with_element!(element, T => Ok::<TypeDescriptor, CliError>(<T as H5Type>::type_descriptor()))?;
    let builder = file
        .new_dataset_builder()
        .no_chunk()
        .alloc_time(Some(AllocTime::Early))
        .fill_time(FillTime::Never)
        .empty_as(&ty);
    let extents = distribution.global_shape().iter();
    let extents = extents
        .map(|&n| usize::try_from(n))
        .collect::<Result<Vec<_>, _>>();
    let extents = extents.map_err(|error| failed("make the dataset", error.to_string()))?;
    let builder = if extents.is_empty() {
        builder.shape(())
    } else {
        builder.shape(extents)
    };
    let dataset = builder.create(key).map_err(library("make the dataset"))?;
    let parts = (0..distribution.ranks()).map(|rank| distribution.dim_data(rank));
    let parts = parts.collect::<Result<Vec<DimData>, _>>()?;
    let list = Value::List(parts.iter().map(DimData::to_value).collect());
    for (name, text) in [
        ("__version__", ProtocolVersion::CURRENT.to_string()),
        ("dim_data", list.to_string()),
    ] {
        let text: VarLenUnicode = text
            .parse()
            .map_err(|_| failed("write an attribute", "a text with a zero byte".to_owned()))?;
        dataset
            .new_attr::<VarLenUnicode>()
            .create(name)
            .and_then(|attribute| attribute.write_scalar(&text))
            .map_err(library("write an attribute"))?;
    }
    let offset = dataset.offset();
    drop(dataset);
    file.flush().map_err(library("write"))?;
    file.close().map_err(library("close"))?;
    let offset = match offset {
        Some(offset) => offset,
        None if distribution.global_shape().contains(&0) => return Ok(()),
        None => {
            let message = "its elements have no place".to_owned();
            return Err(failed("make the dataset", message));
        }
    };
    pending
        .file()
        .seek(SeekFrom::Start(offset))
        .map_err(CliError::os("write", path))?;
    Ok(())
}

/// Refuses a key that leads into another file: its dataset would be made there.
fn check_inside(file: &hdf5::File, key: &str) -> Result<(), String> {
    let own = file.loc_info().map_err(|error| error.to_string())?.fileno;
    for (end, _) in key.match_indices('/').chain([(key.len(), "")]) {
        let path = &key[..end];
        if !file.link_exists(path) {
            break;
        }
        if file
            .loc_info_by_name(path)
            .is_ok_and(|info| info.fileno != own)
        {
            return Err(format!("/{path} leads into another file"));
        }
    }
    Ok(())
}

/// The keys of all datasets of a file, groups included.
pub(super) fn keys(path: &Path) -> Result<Vec<String>, CliError> {
    let failed = |operation: &'static str| {
        move |error: hdf5::Error| CliError::Hdf5 {
            path: path.to_owned(),
            key: String::new(),
            operation,
            message: error.to_string(),
        }
    };
    // says what is wrong with a file that is none
    if let Err(error) = inspect_hdf5(path, "-")
        && let IoError::Hdf5 { refusal, .. } = &error
        && let Refusal::NotFound
        | Refusal::NotAFile
        | Refusal::NotHdf5
        | Refusal::Os { .. }
        | Refusal::Library { .. } = **refusal
    {
        return Err(error.into());
    }
    let file = hdf5::File::open(path).map_err(failed("open"))?;
    let mut keys = Vec::new();
    let mut groups: Vec<(String, hdf5::Group, usize)> =
        vec![(String::new(), file.group("/").map_err(failed("open"))?, 0)];
    while let Some((prefix, group, depth)) = groups.pop() {
        for name in group.member_names().map_err(failed("list"))? {
            let key = format!("{prefix}{name}");
            match group.loc_type_by_name(&name) {
                Ok(hdf5::LocationType::Dataset) if keys.len() < DATASETS => keys.push(key),
                Ok(hdf5::LocationType::Group) if depth < DEPTH && groups.len() < DATASETS => {
                    if let Ok(inner) = group.group(&name) {
                        groups.push((format!("{key}/"), inner, depth + 1));
                    }
                }
                _ => {}
            }
        }
    }
    keys.sort_unstable();
    Ok(keys)
}
