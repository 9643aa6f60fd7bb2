//! Arrays whose elements tell their global index, found element by element, and a folder for all ranks.

use std::path::{Path, PathBuf};

use dap_protocol::{DimData, DimDict, Dist, DistBuffer, Element, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use half::{bf16, f16};
use num_complex::Complex;
use tempfile::TempDir;

/// What a check on a rank answers.
pub type Outcome = Result<(), Failure>;
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An element that follows from the flat global index.
pub trait Value: Element {
    fn at(flat: u64) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Value for $t {
            fn at(flat: u64) -> Self {
                (flat * 7 % 120) as $t
            }
        }
    )*};
}

numbers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Value for bool {
    fn at(flat: u64) -> Self {
        flat.is_multiple_of(3)
    }
}

impl Value for f64 {
    fn at(flat: u64) -> Self {
        flat as f64 * 0.5 - 3.0
    }
}

impl Value for f32 {
    fn at(flat: u64) -> Self {
        f64::at(flat) as f32
    }
}

impl Value for f16 {
    fn at(flat: u64) -> Self {
        f16::from_f64(f64::at(flat))
    }
}

impl Value for bf16 {
    fn at(flat: u64) -> Self {
        Self::from_f64(f64::at(flat))
    }
}

impl Value for Complex<f32> {
    fn at(flat: u64) -> Self {
        Self::new(f32::at(flat), flat as f32)
    }
}

impl Value for Complex<f64> {
    fn at(flat: u64) -> Self {
        Self::new(f64::at(flat), flat as f64)
    }
}

/// The global indices that a dictionary stores, in local order, dealt one by one.
pub fn stored(dim: &DimDict) -> Vec<u64> {
    match dim.dist() {
        Dist::Block { start, stop, .. } => (*start..*stop).collect(),
        Dist::Cyclic { block_size, .. } => (0..dim.size())
            .filter(|g| (g / block_size) % dim.grid_size() as u64 == dim.grid_rank() as u64)
            .collect(),
        Dist::Unstructured { indices, .. } => indices.iter().map(|&g| g as u64).collect(),
    }
}

/// The flat global indices of a part, in C order of its buffer.
pub fn flat_indices(dim_data: &DimData) -> Vec<u64> {
    let mut flat = vec![0];
    for dim in dim_data {
        let along = stored(dim);
        flat = flat
            .iter()
            .flat_map(|&before| along.iter().map(move |&g| before * dim.size() + g))
            .collect();
    }
    flat
}

/// Which positions of a part's buffer are owned.
pub fn owned_positions(dim_data: &DimData) -> Vec<bool> {
    let mut owned = vec![true];
    for dim in dim_data {
        let along: Vec<bool> = stored(dim)
            .into_iter()
            .map(|g| dim.owned_range().is_none_or(|range| range.contains(&g)))
            .collect();
        owned = owned
            .iter()
            .flat_map(|&before| along.iter().map(move |&mine| before && mine))
            .collect();
    }
    owned
}

/// A rank's part with the right elements; what is not owned is `padding`.
pub fn part_with<T: Value>(dim_data: &DimData, padding: Option<T>) -> DistBuffer<HostArray<T>> {
    let shape: Vec<usize> = dim_data.local_shape().iter().map(|&n| n as usize).collect();
    let owned = owned_positions(dim_data);
    let elements = flat_indices(dim_data)
        .into_iter()
        .zip(owned)
        .map(|(flat, owned)| match padding {
            Some(padding) if !owned => padding,
            _ => T::at(flat),
        })
        .collect();
    let array = HostArray::new(shape, elements).expect("a buffer of this shape");
    DistBuffer::new(dim_data.clone(), array).expect("a part of this shape")
}

