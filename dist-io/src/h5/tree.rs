//! [`open`]: a file, a group or a dataset; a group is a [`Tree`] of lazy arrays.

mod assign;
mod unknown;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::DistBuffer;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{Distribution, Index};
use hdf5_metno as hdf5;
use serde::{Deserialize, Serialize};

use super::array::{H5Any, Handle, HostBytes, Looked, each_piece, look};
use super::dataset::{describe, kind_at, walk};
use super::together::{by_rank_0, is_regular, names, same};
use super::{HandleRefusal, Limits, Refusal, open as file};
use crate::IoError;
use crate::layout::shape_text;

/// Groups in groups, at most: deeper ones are a loop as a rule.
const DEPTH: usize = 64;

/// Datasets of a tree, at most.
const LEAVES: usize = 100_000;

/// What [`open`] finds under a key.
#[derive(Clone, Debug)]
pub enum H5Node<'c> {
    /// A dataset.
    Array(H5Any<'c>),
    /// A group, and all that is in it.
    Tree(Tree<'c>),
}

impl<'c> H5Node<'c> {
    /// The array, if this is one.
    #[must_use]
    pub fn array(self) -> Option<H5Any<'c>> {
        match self {
            Self::Array(array) => Some(array),
            Self::Tree(_) => None,
        }
    }

    /// The tree, if this is one.
    #[must_use]
    pub fn tree(self) -> Option<Tree<'c>> {
        match self {
            Self::Tree(tree) => Some(tree),
            Self::Array(_) => None,
        }
    }
}

/// Which datasets of a group become members of its [`Tree`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TreeFilter {
    /// All of them: one that cannot be read, or of another shape, is an error.
    #[default]
    All,
    /// Those that can be read and have the shape that most have (of several such shapes that of the first name);
    /// [`Tree::skipped`] names the others.
    SkipMismatched,
}

impl TreeFilter {
    /// Without those that do not fit.
    #[must_use]
    pub const fn skip_mismatched() -> Self {
        Self::SkipMismatched
    }
}

/// The datasets of a group and of the groups in it, as one array of structures: pyDive's virtual arrays of structures. All have one shape,
/// and their element types may differ.
///
/// What is done to the tree is done to each member, and it makes no difference whether a member is named first or last. A tree is a description,
/// as its members are: nothing is read before [`load`](Self::load).
///
/// ```
/// use dap_protocol::ElementType;
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::{IoError, open};
/// # use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// # use dist_comm::SingleComm;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("run.h5");
/// # let dims = || DimData::new(vec![DimDict::whole(4).unwrap()]);
/// # for (key, first) in [("fields/E/x", 10.0), ("fields/E/y", 20.0)] {
/// #     let all = DistBuffer::new(dims(), HostArray::new(vec![4], (0..4).map(|i| first + f64::from(i)).collect())?)?;
/// #     dist_io::SaveHdf5::new(&path).key(key).save(&all, &SingleComm::new())?;
/// # }
/// # let all = DistBuffer::new(dims(), HostArray::new(vec![4], vec![1_i32, 2, 3, 4])?)?;
/// # dist_io::SaveHdf5::new(&path).key("fields/charge").save(&all, &SingleComm::new())?;
/// ThreadComm::run(2, |comm| {
///     let fields = open(&path, "fields", comm)?.tree().expect("a group"); // E/x, E/y (f64), charge (i32)
///     assert_eq!(fields.names().collect::<Vec<_>>(), ["E/x", "E/y", "charge"]);
///     assert_eq!((fields.shape(), fields.nbytes()), (&[4][..], 4 * (8 + 8 + 4)));
///     let ends = fields.slice(&[dist_maps::Slice::new(None, None, 3).into()])?;
///     let e = ends.get("E").and_then(|node| node.tree()).expect("a group");
///     let x = e.get("x").and_then(|node| node.array()).expect("a dataset");
///     assert_eq!(x.typed::<f64>()?.gather()?.data(), [10.0, 13.0]);
///     let parts = ends.load()?;
///     assert_eq!(parts["charge"].buffer().typed::<i32>()?.data(), [[1], [4]][comm.rank()]);
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tree<'c> {
    leaves: BTreeMap<String, H5Any<'c>>,
    skipped: BTreeMap<String, String>,
    shape: Vec<u64>,
}

