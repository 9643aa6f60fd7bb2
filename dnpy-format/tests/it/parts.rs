//! One rank's part of a plain `.npy` file, read and written, against plain counting.

use std::sync::atomic::{AtomicU64, Ordering};

use dap_protocol::{
    DimData, DimDict, Dist, DistBuffer, ElementType, HostArray, LocalBuffer, Order,
};
use dist_maps::Distribution;
use dnpy_format::{DnpyError, SaveId, npy};
use proptest::prelude::*;

/// The global indices that a dictionary stores, in local order; shares no code with the crate.
pub(crate) fn stored(dim: &DimDict) -> Vec<i64> {
    match dim.dist() {
        Dist::Block { start, stop, .. } => (start.cast_signed()..stop.cast_signed()).collect(),
        Dist::Cyclic { block_size, .. } => (0..dim.size())
            .filter(|i| i / block_size % dim.grid_size() as u64 == dim.grid_rank() as u64)
            .map(u64::cast_signed)
            .collect(),
        Dist::Unstructured { indices, .. } => indices.to_vec(),
    }
}

/// Which of them are owned, by the sentence of the protocol on padding.
pub(crate) fn is_owned(dim: &DimDict) -> Vec<bool> {
    let n = stored(dim).len();
    let padding = dim.padding();
    let first = dim.grid_rank() == 0;
    let last = dim.grid_rank() + 1 == dim.grid_size();
    (0..n as u64)
        .map(|i| (first || i >= padding.lower) && (last || i < n as u64 - padding.upper))
        .collect()
}

/// For every position of a part, in C order: the flat C index of its element, and whether it is
/// owned.
pub(crate) fn flat(dim_data: &DimData) -> Vec<(i64, bool)> {
    let mut all = vec![(0, true)];
    for dim in dim_data {
        let (indices, owned) = (stored(dim), is_owned(dim));
        let size = dim.size().cast_signed();
        all = all
            .iter()
            .flat_map(|&(at, mine)| {
                indices
                    .iter()
                    .zip(&owned)
                    .map(move |(&i, &o)| (at * size + i, mine && o))
            })
            .collect();
    }
    all
}

/// How an axis is distributed.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Block,
    Padded,
    Cyclic(u64),
    Scattered,
}

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Block),
        Just(Kind::Padded),
        (1_u64..4).prop_map(Kind::Cyclic),
        Just(Kind::Scattered)
    ]
}

/// A distribution of `shape` with the given kinds over a grid of the given ranks per axis.
pub(crate) fn distribution(shape: &[u64], kinds: &[Kind], grid: &[usize]) -> Distribution {
    let ranks = grid.iter().product();
    let mut builder = Distribution::over(ranks).shape(shape.to_vec());
    for (axis, (kind, &n)) in kinds.iter().zip(grid).enumerate() {
        let size = shape[axis];
        builder = match kind {
            // padding may not exceed what the neighbour owns
            Kind::Padded if size >= 2 * n as u64 => {
                builder.block_balanced(axis).padding_of(axis, 1, 1)
            }
            Kind::Block | Kind::Padded => builder.block(axis),
            Kind::Cyclic(block) => builder.block_cyclic(axis, *block),
            Kind::Scattered => {
                let mut lists = vec![Vec::new(); n];
                for i in (0..size.cast_signed()).rev() {
                    lists[usize::try_from(i * 7 / 3).unwrap() % n].push(i);
                }
                builder.unstructured(axis, lists)
            }
        };
    }
    builder.grid(grid.to_vec()).build().unwrap()
}

/// The value of the element at a flat index: never 0, so that an element left out shows.
pub(crate) fn value(flat: i64) -> i32 {
    i32::try_from(flat * 3 + 1).unwrap()
}

fn whole(shape: &[u64], order: Order) -> HostArray<i32> {
    let shape: Vec<usize> = shape.iter().map(|&n| usize::try_from(n).unwrap()).collect();
    let len = i64::try_from(shape.iter().product::<usize>()).unwrap();
    let c: Vec<i32> = (0..len).map(value).collect();
    let data = match order {
        Order::C => c,
        Order::Fortran => {
            // the element at C position `at` goes to its Fortran position
            let mut data = vec![0; c.len()];
            for (at, &v) in c.iter().enumerate() {
                let mut rest = at;
                let mut index = vec![0; shape.len()];
                for (i, &n) in index.iter_mut().zip(&shape).rev() {
                    *i = rest % n;
                    rest /= n;
                }
                let place = index
                    .iter()
                    .zip(&shape)
                    .rev()
                    .fold(0, |f, (&i, &n)| f * n + i);
                data[place] = v;
            }
            data
        }
    };
    HostArray::with_order(shape, data, order).unwrap()
}

/// The elements of a buffer in C order.
pub(crate) fn c_order(array: &HostArray<i32>) -> Vec<i32> {
    let mut out = Vec::new();
    dap_protocol::HostBuffer::visit_bytes(array, &mut |bytes| {
        out.extend(
            bytes
                .chunks_exact(4)
                .map(|b| i32::from_ne_bytes(b.try_into().unwrap())),
        );
    });
    out
}