/// Distributions of every kind of a 7 × 10 array over so many ranks, with their names.
pub fn every_kind(ranks: usize) -> Vec<(&'static str, Distribution)> {
    let whole = |size| AxisDist::whole(size).expect("a size");
    let one_axis = |axes: Vec<AxisDist>| {
        let targets: Vec<usize> = (0..ranks).collect();
        Distribution::from_axes(axes, ranks, targets).expect("a distribution")
    };
    let over = || Distribution::over(ranks).shape([7, 10]);
    // the columns in no order, one rank without any where there are several
    let mut lists = vec![Vec::new(); ranks];
    for (i, g) in [3_i64, 9, 0, 4, 5, 8, 1, 2, 7, 6].into_iter().enumerate() {
        lists[i * i % ranks.max(2).min(ranks)].push(g);
    }
    let bounds: Vec<u64> = (0..=ranks)
        .map(|c| if c == ranks { 7 } else { (c * c).min(6) as u64 })
        .collect();
    let reversed: Vec<usize> = (0..ranks).rev().collect();
    vec![
        ("whole", over().build().expect("whole")),
        ("rows", over().block(0).build().expect("rows")),
        (
            "rows and columns",
            over().block(0).block(1).build().expect("both"),
        ),
        (
            "padded",
            over().block(0).block(1).padding(1).build().expect("padded"),
        ),
        (
            "periodic",
            over()
                .block(1)
                .padding(1)
                .periodic(1)
                .build()
                .expect("periodic"),
        ),
        (
            "irregular",
            one_axis(vec![
                AxisDist::block_bounds(bounds).expect("bounds"),
                whole(10),
            ]),
        ),
        ("cyclic", over().cyclic(1).build().expect("cyclic")),
        (
            "block-cyclic, ragged",
            over()
                .block_cyclic(0, 2)
                .block_cyclic(1, 3)
                .build()
                .expect("dealt"),
        ),
        (
            "unsorted",
            one_axis(vec![
                whole(7),
                AxisDist::unstructured(10, lists).expect("lists"),
            ]),
        ),
        (
            "reversed",
            Distribution::from_axes(
                vec![AxisDist::cyclic(7, ranks, 1).expect("cyclic"), whole(10)],
                ranks,
                reversed,
            )
            .expect("reversed"),
        ),
    ]
}

/// Calls a check for every element type, until one fails.
#[cfg(feature = "hdf5")]
macro_rules! for_every_type {
    ($check:ident($($given:expr),*)) => {{
        $check::<bool>($($given),*)?;
        $check::<i8>($($given),*)?;
        $check::<i16>($($given),*)?;
        $check::<i32>($($given),*)?;
        $check::<i64>($($given),*)?;
        $check::<u8>($($given),*)?;
        $check::<u16>($($given),*)?;
        $check::<u32>($($given),*)?;
        $check::<u64>($($given),*)?;
        $check::<half::f16>($($given),*)?;
        $check::<half::bf16>($($given),*)?;
        $check::<f32>($($given),*)?;
        $check::<f64>($($given),*)?;
        $check::<num_complex::Complex<f32>>($($given),*)?;
        $check::<num_complex::Complex<f64>>($($given),*)?;
    }};
}
#[cfg(feature = "hdf5")]
pub(crate) use for_every_type;

/// Distributions with little to do over so many ranks, with their names: a scalar, nothing, and one element, of which every rank but
/// one has nothing.
pub fn small(ranks: usize) -> [(&'static str, Distribution); 3] {
    let over = || Distribution::over(ranks);
    [
        ("scalar", over().shape([]).build().expect("scalar")),
        (
            "empty",
            over().shape([0, 3]).block(0).build().expect("empty"),
        ),
        (
            "single",
            over().shape([1]).cyclic(0).build().expect("single"),
        ),
    ]
}

/// A temporary folder, in memory where there is such a file system: saves are synced, and a busy disk takes its time.
pub fn temporary() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().expect("a folder"))
}

/// One temporary folder for all ranks, made and removed by the first.
pub struct Folder {
    path: PathBuf,
    _made: Option<TempDir>,
}

impl Folder {
    pub fn new(comm: &dyn Communicator) -> Self {
        let made = (comm.rank() == 0).then(temporary);
        let path = made.as_ref().map_or(Vec::new(), |made| {
            made.path().as_os_str().as_encoded_bytes().to_vec()
        });
        let path = comm.broadcast_vec(0, path).expect("broadcast");
        let path = PathBuf::from(String::from_utf8(path).expect("a path in UTF-8"));
        Self { path, _made: made }
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// An error where something is not as it should be.
pub fn ensure(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what().into()) }
}
