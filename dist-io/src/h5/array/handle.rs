//! [`Handle`]: a dataset described, what is seen of it and how that is distributed, whatever its elements are.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dap_protocol::ElementType;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution, Index, MapError};
use serde::{Deserialize, Serialize};

use super::written::{self, State};
use crate::h5::attribute::{AttributeValue, attributes};
use crate::h5::dataset::Found;
use crate::h5::source::Opened;
use crate::h5::together::{by_rank_0, names, refused, same};
use crate::h5::{HandleRefusal, Limits, Refusal, Storage, bare, metadata};
use crate::layout::shape_text;
use crate::plan::window::Window;
use crate::{FileLayout, IoError};

/// A dataset as it was when it was opened.
#[derive(Debug)]
pub(in crate::h5) struct Dataset {
    pub(in crate::h5) path: PathBuf,
    pub(in crate::h5) key: String,
    pub(in crate::h5) found: Found,
    pub(in crate::h5) element: ElementType,
    pub(in crate::h5) attributes: BTreeMap<String, AttributeValue>,
    /// Within which it is read, without the library.
    pub(in crate::h5) limits: Option<Limits>,
}

/// A handle of any element type.
#[derive(Clone)]
pub(in crate::h5) struct Handle<'c> {
    pub(in crate::h5) comm: &'c dyn Communicator,
    pub(in crate::h5) dataset: Arc<Dataset>,
    pub(in crate::h5) window: Window,
    pub(in crate::h5) distribution: Distribution,
}

/// What rank 0 finds out for all.
#[derive(Serialize, Deserialize)]
pub(in crate::h5) struct Looked {
    found: Found,
    attributes: BTreeMap<String, AttributeValue>,
}

/// How elements may be stored that are read.
const READ: &str = "in one piece, in chunks, compact, and virtual";

impl Looked {
    pub(in crate::h5) fn shape(&self) -> &[u64] {
        &self.found.shape
    }

    /// Itself, if its elements can be read.
    pub(in crate::h5) fn readable(self) -> Result<Self, Refusal> {
        self.found.element()?;
        match self.found.storage {
            _ if self.found.is_enumeration => Err(Refusal::Enumeration),
            Storage::External => {
                self.found.offset(READ)?; // which it has none of
                Ok(self)
            }
            _ => Ok(self),
        }
    }
}

/// Looks a dataset up that is open. By rank 0.
pub(in crate::h5) fn look(found: Found, dataset: &hdf5_metno::Dataset) -> Result<Looked, Refusal> {
    Ok(Looked::of(found, attributes(dataset)?))
}

impl Looked {
    pub(in crate::h5) fn of(found: Found, attributes: BTreeMap<String, AttributeValue>) -> Self {
        Self { found, attributes }
    }
}

impl<'c> Handle<'c> {
    /// Opens a dataset, all of it, every dimension distributed; without the library where there are limits. Collective.
    pub(in crate::h5) fn open(
        path: &Path,
        key: &str,
        limits: Option<Limits>,
        comm: &'c dyn Communicator,
    ) -> Result<Self, IoError> {
        same(
            comm,
            &[
                ("path", path.as_os_str().as_bytes()),
                ("key", key.as_bytes()),
                ("limits", format!("{limits:?}").as_bytes()),
            ],
        )?;
        let looked = by_rank_0(comm, path, key, || {
            let Some(limits) = &limits else {
                let opened = Opened::new(path, key)?;
                return look(opened.found.clone(), &opened.dataset);
            };
            let names = names(key)?;
            let (_, _, dataset) = bare::opened(path, limits, |bare| bare.dataset(&names))?;
            Ok(Looked::of(dataset.found.clone(), dataset.attributes()))
        })?;
        Self::of(path, key, looked, limits, comm)
    }

    /// The handle of a dataset that was looked up. Local.
    pub(in crate::h5) fn of(
        path: &Path,
        key: &str,
        looked: Looked,
        limits: Option<Limits>,
        comm: &'c dyn Communicator,
    ) -> Result<Self, IoError> {
        let Looked { found, attributes } = looked;
        let refused = |refusal| refused(path, key, refusal);
        let element = found.element().map_err(refused)?;
        if found.is_enumeration {
            return Err(refused(Refusal::Enumeration));
        }
        let all: Vec<usize> = (0..found.shape.len()).collect();
        let distribution = spread(&found.shape, &all, comm.size())?;
        Ok(Self {
            comm,
            window: Window::whole(&found.shape),
            distribution,
            dataset: Arc::new(Dataset {
                path: path.to_owned(),
                key: key.to_owned(),
                found,
                element,
                attributes,
                limits,
            }),
        })
    }