pub(crate) fn case() -> impl Strategy<Value = (Vec<u64>, Vec<Kind>, Vec<usize>)> {
    (0_usize..4).prop_flat_map(|ndim| {
        (
            prop::collection::vec(0_u64..9, ndim),
            prop::collection::vec(kind(), ndim),
            prop::collection::vec(1_usize..4, ndim),
        )
    })
}

pub(crate) fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(48),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_rank_reads_its_elements_and_no_byte_more((shape, kinds, grid) in case(), fortran: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("whole.npy");
        let order = if fortran { Order::Fortran } else { Order::C };
        npy::save(&path, &whole(&shape, order)).unwrap();
        let dist = distribution(&shape, &kinds, &grid);
        for rank in 0..dist.ranks() {
            let dim_data = dist.dim_data(rank).unwrap();
            let expected = flat(&dim_data);
            let stored = npy::read_by_dim_data::<i32>(&path, &dim_data).unwrap();
            let values: Vec<i32> = expected.iter().map(|&(at, _)| value(at)).collect();
            prop_assert_eq!(c_order(stored.part.buffer()), values);
            prop_assert_eq!(stored.bytes_read, 4 * expected.len() as u64);
            prop_assert_eq!(npy::load_npy::<i32>(&path, &dim_data).unwrap(), stored.part);

            let owned = npy::read_owned::<i32>(&path, &dim_data).unwrap();
            let values: Vec<i32> =
                expected.iter().map(|&(at, mine)| if mine { value(at) } else { 0 }).collect();
            prop_assert_eq!(c_order(owned.part.buffer()), values);
            let count = expected.iter().filter(|&&(_, mine)| mine).count();
            prop_assert_eq!(owned.bytes_read, 4 * count as u64);
            prop_assert_eq!(owned.part.dim_data(), &dim_data);
        }
    }

    #[test]
    fn parts_written_by_all_ranks_are_the_whole((shape, kinds, grid) in case()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("whole.npy");
        let dist = distribution(&shape, &kinds, &grid);
        let save = SaveId::random();
        let first = npy::PartsWriter::create(&path, save, ElementType::I32, &shape).unwrap();
        let mut written = 0;
        for rank in 0..dist.ranks() {
            let writer = npy::PartsWriter::join(&path, save).unwrap();
            let dim_data = dist.dim_data(rank).unwrap();
            // what lies in the padding must not be written
            let data: Vec<i32> = flat(&dim_data)
                .iter()
                .map(|&(at, mine)| if mine { value(at) } else { -9 })
                .collect();
            let array = HostArray::new(dist.local_shape(rank), data).unwrap();
            written += writer.write_part(&DistBuffer::new(dim_data, array).unwrap()).unwrap();
        }
        prop_assert!(!path.exists());
        first.publish(written).unwrap();
        let whole = whole(&shape, Order::C);
        prop_assert_eq!(written, 4 * whole.data().len() as u64);
        prop_assert_eq!(npy::load::<i32>(&path).unwrap(), whole);
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn wrong_shapes_types_and_indices_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    npy::save(&path, &whole(&[4, 5], Order::C)).unwrap();
    let dims = |a: DimDict, b: DimDict| DimData::new(vec![a, b]);
    let whole_5 = DimDict::whole(5).unwrap();
    let other = dims(DimDict::whole(5).unwrap(), whole_5.clone());
    let e = npy::load_npy::<i32>(&path, &other).unwrap_err();
    assert!(e.to_string().contains("[4, 5]"), "{e}");
    let one = DimData::new(vec![whole_5.clone()]);
    assert!(npy::load_npy::<i32>(&path, &one).is_err());
    let good = dims(DimDict::whole(4).unwrap(), whole_5.clone());
    assert!(npy::load_npy::<f32>(&path, &good).is_err());
    let negative = DimDict::unstructured(4, 1, 0, vec![0, -1, 3], true).unwrap();
    let e = npy::load_npy::<i32>(&path, &dims(negative, whole_5.clone())).unwrap_err();
    assert!(e.to_string().contains("axis 0: index -1"), "{e}");
    let beyond = DimDict::unstructured(4, 1, 0, vec![4, 2], true).unwrap();
    let e = npy::load_npy::<i32>(&path, &dims(beyond, whole_5)).unwrap_err();
    assert!(e.to_string().contains("axis 0: index 4"), "{e}");
}

