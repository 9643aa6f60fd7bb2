//! [`datasets_hdf5`]: what is in a file, every object once.

use std::path::Path;

use hdf5_metno as hdf5;
use hdf5_metno::dataset::Layout;
use hdf5_metno::{IndexType, IterationOrder, LinkType, LocationToken, LocationType};

use super::together::{is_regular, refused};
use super::{Refusal, open};
use crate::IoError;

/// A dataset, by all of its names.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) names: Vec<String>,
    pub(super) is_virtual: bool,
}

/// The datasets of a file, every one once, whatever loops its groups are linked to. Soft and external links are not followed:
/// they lead to what has a name of its own, to another file, or nowhere.
pub(super) fn listed(file: &hdf5::Group) -> Result<Vec<Listed>, Refusal> {
    let root = file
        .loc_info()
        .map_err(Refusal::library("look at the root group"))?;
    let mut datasets: Vec<Listed> = Vec::new();
    // objects with several names, and which of the datasets they are, if one
    let mut shared: Vec<(LocationToken, Option<usize>)> = vec![(root.token, None)];
    let mut groups = vec![String::new()];
    while let Some(path) = groups.pop() {
        let ask = |error: hdf5::Error| Refusal::Library {
            operation: format!("list the group /{path}"),
            message: error.to_string(),
        };
        let group = file.group(if path.is_empty() { "/" } else { &path });
        let group = group.map_err(ask)?;
        let links = group.links(IndexType::Name, IterationOrder::Native);
        let mut inner = Vec::new();
        for (name, link) in links.map_err(ask)? {
            if link.link_type != LinkType::Hard {
                continue;
            }
            let info = group.loc_info_by_name(&name).map_err(ask)?;
            let key = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}/{name}")
            };
            if info.num_links > 1 {
                if let Some((_, known)) = shared.iter().find(|(token, _)| *token == info.token) {
                    if let Some(dataset) = known {
                        datasets[*dataset].names.push(key);
                    }
                    continue;
                }
                let is_dataset = info.loc_type == LocationType::Dataset;
                shared.push((info.token, is_dataset.then_some(datasets.len())));
            }
            if info.loc_type == LocationType::Group {
                inner.push(key);
            } else if info.loc_type == LocationType::Dataset {
                let layout = group.dataset(&name).map(|dataset| dataset.layout());
                datasets.push(Listed {
                    names: vec![key],
                    is_virtual: layout.is_ok_and(|layout| layout == Layout::Virtual),
                });
            }
        }
        groups.extend(inner.into_iter().rev());
    }
    Ok(datasets)
}

/// The keys of all datasets of a file, those in groups included, sorted; each dataset once, by the first of its names that is met.
/// Local. Links into other files are not followed.
///
/// # Errors
/// [`IoError::Hdf5`] with what is wrong with the file, or the group that cannot be listed.
///
/// ```
/// use dap_protocol::{DimData, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::{SaveHdf5, datasets_hdf5};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("two.h5");
/// let scalar = DistBuffer::new(DimData::new(vec![]), HostArray::new(vec![], vec![1.5])?)?;
/// SaveHdf5::new(&path).key("run/b").save(&scalar, &SingleComm::new())?;
/// SaveHdf5::new(&path).key("a").save(&scalar, &SingleComm::new())?;
/// assert_eq!(datasets_hdf5(&path)?, ["a", "run/b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn datasets_hdf5(path: impl AsRef<Path>) -> Result<Vec<String>, IoError> {
    let path = path.as_ref();
    let list = || {
        is_regular(path)?.ok_or(Refusal::NotFound)?;
        let file = open::to_read(path)?;
        let datasets = listed(&file)?;
        let names = datasets
            .into_iter()
            .filter_map(|dataset| dataset.names.into_iter().next());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names)
    };
    list().map_err(|refusal| refused(path, "", refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_of_groups_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loops.h5");
        let file = hdf5::File::create(&path).unwrap();
        for name in ["a", "b"] {
            let group = file.create_group(name).unwrap();
            group.new_dataset::<u8>().create("x").unwrap();
        }
        for (from, name) in [("/", "a/root"), ("/", "b/root"), ("a", "b/a"), ("b", "a/b")] {
            file.link_hard(from, name).unwrap();
        }
        file.link_soft("/a/x", "soft").unwrap();
        file.link_hard("a/x", "again").unwrap();
        let mut deep = file.create_group("deep").unwrap();
        for _ in 0..300 {
            deep = deep.create_group("g").unwrap();
        }
        deep.new_dataset::<u8>().create("y").unwrap();
        file.close().unwrap();
        let y = format!("deep/{}y", "g/".repeat(300));
        let keys = datasets_hdf5(&path).unwrap();
        assert_eq!(keys.len(), 3);
        assert!(keys.contains(&"b/x".to_owned()) && keys.contains(&y));
        let a = ["a/x".to_owned(), "again".to_owned(), "b/a/x".to_owned()];
        assert_eq!(keys.iter().filter(|key| a.contains(key)).count(), 1);
    }
}