/// Opens what is under a key of an HDF5 file: a dataset as a lazy array, a group as a [`Tree`]; the key `""` or `"/"` is the whole file.
/// Collective; equal paths and keys.
///
/// # Errors
/// The same on every rank: [`IoError::Hdf5`] with what is wrong with the file, the key or a dataset, and
/// [`HandleRefusal::Leaves`] when the datasets of a group have different shapes; [`IoError::Differ`], [`IoError::Comm`].
pub fn open<'c>(
    path: impl AsRef<Path>,
    key: &str,
    comm: &'c dyn Communicator,
) -> Result<H5Node<'c>, IoError> {
    open_with(path, key, TreeFilter::All, comm)
}

/// As [`open`], with a choice of the members of a tree. Collective; equal paths, keys and filters.
///
/// # Errors
/// As [`open`].
pub fn open_with<'c>(
    path: impl AsRef<Path>,
    key: &str,
    filter: TreeFilter,
    comm: &'c dyn Communicator,
) -> Result<H5Node<'c>, IoError> {
    open_within(path.as_ref(), key, (filter, None), comm)
}

/// As [`open_with`], without the library where there are limits.
pub(super) fn open_within<'c>(
    path: &Path,
    key: &str,
    (filter, limits): (TreeFilter, Option<Limits>),
    comm: &'c dyn Communicator,
) -> Result<H5Node<'c>, IoError> {
    same(
        comm,
        &[
            ("path", path.as_os_str().as_bytes()),
            ("key", key.as_bytes()),
            ("filter", format!("{filter:?}").as_bytes()),
            ("limits", format!("{limits:?}").as_bytes()),
        ],
    )?;
    let key = key.trim_matches('/');
    let find = || match &limits {
        Some(limits) => unknown::find_within(path, key, filter, limits),
        None => find(path, key, filter),
    };
    match by_rank_0(comm, path, key, find)? {
        Opened::Dataset(looked) => {
            let handle = Handle::of(path, key, *looked, limits, comm)?;
            Ok(H5Node::Array(H5Any { handle }))
        }
        Opened::Group {
            leaves,
            skipped,
            shape,
        } => {
            let mut members = BTreeMap::new();
            for (name, looked) in leaves {
                let whole = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}/{name}")
                };
                let handle = Handle::of(path, &whole, looked, limits, comm)?;
                members.insert(name, H5Any { handle });
            }
            Ok(H5Node::Tree(Tree {
                leaves: members,
                skipped,
                shape,
            }))
        }
    }
}

/// What rank 0 finds.
#[derive(Serialize, Deserialize)]
enum Opened {
    Dataset(Box<Looked>),
    Group {
        leaves: Vec<(String, Looked)>,
        skipped: BTreeMap<String, String>,
        shape: Vec<u64>,
    },
}

fn find(path: &Path, key: &str, filter: TreeFilter) -> Result<Opened, Refusal> {
    let bytes = is_regular(path)?.ok_or(Refusal::NotFound)?.len();
    let file = file::to_read(path)?;
    let group = if key.is_empty() {
        file.as_group()
    } else {
        let names = names(key)?;
        let mut at = String::new();
        for name in &names {
            if !at.is_empty() {
                at.push('/');
            }
            at.push_str(name);
            let missing = || Refusal::MissingKey {
                missing: at.clone(),
            };
            if !file.link_exists(&at) {
                return Err(missing());
            }
            let kind = kind_at(&file, &at)?.ok_or_else(missing)?;
            let is_last = at.len() == key.len();
            match kind {
                hdf5::LocationType::Group => {}
                hdf5::LocationType::Dataset if is_last => {
                    let dataset = walk(&file, &names)?;
                    return Ok(Opened::Dataset(Box::new(look(
                        describe(&dataset, bytes)?,
                        &dataset,
                    )?)));
                }
                _ if is_last => {
                    return Err(Refusal::NotADataset {
                        kind: "named datatype".to_owned(),
                    });
                }
                _ => return Err(Refusal::NotAGroup { at }),
            }
        }
        file.group(key)
    };
    let group = group.map_err(Refusal::library("open the group"))?;
    let mut walk = Walk {
        bytes,
        own: file
            .loc_info()
            .map_err(Refusal::library("look at the file"))?
            .fileno,
        leaves: Vec::new(),
    };
    walk.visit(&group, "", 0)?;
    chosen(walk.leaves, filter)
}

