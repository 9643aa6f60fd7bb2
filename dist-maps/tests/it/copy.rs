//! Strided copies against element-by-element loops.

use dist_maps::copy::{CopyError, Layout, StridedRun, copy, gather, scatter};
use proptest::prelude::*;

use crate::simulate::{Order, order};

/// Runs within `0..n`, and the positions that they select.
fn runs(n: usize) -> BoxedStrategy<Vec<StridedRun>> {
    let one = (0..n.max(1), 0..6_usize, 0..6_usize, 0..8_usize).prop_map(
        move |(start, len, count, stride)| {
            let len = len.min(n - start.min(n));
            let room = n - start.min(n) - len;
            let count = count.min(room.checked_div(stride).map_or(1, |more| more + 1));
            StridedRun {
                start,
                len,
                count,
                stride,
            }
        },
    );
    let whole = Just(vec![StridedRun::range(0..n)]);
    prop_oneof![whole, proptest::collection::vec(one, 0..4)].boxed()
}

fn positions(runs: &[StridedRun]) -> Vec<usize> {
    let mut all = Vec::new();
    for run in runs {
        for i in 0..run.count {
            for j in 0..run.len {
                all.push(run.start + i * run.stride + j);
            }
        }
    }
    all
}

/// Every combination, last one fastest.
fn product(lists: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for list in lists {
        let longer = |prefix: &Vec<usize>| {
            let one = |&i: &usize| prefix.iter().copied().chain([i]).collect();
            list.iter().map(one).collect::<Vec<Vec<usize>>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn offset(layout: &Layout, index: &[usize]) -> usize {
    let steps = index.iter().zip(layout.strides());
    let sum: isize = steps.map(|(&i, &s)| i.cast_signed() * s).sum();
    layout.origin().checked_add_signed(sum).unwrap()
}

#[derive(Clone, Debug)]
struct Boxed {
    shape: Vec<usize>,
    runs: Vec<Vec<StridedRun>>,
    order: Order,
}

fn boxed() -> impl Strategy<Value = Boxed> {
    let shape = proptest::collection::vec(1..24_usize, 0..4);
    (shape, order()).prop_flat_map(|(shape, order)| {
        let runs: Vec<_> = shape.iter().map(|&n| runs(n)).collect();
        (Just(shape), runs, Just(order)).prop_map(|(shape, runs, order)| Boxed {
            shape,
            runs,
            order,
        })
    })
}

impl Boxed {
    fn lists(&self) -> Vec<&[StridedRun]> {
        self.runs.iter().map(Vec::as_slice).collect()
    }

    fn offsets(&self) -> Vec<usize> {
        let layout = self.order.layout(&self.shape);
        let lists: Vec<_> = self.runs.iter().map(|runs| positions(runs)).collect();
        product(&lists)
            .iter()
            .map(|index| offset(&layout, index))
            .collect()
    }

    fn array(&self) -> Vec<u32> {
        (0..).take(self.shape.iter().product()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(64)))]

    #[test]
    fn gather_reads_in_c_order(b in boxed()) {
        let (array, offsets) = (b.array(), b.offsets());
        let expected: Vec<u32> = offsets.iter().map(|&at| array[at]).collect();
        let mut packed = vec![u32::MAX; expected.len()];
        gather(&array, &b.order.layout(&b.shape), &b.lists(), &mut packed).unwrap();
        prop_assert_eq!(packed, expected);
    }

    #[test]
    fn scatter_writes_in_c_order_and_nowhere_else(b in boxed()) {
        let offsets = b.offsets();
        // positions selected twice keep one of their values
        let mut seen = std::collections::BTreeMap::new();
        for (value, &at) in (1000_u32..).zip(&offsets) {
            seen.entry(at).or_insert_with(Vec::new).push(value);
        }
        let packed: Vec<u32> = (1000..).take(offsets.len()).collect();
        let mut array = b.array();
        scatter(&packed, &mut array, &b.order.layout(&b.shape), &b.lists()).unwrap();
        for (at, (&now, &before)) in array.iter().zip(&b.array()).enumerate() {
            if let Some(values) = seen.get(&at) {
                prop_assert!(values.contains(&now));
            } else {
                prop_assert_eq!(now, before);
            }
        }
    }

    #[test]
    fn copies_pair_their_runs_in_order(a in boxed(), order in order()) {
        // the same numbers of elements per axis, as one run and as given
        let shape: Vec<usize> = a.runs.iter().map(|runs| positions(runs).len()).collect();
        let dense: Vec<[StridedRun; 1]> = shape.iter().map(|&n| [StridedRun::range(0..n)]).collect();
        let dense: Vec<&[StridedRun]> = dense.iter().map(<[_; 1]>::as_slice).collect();
        let array = a.array();
        let mut out = vec![0; shape.iter().product()];
        let (from, to) = (a.order.layout(&a.shape), order.layout(&shape));
        copy(&array, &from, &a.lists(), &mut out, &to, &dense).unwrap();
        let expected: Vec<u32> = a.offsets().iter().map(|&at| array[at]).collect();
        prop_assert_eq!(&order.read(&shape, &out), &expected);
        // and back
        let mut again = vec![u32::MAX; array.len()];
        copy(&out, &to, &dense, &mut again, &from, &a.lists()).unwrap();
        for at in a.offsets() {
            prop_assert_eq!(again[at], array[at]);
        }
    }

    #[test]
    fn different_runs_of_equal_length_are_paired(
        (a, b) in (runs(60), runs(60)), skip in 0..5_usize,
    ) {
        let (mut from, mut to) = (positions(&a), positions(&b));
        let n = from.len().min(to.len());
        from.truncate(n);
        to.truncate(n);
        // cut the longer list down by expressing both as runs again
        let cut = |runs: &[StridedRun]| {
            let mut left = n;
            let mut out = Vec::new();
            for run in runs {
                let whole = (left / run.len.max(1)).min(run.count);
                out.push(StridedRun { count: whole, ..*run });
                left -= whole * run.len;
                if whole < run.count && run.len > 0 {
                    let start = run.start + whole * run.stride;
                    out.push(StridedRun::range(start..start + left));
                    break;
                }
            }
            out
        };
        let array: Vec<u32> = (0..60).collect();
        let mut out = vec![u32::MAX; 60 + skip];
        let layout = Layout::new(skip, &[1]);
        copy(&array, &Layout::new(0, &[1]), &[&cut(&a)], &mut out, &layout, &[&cut(&b)]).unwrap();
        let mut expected = vec![Vec::new(); 60 + skip];
        for (&s, &d) in from.iter().zip(&to) {
            expected[d + skip].push(array[s]);
        }
        for (now, allowed) in out.iter().zip(&expected) {
            prop_assert!(allowed.contains(now) || allowed.is_empty() && *now == u32::MAX);
        }
    }

    #[test]
    fn large_transposes_are_exact(rows in 1..150_usize, cols in 1..150_usize, gap in 0..3_usize) {
        // C order with a gap between rows, to Fortran order, and back
        let layout = Layout::new(0, &[(cols + gap).cast_signed(), 1]);
        let array: Vec<u64> = (0..).take(rows * (cols + gap)).collect();
        let (r, c) = ([StridedRun::range(0..rows)], [StridedRun::range(0..cols)]);
        let axes: [&[StridedRun]; 2] = [&r, &c];
        let turned = Layout::f_order(&[rows, cols]).unwrap();
        let mut out = vec![0; rows * cols];
        copy(&array, &layout, &axes, &mut out, &turned, &axes).unwrap();
        for i in 0..rows {
            for j in 0..cols {
                prop_assert_eq!(out[j * rows + i], array[i * (cols + gap) + j]);
            }
        }
        let mut back = vec![u64::MAX; array.len()];
        copy(&out, &turned, &axes, &mut back, &layout, &axes).unwrap();
        for (at, (now, before)) in back.iter().zip(&array).enumerate() {
            let inside = at % (cols + gap) < cols;
            prop_assert_eq!(*now, if inside { *before } else { u64::MAX });
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let run = |start, len, count, stride| {
        [StridedRun {
            start,
            len,
            count,
            stride,
        }]
    };
    let layout = Layout::c_order(&[3, 4]).unwrap();
    let (rows, cols) = (run(0, 3, 1, 3), run(1, 2, 2, 2));
    let a = [0; 12];
    let mut packed = [7; 12];
    // columns 1..3 and 3..5: element 2 * 4 + 4 = 12 is outside
    let error = gather(&a, &layout, &[&rows, &cols], &mut packed).unwrap_err();
    let outside = CopyError::OutOfBounds {
        side: "source",
        lowest: 1,
        highest: 12,
        len: 12,
    };
    assert_eq!(error, outside);
    assert_eq!(packed, [7; 12]);
    let error = gather(&a, &layout, &[&rows, &run(0, 2, 1, 2)], &mut packed).unwrap_err();
    assert_eq!(
        error,
        CopyError::PackedLength {
            given: 12,
            allowed: 6
        }
    );
    let error = gather(&a, &layout, &[&rows], &mut packed[..3]).unwrap_err();
    let dimensions = CopyError::Dimensions {
        what: "the source layout",
        given: 2,
        allowed: 1,
    };
    assert_eq!(error, dimensions);
    // below the slice
    let back = Layout::new(1, &[-1]);
    let error = scatter(&[1, 2, 3], &mut packed, &back, &[&run(0, 3, 1, 3)]).unwrap_err();
    let below = CopyError::OutOfBounds {
        side: "destination",
        lowest: -1,
        highest: 1,
        len: 12,
    };
    assert_eq!(error, below);
    assert_eq!(packed, [7; 12]);
    // numbers that overflow
    let huge = run(usize::MAX, usize::MAX, usize::MAX, usize::MAX);
    assert!(gather(&a, &Layout::new(0, &[isize::MIN]), &[&huge], &mut packed).is_err());
    let huge = run(0, 1, 12, usize::MAX / 2);
    assert!(gather(&a, &Layout::new(0, &[isize::MAX]), &[&huge], &mut packed).is_err());
    // a stride that would be -1 were it signed: from element 11 down
    let wrapped = run(11, 1, 12, usize::MAX);
    let line = Layout::new(0, &[1]);
    let all: [&[StridedRun]; 1] = [&[StridedRun::range(0..12)]];
    let overflow = CopyError::Overflow { what: "stride" };
    let error = gather(&a, &line, &[&wrapped], &mut packed).unwrap_err();
    assert_eq!(error, overflow);
    let error = scatter(&a, &mut packed, &line, &[&wrapped]).unwrap_err();
    assert_eq!(error, overflow);
    let error = copy(&a, &line, &[&wrapped], &mut packed, &line, &all).unwrap_err();
    assert_eq!(error, overflow);
    let error = copy(&a, &line, &all, &mut packed, &line, &[&wrapped]).unwrap_err();
    assert_eq!(error, overflow);
    assert_eq!(packed, [7; 12]);
    assert_eq!(wrapped[0].positions().nth(1), Some(10));
    // one run has no distance
    gather(&a, &line, &[&run(3, 2, 1, usize::MAX)], &mut packed[..2]).unwrap();
    assert_eq!(packed[..3], [0, 0, 7]);
    let axes: [&[StridedRun]; 1] = [&rows];
    let one = Layout::new(0, &[1]);
    let error = copy(&a, &one, &axes, &mut packed, &one, &[&run(0, 4, 1, 4)]).unwrap_err();
    assert_eq!(
        error,
        CopyError::Extents {
            axis: 0,
            src: 3,
            dst: 4
        }
    );
}

#[test]
fn what_no_memory_holds_is_refused_at_once() {
    let run = |start, len, count, stride| {
        [StridedRun {
            start,
            len,
            count,
            stride,
        }]
    };
    let (a, mut b) = ([1_u8; 10], [2_u8; 10]);
    let line = Layout::new(0, &[1]);
    let outside = |side, highest| {
        Err(CopyError::OutOfBounds {
            side,
            lowest: 0,
            highest,
            len: 10,
        })
    };
    // equally many elements in runs of 2 and of 3: there are far too many to pair
    let (two, three) = (run(0, 2, 3 << 40, 4), run(0, 3, 2 << 40, 5));
    let past_two = ((3_i128 << 40) - 1) * 4 + 1;
    let past_three = ((2_i128 << 40) - 1) * 5 + 2;
    let refused = copy(&a, &line, &[&two], &mut b, &line, &[&three]);
    assert_eq!(refused, outside("source", past_two));
    let refused = copy(&a, &Layout::new(0, &[0]), &[&two], &mut b, &line, &[&three]);
    assert_eq!(refused, outside("destination", past_three));
    // distances whose sum has no 128 bits
    let far = Layout::new(0, &[1 << 62, 1 << 62]);
    let long = run(0, 1, usize::MAX, 1);
    let refused = copy(&a, &far, &[&long, &long], &mut b, &far, &[&long, &long]);
    assert_eq!(refused, Err(CopyError::Overflow { what: "position" }));
    let start = run(1 << 37, 1, usize::MAX, 1);
    let refused = copy(&a, &far, &[&start, &start], &mut b, &far, &[&long, &long]);
    assert_eq!(refused, Err(CopyError::Overflow { what: "position" }));
    assert_eq!(b, [2; 10]);
    // nothing is copied from nowhere, however far that is
    let (none, few) = (run(usize::MAX, 0, 7, 1), run(9, 3, 1, 3));
    copy(&a, &far, &[&none, &few], &mut b, &far, &[&none, &few]).unwrap();
    assert_eq!(b, [2; 10]);
}

#[test]
fn bytes_stand_for_elements_of_any_size() {
    // a 2 x 3 array of 3-byte elements; the last column
    let a: Vec<u8> = (0..18).collect();
    let layout = Layout::new(0, &[9, 3, 1]);
    let (rows, col) = ([StridedRun::range(0..2)], [StridedRun::range(2..3)]);
    let size = [StridedRun::range(0..3)];
    let mut packed = [0; 6];
    gather(&a, &layout, &[&rows, &col, &size], &mut packed).unwrap();
    assert_eq!(packed, [6, 7, 8, 15, 16, 17]);
}

/// Arrays too large for the cache are copied in another way; from runs and to runs of several lengths and alignments.
#[test]
fn a_large_destination_gets_the_same_elements() {
    const ROWS: usize = 1000;
    const COLUMNS: usize = 2500;
    let run = |start, len, count, stride| StridedRun {
        start,
        len,
        count,
        stride,
    };
    let from: Vec<u64> = (0..(ROWS * COLUMNS) as u64).collect();
    let layout = Layout::c_order(&[ROWS, COLUMNS]).unwrap();
    let columns = [
        // 64 elements apart by 64, as of a block-cyclic axis, and a shift that no line begins with
        (vec![run(0, 64, 19, 128)], vec![run(5, 64, 19, 130)]),
        (vec![run(3, 33, 50, 49)], vec![run(7, 1650, 1, 0)]),
        (
            vec![run(1, 2000, 1, 0), run(2100, 200, 2, 200)],
            vec![run(0, 2400, 1, 0)],
        ),
    ];
    let rows = (vec![run(1, 3, 300, 3)], vec![run(0, 100, 9, 110)]);
    for (src, dst) in columns {
        let mut to = vec![u64::MAX; ROWS * COLUMNS];
        copy(
            &from,
            &layout,
            &[&rows.0, &src],
            &mut to,
            &layout,
            &[&rows.1, &dst],
        )
        .unwrap();
        let mut wanted = vec![u64::MAX; ROWS * COLUMNS];
        for (i, k) in positions(&rows.0).into_iter().zip(positions(&rows.1)) {
            for (j, l) in positions(&src).into_iter().zip(positions(&dst)) {
                wanted[k * COLUMNS + l] = from[i * COLUMNS + j];
            }
        }
        assert!(to == wanted);
    }
}
