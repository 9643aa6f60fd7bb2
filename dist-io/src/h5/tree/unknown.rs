//! Trees in files of unknown origin.

use std::path::Path;

use super::{Opened, TreeFilter, chosen};
use crate::h5::array::Looked;
use crate::h5::bare::{self, Item};
use crate::h5::together::names;
use crate::h5::{Limits, Refusal};

/// As [`find`](super::find), without the library.
pub(super) fn find_within(
    path: &Path,
    key: &str,
    filter: TreeFilter,
    limits: &Limits,
) -> Result<Opened, Refusal> {
    let names = if key.is_empty() {
        Vec::new()
    } else {
        names(key)?
    };
    let looked = |dataset: bare::Dataset| Looked::of(dataset.found.clone(), dataset.attributes());
    let (_, _, opened) = bare::opened(path, limits, |bare| {
        let group = match bare.item(&names)? {
            Item::Group(group) => group,
            Item::Dataset(address) => {
                let dataset = bare.dataset_at(address)?;
                return Ok(Opened::Dataset(Box::new(looked(dataset))));
            }
            _ => {
                return Err(Refusal::NotADataset {
                    kind: "named datatype".to_owned(),
                });
            }
        };
        let mut leaves = Vec::new();
        let mut count = 0;
        let mut waiting = vec![(String::new(), group, 0)];
        while let Some((prefix, group, depth)) = waiting.pop() {
            bare::within("depth of groups", depth, limits.depth as u64)?;
            for (name, item) in bare.names(group)? {
                count += 1;
                bare::within("datasets and groups", count, limits.datasets as u64)?;
                let name = bare.joined(&prefix, &name)?;
                let leaf = match item {
                    Item::Group(inner) => {
                        waiting.push((name, inner, depth + 1));
                        continue;
                    }
                    Item::Dataset(address) => bare.dataset_at(address).map(looked),
                    Item::Datatype => continue,
                    Item::Elsewhere => Err(Refusal::AnotherFile { at: name.clone() }),
                    Item::Nothing => Err(Refusal::MissingKey {
                        missing: name.clone(),
                    }),
                };
                leaves.push((name, leaf.and_then(Looked::readable)));
            }
        }
        leaves.sort_by(|one, other| one.0.cmp(&other.0));
        chosen(leaves, filter)
    })?;
    Ok(opened)
}