/// Visits the groups under one.
struct Walk {
    /// Length of the file.
    bytes: u64,
    /// The file, as the library tells files apart.
    own: u64,
    leaves: Vec<(String, Result<Looked, Refusal>)>,
}

impl Walk {
    fn visit(&mut self, group: &hdf5::Group, prefix: &str, depth: usize) -> Result<(), Refusal> {
        let too_deep = || Refusal::Library {
            operation: "list the group".to_owned(),
            message: format!("more than {DEPTH} groups in each other: there is a loop of links"),
        };
        if depth > DEPTH {
            return Err(too_deep());
        }
        let ask = Refusal::library("list the group");
        for name in group.member_names().map_err(ask)? {
            let whole = format!("{prefix}{name}");
            let Ok(info) = group.loc_info_by_name(&name) else {
                self.add(whole.clone(), Err(Refusal::MissingKey { missing: whole }))?;
                continue;
            };
            if info.fileno != self.own {
                self.add(whole.clone(), Err(Refusal::AnotherFile { at: whole }))?;
                continue;
            }
            match info.loc_type {
                hdf5::LocationType::Group => {
                    let inner = group.group(&name);
                    let inner = inner.map_err(Refusal::library("open the group"))?;
                    self.visit(&inner, &format!("{whole}/"), depth + 1)?;
                }
                hdf5::LocationType::Dataset => {
                    let dataset = group.dataset(&name);
                    let dataset = dataset.map_err(Refusal::library("open the dataset"));
                    let looked =
                        dataset.and_then(|dataset| look(describe(&dataset, self.bytes)?, &dataset));
                    self.add(whole, looked.and_then(Looked::readable))?;
                }
                hdf5::LocationType::NamedDatatype => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, looked: Result<Looked, Refusal>) -> Result<(), Refusal> {
        if self.leaves.len() == LEAVES {
            return Err(Refusal::Library {
                operation: "list the group".to_owned(),
                message: format!("more than {LEAVES} datasets: name a smaller group"),
            });
        }
        self.leaves.push((name, looked));
        Ok(())
    }
}

/// The members among what was found.
fn chosen(
    found: Vec<(String, Result<Looked, Refusal>)>,
    filter: TreeFilter,
) -> Result<Opened, Refusal> {
    let skips = filter == TreeFilter::SkipMismatched;
    let mut skipped = BTreeMap::new();
    let mut readable = Vec::new();
    for (name, looked) in found {
        match looked {
            Ok(looked) => readable.push((name, looked)),
            Err(refusal) if skips => {
                skipped.insert(name, refusal.to_string());
            }
            Err(refusal) => {
                return Err(HandleRefusal::Leaf {
                    name,
                    refusal: Box::new(refusal),
                }
                .into());
            }
        }
    }
    let mut counts: Vec<(Vec<u64>, usize)> = Vec::new();
    for (_, looked) in &readable {
        match counts.iter_mut().find(|(shape, _)| shape == looked.shape()) {
            Some((_, count)) => *count += 1,
            None => counts.push((looked.shape().to_vec(), 1)),
        }
    }
    // the first of those that most have
    let most = counts.iter().map(|(_, count)| *count).max();
    let shape = counts.iter().find(|(_, count)| Some(*count) == most);
    let shape = shape.map_or(Vec::new(), |(shape, _)| shape.clone());
    let (leaves, others): (Vec<_>, Vec<_>) = readable
        .into_iter()
        .partition(|(_, looked)| looked.shape() == shape);
    if !others.is_empty() && !skips {
        return Err(HandleRefusal::Leaves {
            shape: shape_text(&shape),
            others: others
                .into_iter()
                .map(|(name, looked)| (name, shape_text(looked.shape())))
                .collect(),
        }
        .into());
    }
    for (name, looked) in others {
        let given = shape_text(looked.shape());
        skipped.insert(name, format!("its shape is {given}"));
    }
    Ok(Opened::Group {
        leaves,
        skipped,
        shape,
    })
}

impl<'c> Tree<'c> {
    /// The names of the members, sorted; those in groups with the names of these, `"E/x"`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.leaves.keys().map(String::as_str)
    }

    /// The members and their names, sorted.
    pub fn members(&self) -> impl Iterator<Item = (&str, &H5Any<'c>)> {
        self.leaves.iter().map(|(name, leaf)| (name.as_str(), leaf))
    }

    /// Why other datasets of the group are no members, by name: none are left out unless [`TreeFilter::SkipMismatched`] asked for it.
    #[must_use]
    pub fn skipped(&self) -> &BTreeMap<String, String> {
        &self.skipped
    }

    /// The extents that all members have; none where there are no members.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Bytes of all members.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        let bytes = self.leaves.values().map(H5Any::nbytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// A member, `"E/x"`, or all that is in a group, `"E"`; `None` where there is neither.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<H5Node<'c>> {
        let name = name.trim_matches('/');
        if let Some(leaf) = self.leaves.get(name) {
            return Some(H5Node::Array(leaf.clone()));
        }
        let within = |whole: &String| {
            let rest = whole.strip_prefix(name)?.strip_prefix('/')?;
            Some(rest.to_owned())
        };
        let leaves: BTreeMap<_, _> = self
            .leaves
            .iter()
            .filter_map(|(whole, leaf)| Some((within(whole)?, leaf.clone())))
            .collect();
        let skipped = self.skipped.iter();
        let skipped = skipped.filter_map(|(whole, why)| Some((within(whole)?, why.clone())));
        (!leaves.is_empty()).then(|| {
            H5Node::Tree(Self {
                leaves,
                skipped: skipped.collect(),
                shape: self.shape.clone(),
            })
        })
    }