#[test]
fn a_part_of_another_array_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    npy::save(&path, &whole(&[3], Order::C)).unwrap();
    let writer = npy::PartsWriter::create(&path, SaveId::random(), ElementType::I32, &[4]).unwrap();
    let part = |n: u64, index: i64| {
        let dim = DimDict::unstructured(n, 1, 0, vec![index], true).unwrap();
        let array = HostArray::new(vec![1], vec![1_i32]).unwrap();
        DistBuffer::new(DimData::new(vec![dim]), array).unwrap()
    };
    assert!(matches!(
        writer.write_part(&part(5, 0)),
        Err(DnpyError::GlobalShape { .. })
    ));
    let e = writer.write_part(&part(4, -3)).unwrap_err();
    assert!(e.to_string().contains("index -3"), "{e}");
    let floats = HostArray::new(vec![4], vec![0.0_f32; 4]).unwrap();
    let floats = DistBuffer::new(DimData::new(vec![DimDict::whole(4).unwrap()]), floats).unwrap();
    assert!(writer.write_part(&floats).is_err());
    writer.discard().unwrap();
    assert_eq!(
        npy::load::<i32>(&path).unwrap(),
        whole(&[3], Order::C),
        "the old file"
    );
    let e = npy::PartsWriter::create(&path, SaveId::random(), ElementType::F64, &[1 << 62, 8]);
    assert!(matches!(e, Err(DnpyError::Overflow { .. })));
    let nobody = npy::PartsWriter::join(&path, SaveId::random());
    assert!(matches!(nobody, Err(DnpyError::Io { .. })));
}

fn half(rank: usize) -> DistBuffer<HostArray<i32>> {
    let range = if rank == 0 { 0..2 } else { 2..4 };
    let dim = DimDict::block(4, 2, rank, range).unwrap();
    let array = HostArray::new(vec![2], vec![7, 8]).unwrap();
    DistBuffer::new(DimData::new(vec![dim]), array).unwrap()
}

#[test]
fn a_rank_that_never_wrote_is_found_and_nothing_is_written_after_publishing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    let save = SaveId::random();
    let first = npy::PartsWriter::create(&path, save, ElementType::I32, &[4]).unwrap();
    let second = npy::PartsWriter::join(&path, save).unwrap();
    let written = first.write_part(&half(0)).unwrap();
    let e = first.publish(written).unwrap_err();
    assert!(
        matches!(
            e,
            DnpyError::Incomplete {
                written: 8,
                expected: 16
            }
        ),
        "{e}"
    );
    let e = second.write_part(&half(1)).unwrap_err();
    assert!(matches!(e, DnpyError::Closed { .. }), "{e}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);

    let first = npy::PartsWriter::create(&path, save, ElementType::I32, &[4]).unwrap();
    let second = npy::PartsWriter::join(&path, save).unwrap();
    let written = first.write_part(&half(0)).unwrap() + second.write_part(&half(1)).unwrap();
    first.publish(written).unwrap();
    let e = second.write_part(&half(0)).unwrap_err();
    assert!(matches!(e, DnpyError::Closed { .. }), "{e}");
    assert_eq!(npy::load::<i32>(&path).unwrap().data(), [7, 8, 7, 8]);
}

#[test]
fn a_file_that_cannot_be_made_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    // with its header the file would be longer than any file
    let n = u64::try_from(isize::MAX).unwrap();
    let e = npy::PartsWriter::create(&path, SaveId::random(), ElementType::U8, &[n]).unwrap_err();
    assert!(matches!(e, DnpyError::Io { .. }), "{e}");
    let e = npy::PartsWriter::create(dir.path(), SaveId::random(), ElementType::U8, &[1]);
    assert!(matches!(e, Err(DnpyError::NotAFile { .. })));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn rows_of_whole_lines_are_one_read() {
    static READS: AtomicU64 = AtomicU64::new(0);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    npy::save(&path, &whole(&[64, 33], Order::C)).unwrap();
    let dist = Distribution::over(4)
        .shape([64, 33])
        .block(0)
        .build()
        .unwrap();
    for rank in 0..4 {
        let read = npy::read_owned::<i32>(&path, &dist.dim_data(rank).unwrap()).unwrap();
        READS.fetch_add(read.reads, Ordering::Relaxed);
        assert_eq!(read.part.buffer().shape(), [16, 33]);
    }
    assert_eq!(READS.load(Ordering::Relaxed), 4);
}

#[test]
fn a_byte_that_is_no_bool_is_named_where_it_stands_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    let whole = HostArray::new(vec![4, 6], vec![true; 24]).unwrap();
    npy::save(&path, &whole).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() - 24 + 2 * 6 + 5; // row 2, column 5
    bytes[at] = 7;
    std::fs::write(&path, bytes).unwrap();
    // contiguous and not, in place and turned
    let parts = [
        (DimDict::block(4, 2, 1, 2..4), DimDict::whole(6)),
        (DimDict::block(4, 2, 1, 2..4), DimDict::block(6, 2, 1, 4..6)),
        (DimDict::cyclic(4, 2, 0, 1), DimDict::cyclic(6, 2, 1, 1)),
        (
            DimDict::unstructured(4, 2, 0, vec![3, 2], true),
            DimDict::unstructured(6, 2, 0, vec![5, 0, 4], true),
        ),
    ];
    for (rows, columns) in parts {
        let part = DimData::new(vec![rows.unwrap(), columns.unwrap()]);
        let error = npy::read_by_dim_data::<bool>(&path, &part).unwrap_err();
        assert_eq!(error.offset(), Some(at as u64), "{part:?}: {error}");
    }
    let good = DimData::new(vec![
        DimDict::block(4, 2, 0, 0..2).unwrap(),
        DimDict::whole(6).unwrap(),
    ]);
    assert!(npy::read_by_dim_data::<bool>(&path, &good).is_ok());
}