    /// Refuses to write into a file of unknown origin, which the library would do.
    pub(in crate::h5) fn writable(&self) -> Result<(), IoError> {
        match self.dataset.limits {
            None => Ok(()),
            Some(_) => Err(self.refused(Refusal::Untrusted {
                what: "assigning to it".to_owned(),
            })),
        }
    }

    pub(in crate::h5) fn refused(&self, refusal: Refusal) -> IoError {
        refused(&self.dataset.path, &self.dataset.key, refusal)
    }

    /// Bytes of all elements that are seen.
    pub(in crate::h5) fn nbytes(&self) -> u64 {
        let item = self.dataset.element.size() as u64;
        let shape = self.shape().iter();
        shape.fold(item, |bytes, &n| bytes.saturating_mul(n))
    }

    /// The text of the attribute `units`, or of `unit`.
    pub(in crate::h5) fn unit(&self) -> Option<&str> {
        let attributes = &self.dataset.attributes;
        let value = attributes.get("units").or_else(|| attributes.get("unit"));
        match value {
            Some(AttributeValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(in crate::h5) fn shape(&self) -> &[u64] {
        self.distribution.global_shape()
    }

    /// Checks that the dataset, looked up again, is what was opened.
    pub(in crate::h5) fn unchanged(&self, found: &Found) -> Result<(), IoError> {
        let element = found.element().map_err(|refusal| self.refused(refusal))?;
        if element != self.dataset.element {
            return Err(IoError::ElementType {
                given: element,
                allowed: self.dataset.element,
            });
        }
        if found.shape != self.dataset.found.shape {
            return Err(IoError::Shape {
                given: found.shape.clone(),
                allowed: self.dataset.found.shape.clone(),
            });
        }
        if found.byte_order != self.dataset.found.byte_order || !self.has_layout(found) {
            return Err(self.refused(HandleRefusal::Replaced.into()));
        }
        Ok(())
    }

    /// Whether chunks have the shape that they had.
    fn has_layout(&self, found: &Found) -> bool {
        let chunk = |storage: &Storage| match storage {
            Storage::Chunked { chunk } => Some(chunk.clone()),
            _ => None,
        };
        chunk(&found.storage) == chunk(&self.dataset.found.storage)
    }

    /// How the elements lie in the file.
    pub(in crate::h5) fn layout(&self) -> FileLayout {
        match &self.dataset.found.storage {
            Storage::Chunked { chunk } => FileLayout::Chunked {
                chunk: chunk.clone(),
            },
            _ => FileLayout::Contiguous,
        }
    }

    /// Elements along a dimension of the window that lie in one chunk, and how many of the first one the window leaves out;
    /// 1 and 0 where there are no chunks.
    pub(in crate::h5) fn chunk_along(&self, axis: usize) -> (u64, u64) {
        let file = self.window.file_axis(axis);
        match (file, self.window.straight_from(axis)) {
            (Some(file), Some(start)) => {
                let step = self.layout().step(file).max(1);
                (step, start % step)
            }
            _ => (1, 0),
        }
    }

    /// The file as it is now.
    pub(in crate::h5) fn state(&self) -> Option<State> {
        State::of(&self.dataset.path)
    }

    /// Notes that the file is written to.
    pub(in crate::h5) fn note_write(&self) {
        written::note(&self.dataset.path);
    }

    /// Whether another handle sees the same elements, in the same order.
    pub(in crate::h5) fn sees_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.dataset, &other.dataset) && self.window == other.window
    }

    /// Whether another handle is one of the same file.
    pub(in crate::h5) fn is_in_file_of(&self, other: &Self) -> bool {
        match (self.state(), other.state()) {
            (Some(own), Some(other)) => own.is_same_file(&other),
            _ => self.dataset.path == other.dataset.path,
        }
    }

    /// Checks that all ranks have the same handle. Collective.
    pub(in crate::h5) fn same(&self) -> Result<(), IoError> {
        let mut hasher = DefaultHasher::new();
        self.dataset.element.hash(&mut hasher);
        self.window.hash(&mut hasher);
        self.distribution.axes().hash(&mut hasher);
        self.distribution.targets().hash(&mut hasher);
        let text = format!(
            "{}:/{}, {}, number {:016x}",
            self.dataset.path.display(),
            self.dataset.key.trim_start_matches('/'),
            shape_text(self.shape()),
            hasher.finish()
        );
        same(self.comm, &[("handle", text.as_bytes())])
    }

    pub(in crate::h5) fn slice(&self, items: &[Index]) -> Result<Self, IoError> {
        let window = self.window.slice(items)?;
        let distribution = self.holding(items)?.slice(items)?.into_distribution();
        Ok(self.with(window, distribution))
    }

    /// The distribution, with blocks in place of lists in which a single index is not that is asked for: a rank has it then.
    fn holding(&self, items: &[Index]) -> Result<Distribution, MapError> {
        let mut axes = self.distribution.axes().to_vec();
        let items = Index::expand(items, axes.len())?;
        for (axis, item) in axes.iter_mut().zip(items) {
            let (AxisDist::Unstructured { size, .. }, Index::At(at)) = (&*axis, item) else {
                continue;
            };
            let from_start = if at < 0 {
                at.saturating_add_unsigned(*size)
            } else {
                at
            };
            if axis.owners(from_start).is_empty() {
                *axis = respread(axis, axis.size())?;
            }
        }
        let (ranks, targets) = (self.distribution.ranks(), self.distribution.targets());
        Distribution::from_axes(axes, ranks, targets)
    }

    pub(in crate::h5) fn take(&self, axis: usize, indices: &[i64]) -> Result<Self, IoError> {
        let window = self.window.take(axis, indices)?;
        let mut axes = self.distribution.axes().to_vec();
        axes[axis] = respread(&axes[axis], indices.len() as u64)?; // the window has this dimension
        let (ranks, targets) = (self.distribution.ranks(), self.distribution.targets());
        let distribution = Distribution::from_axes(axes, ranks, targets)?;
        Ok(self.with(window, distribution))
    }

    /// The indices of a dimension whose flag is set.
    pub(in crate::h5) fn compress(&self, axis: usize, flags: &[bool]) -> Result<Self, IoError> {
        let size = self.shape().get(axis).copied().unwrap_or(0);
        if flags.len() as u64 != size {
            return Err(MapError::Count {
                what: "flags",
                given: flags.len(),
                expected: usize::try_from(size).unwrap_or(usize::MAX),
            }
            .into());
        }
        let set = (0_i64..).zip(flags).filter(|&(_, &flag)| flag);
        let set: Vec<i64> = set.map(|(at, _)| at).collect();
        self.take(axis, &set)
    }

    /// A range of a dimension, in the same kind of distribution over the same ranks, each element on one of them.
    pub(in crate::h5) fn fragment(
        &self,
        axis: usize,
        start: u64,
        count: u64,
    ) -> Result<Self, IoError> {
        let mut items = vec![Index::Slice(dist_maps::Slice::full()); axis];
        let at = |n: u64| i64::try_from(n).unwrap_or(i64::MAX); // inside the dimension
        items.push((at(start)..at(start.saturating_add(count))).into());
        let window = self.window.slice(&items)?;
        let mut axes = once(&self.distribution)?;
        if let Some(dist) = axes.get_mut(axis) {
            *dist = respread(dist, count)?;
        }
        let (ranks, targets) = (self.distribution.ranks(), self.distribution.targets());
        let distribution = Distribution::from_axes(axes, ranks, targets)?;
        Ok(self.with(window, distribution))
    }

    pub(in crate::h5) fn distribute(&self, distribution: &Distribution) -> Result<Self, IoError> {
        if distribution.ranks() != self.comm.size() {
            return Err(IoError::Ranks {
                what: "the distribution",
                given: distribution.ranks(),
                allowed: self.comm.size(),
            });
        }
        if distribution.global_shape() != self.shape() {
            return Err(IoError::Shape {
                given: self.shape().to_vec(),
                allowed: distribution.global_shape().to_vec(),
            });
        }
        Ok(self.with(self.window.clone(), distribution.clone()))
    }

    fn with(&self, window: Window, distribution: Distribution) -> Self {
        Self {
            comm: self.comm,
            dataset: self.dataset.clone(),
            window,
            distribution,
        }
    }

    pub(in crate::h5) fn distaxes(&self, axes: &[i64]) -> Result<Self, IoError> {
        let ndim = self.shape().len();
        let mut chosen = Vec::with_capacity(axes.len());
        for &axis in axes {
            let axis = axis_of(axis, ndim)?;
            if chosen.contains(&axis) {
                return Err(MapError::RepeatedAxis { axis }.into());
            }
            chosen.push(axis);
        }
        self.distribute(&spread(self.shape(), &chosen, self.comm.size())?)
    }

    pub(in crate::h5) fn target_offsets(&self, offsets: &[(i64, &[u64])]) -> Result<Self, IoError> {
        let shape = self.shape();
        let whole = shape.iter().map(|&size| AxisDist::whole(size));
        let mut axes = whole.collect::<Result<Vec<_>, _>>()?;
        let mut chosen = Vec::with_capacity(offsets.len());
        for &(axis, offsets) in offsets {
            let axis = axis_of(axis, shape.len())?;
            if chosen.contains(&axis) {
                return Err(MapError::RepeatedAxis { axis }.into());
            }
            chosen.push(axis);
            let mut bounds = offsets.to_vec();
            bounds.push(shape[axis]);
            axes[axis] = AxisDist::block_bounds(bounds).map_err(|error| match error {
                MapError::Bounds {
                    position,
                    given,
                    low,
                    high,
                    ..
                } => MapError::Bounds {
                    axis: Some(axis),
                    position,
                    given,
                    low,
                    high,
                },
                other => other,
            })?;
        }
        self.distribute(&in_order(axes, self.comm.size())?)
    }

    pub(in crate::h5) fn target_ranks(&self, ranks: &[usize]) -> Result<Self, IoError> {
        let axes = self.distribution.axes().to_vec();
        self.distribute(&Distribution::from_axes(axes, self.comm.size(), ranks)?)
    }

    pub(in crate::h5) fn as_saved(&self) -> Result<Self, IoError> {
        let parts = self.dataset.found.parts();
        let parts = parts.map_err(|refusal| self.refused(refusal))?;
        if parts.len() != self.comm.size() {
            return Err(IoError::Ranks {
                what: "the dataset, as it was saved,",
                given: parts.len(),
                allowed: self.comm.size(),
            });
        }
        self.distribute(&metadata::whole(&parts)?)
    }
}

/// A dimension counted from the first, of one that may count from the last.
pub(in crate::h5) fn axis_of(axis: i64, ndim: usize) -> Result<usize, MapError> {
    let from_first = if axis < 0 {
        i128::from(axis) + ndim as i128
    } else {
        i128::from(axis)
    };
    let inside = usize::try_from(from_first).ok().filter(|&axis| axis < ndim);
    inside.ok_or(MapError::Axis {
        given: usize::try_from(axis.unsigned_abs()).unwrap_or(usize::MAX),
        ndim,
    })
}

/// Blocks along these dimensions.
pub(in crate::h5) fn spread(
    shape: &[u64],
    axes: &[usize],
    ranks: usize,
) -> Result<Distribution, MapError> {
    let builder = Distribution::over(ranks).shape(shape);
    let all = axes.iter();
    all.fold(builder, |builder, &axis| builder.block(axis))
        .build()
}

/// The same kind of axis over the same ranks for another extent; padding goes, lists become blocks.
fn respread(axis: &AxisDist, count: u64) -> Result<AxisDist, MapError> {
    match axis {
        AxisDist::Cyclic {
            ranks, block_size, ..
        } => AxisDist::cyclic(count, *ranks, *block_size),
        other => AxisDist::block_balanced(count, other.ranks()),
    }
}

/// The axes of a distribution, with every index on one rank: padding goes, lists become blocks.
pub(in crate::h5) fn once(distribution: &Distribution) -> Result<Vec<AxisDist>, MapError> {
    let axes = distribution.axes().iter().map(|axis| match axis {
        AxisDist::Block { bounds, .. } => AxisDist::block_bounds(bounds.clone()),
        other => respread(other, other.size()),
    });
    axes.collect()
}

fn in_order(axes: Vec<AxisDist>, ranks: usize) -> Result<Distribution, MapError> {
    let places = axes.iter().map(AxisDist::ranks);
    let places = places.fold(1_usize, usize::saturating_mul);
    if places > ranks {
        return Err(MapError::GridTooLarge {
            given: places,
            allowed: ranks,
        });
    }
    let targets: Vec<usize> = (0..places).collect();
    Distribution::from_axes(axes, ranks, targets)
}