    /// A slice of every member, by the rules of [`H5Array::slice`](crate::H5Array::slice). Local; nothing is read.
    ///
    /// # Errors
    /// As [`H5Array::slice`](crate::H5Array::slice).
    pub fn slice(&self, items: &[Index]) -> Result<Self, IoError> {
        self.each(|leaf| leaf.slice(items))
    }

    /// The same indices of every member, as [`H5Array::take`](crate::H5Array::take). Local; nothing is read.
    ///
    /// # Errors
    /// As [`H5Array::take`](crate::H5Array::take).
    pub fn take(&self, axis: i64, indices: &[i64]) -> Result<Self, IoError> {
        self.each(|leaf| leaf.take(axis, indices))
    }

    /// The indices of every member whose flag is set, as [`H5Array::compress`](crate::H5Array::compress). Local; nothing is read.
    ///
    /// # Errors
    /// As [`H5Array::compress`](crate::H5Array::compress).
    pub fn compress(&self, axis: i64, flags: &[bool]) -> Result<Self, IoError> {
        self.each(|leaf| leaf.compress(axis, flags))
    }

    /// Every member in blocks that begin at these offsets, as [`H5Array::target_offsets`](crate::H5Array::target_offsets). Local;
    /// nothing is read.
    ///
    /// # Errors
    /// As [`H5Array::target_offsets`](crate::H5Array::target_offsets).
    pub fn target_offsets<O: AsRef<[u64]>>(
        &self,
        offsets: impl IntoIterator<Item = (i64, O)>,
    ) -> Result<Self, IoError> {
        let offsets: Vec<_> = offsets.into_iter().collect();
        let offsets = offsets.iter().map(|(axis, all)| (*axis, all.as_ref()));
        let offsets: Vec<_> = offsets.collect();
        self.each(|leaf| leaf.target_offsets(&offsets))
    }

