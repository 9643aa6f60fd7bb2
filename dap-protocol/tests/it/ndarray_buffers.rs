//! ndarray's arrays and views as buffers.

use dap_protocol::{CopyError, HostArray, HostBuffer, HostBufferMut, Order};
use ndarray::{Array2, Array3, ArrayD, arr0, s};

fn seen<B: HostBuffer>(buffer: &B) -> (Vec<i16>, usize) {
    let (mut bytes, mut pieces) = (Vec::new(), 0);
    buffer.visit_bytes(&mut |piece| {
        bytes.extend_from_slice(piece);
        pieces += 1;
    });
    let words = bytes.chunks_exact(2);
    let elements = words.map(|w| i16::from_ne_bytes([w[0], w[1]])).collect();
    (elements, pieces)
}

fn cube() -> Array3<i16> {
    Array3::from_shape_fn((3, 4, 5), |(i, j, k)| {
        i16::try_from(100 * i + 10 * j + k).unwrap()
    })
}

#[test]
fn views_of_any_stride_are_read_in_c_order() {
    let a = cube();
    let mut views = vec![
        a.view(),
        a.slice(s![1.., .., ..]),
        a.slice(s![.., 1..3, ..]),
    ];
    views.extend([a.slice(s![.., .., ..;2]), a.slice(s![..;-1, ..;-2, ..;-1])]);
    views.extend([
        a.t(),
        a.view().permuted_axes([1, 0, 2]),
        a.slice(s![..0, .., ..]),
    ]);
    for view in views {
        let expected: Vec<i16> = view.iter().copied().collect();
        assert_eq!(seen(&view).0, expected, "{view:?}");
    }
    assert_eq!(seen(&a.slice(s![.., 1..3, ..])).1, 3);
    assert_eq!(seen(&arr0(7_i16)), (vec![7], 1));
}

#[test]
fn contiguous_orders_are_told_apart() {
    let a = cube();
    let order = |v: &ndarray::ArrayView3<'_, i16>| v.contiguous_bytes().map(|(_, order)| order);
    assert_eq!(order(&a.view()), Some(Order::C));
    assert_eq!(order(&a.t()), Some(Order::Fortran));
    assert_eq!(order(&a.view().permuted_axes([1, 0, 2])), None);
    assert_eq!(order(&a.slice(s![..;-1, .., ..])), None);
    assert_eq!(
        a.t().contiguous_bytes().unwrap().0,
        a.contiguous_bytes().unwrap().0
    );
}

#[test]
fn strided_views_are_written_in_c_order() {
    let mut a = Array2::<i16>::zeros((3, 4));
    let bytes: Vec<u8> = (1..=6_i16).flat_map(i16::to_ne_bytes).collect();
    a.slice_mut(s![.., ..;-2]).copy_from_bytes(&bytes).unwrap();
    assert_eq!(
        a.iter().copied().collect::<Vec<_>>(),
        [0, 2, 0, 1, 0, 4, 0, 3, 0, 6, 0, 5]
    );
    let e = a
        .slice_mut(s![.., ..1])
        .copy_from_bytes(&bytes)
        .unwrap_err();
    assert_eq!(
        e,
        CopyError::Length {
            given: 12,
            expected: 6
        }
    );
    let mut b = Array2::from_elem((2, 2), false);
    let e = b
        .view_mut()
        .reversed_axes()
        .copy_from_bytes(&[1, 0, 2, 1])
        .unwrap_err();
    assert!(matches!(e, CopyError::Value { offset: 2, .. }));
}

#[test]
fn arrays_come_and_go_without_a_copy() {
    for order in [Order::C, Order::Fortran] {
        let host = HostArray::with_order(vec![2, 3], vec![0_i16, 1, 2, 3, 4, 5], order).unwrap();
        let at = host.data().as_ptr();
        let array = ArrayD::from(host.clone());
        assert_eq!(seen(&array).0, seen(&host).0);
        let array = ArrayD::from(host);
        assert_eq!(array.as_ptr(), at);
        let back = HostArray::from(array);
        assert_eq!((back.data().as_ptr(), back.order()), (at, order));
    }
    let cut = cube().slice_move(s![1.., ..;2, ..]);
    assert_eq!(
        seen(&HostArray::from(cut.clone())).0,
        cut.into_iter().collect::<Vec<_>>()
    );
    let cut = cube().slice_move(s![1..2, .., ..]);
    assert_eq!(
        seen(&HostArray::from(cut.clone())).0,
        cut.into_iter().collect::<Vec<_>>()
    );
    let huge = HostArray::<u8>::new(vec![0, usize::MAX], vec![]);
    assert!(huge.is_err());
}