    /// Every member with these ranks for its blocks, as [`H5Array::target_ranks`](crate::H5Array::target_ranks). Local; nothing is read.
    ///
    /// # Errors
    /// As [`H5Array::target_ranks`](crate::H5Array::target_ranks).
    pub fn target_ranks(&self, ranks: impl AsRef<[usize]>) -> Result<Self, IoError> {
        self.each(|leaf| leaf.target_ranks(ranks.as_ref()))
    }

    /// Every member in blocks along these dimensions alone. Local; nothing is read.
    ///
    /// # Errors
    /// As [`H5Array::distaxes`](crate::H5Array::distaxes).
    pub fn distaxes(&self, axes: impl AsRef<[i64]>) -> Result<Self, IoError> {
        self.each(|leaf| leaf.distaxes(axes.as_ref()))
    }

    /// Every member in this distribution: that of another handle, say. Local; nothing is read or moved.
    ///
    /// # Errors
    /// As [`H5Array::distribute`](crate::H5Array::distribute).
    pub fn dist_like(&self, distribution: &Distribution) -> Result<Self, IoError> {
        self.each(|leaf| leaf.distribute(distribution))
    }

    fn each(&self, f: impl Fn(&H5Any<'c>) -> Result<H5Any<'c>, IoError>) -> Result<Self, IoError> {
        let leaves = self.leaves.iter();
        let leaves = leaves.map(|(name, leaf)| Ok((name.clone(), f(leaf)?)));
        let leaves = leaves.collect::<Result<BTreeMap<_, _>, IoError>>()?;
        let first = leaves.values().next();
        Ok(Self {
            shape: first.map_or(Vec::new(), |leaf| leaf.shape().to_vec()),
            skipped: self.skipped.clone(),
            leaves,
        })
    }

    /// What `f` makes of every member, by name, in the order of the names: so collective calls in it are the same on all ranks.
    ///
    /// # Errors
    /// The first of `f`.
    pub fn map<R, E>(
        &self,
        mut f: impl FnMut(&str, &H5Any<'c>) -> Result<R, E>,
    ) -> Result<BTreeMap<String, R>, E> {
        let members = self.leaves.iter();
        let members = members.map(|(name, leaf)| Ok((name.clone(), f(name, leaf)?)));
        members.collect()
    }

    /// Loads every member's part. Collective; equal trees.
    ///
    /// # Errors
    /// As [`H5Array::load`](crate::H5Array::load).
    pub fn load(&self) -> Result<BTreeMap<String, DistBuffer<HostBytes>>, IoError> {
        self.map(|_, leaf| leaf.load())
    }

    /// Loads all members in pieces along their longest dimension and calls `f` with this rank's parts of a piece, by name, and the offsets at
    /// which it begins: as [`H5Array::for_each_fragment`](crate::H5Array::for_each_fragment), all members together within the budget.
    /// Collective; equal trees and budgets.
    ///
    /// # Errors
    /// As [`H5Array::for_each_fragment`](crate::H5Array::for_each_fragment).
    pub fn for_each_fragment<E: Display>(
        &self,
        budget: u64,
        mut f: impl FnMut(BTreeMap<String, DistBuffer<HostBytes>>, &[u64]) -> Result<(), E>,
    ) -> Result<(), IoError> {
        let members: Vec<_> = self.leaves.values().collect();
        let Some(first) = members.first() else {
            return Ok(());
        };
        let comm = first.handle.comm;
        each_piece(&members, budget, &mut |parts, offsets| {
            let named = self.leaves.keys().cloned().zip(parts).collect();
            Ok(agree(comm, f(named, offsets))?)
        })
    }
}
