//! The suites pass what is right and name what is wrong.

use dap_protocol::testkit::{
    check_exporter, check_host_buffer, check_host_buffer_mut, check_importer,
};
use dap_protocol::{
    DimData, DimDict, DistBuffer, ElementType, HostArray, HostBuffer, LocalBuffer, Order,
};
use ndarray::{Array3, ArrayD, Axis};

type Parts = Vec<DistBuffer<HostArray<f64>>>;

#[test]
fn host_arrays_and_ndarrays_import_and_export() {
    let same = |parts: Parts| Ok::<_, String>(parts);
    let report = check_importer(same).unwrap();
    assert!(report.refused.is_empty() && report.imported.len() > 30);

    let through_ndarray = |parts: Parts| {
        let arrays = parts.into_iter().map(|part| part.map_buffer(ArrayD::from));
        let arrays: Vec<_> = arrays.collect::<Result<_, _>>()?;
        check_exporter(&arrays).unwrap();
        for array in &arrays {
            check_host_buffer(array.buffer()).unwrap();
        }
        arrays
            .into_iter()
            .map(|part| part.map_buffer(HostArray::from))
            .collect()
    };
    check_importer::<_, dap_protocol::ProtocolError>(through_ndarray).unwrap();
}

#[test]
fn importers_that_lose_something_are_named() {
    let refuses = check_importer(|_: Parts| Err::<Parts, _>("no")).unwrap_err();
    assert!(
        refuses.contains("scalar (C order): refused: no"),
        "{refuses}"
    );
    let shuffles = check_importer(|mut parts: Parts| {
        parts.reverse();
        Ok::<_, String>(parts)
    });
    assert!(shuffles.unwrap_err().contains("came back as"));
    let zeroes = check_importer(|parts: Parts| {
        let zero = |part: DistBuffer<HostArray<f64>>| {
            part.map_buffer(|array| {
                let shape = array.shape().to_vec();
                HostArray::new(shape, vec![0.0; array.data().len()]).unwrap()
            })
        };
        parts.into_iter().map(zero).collect::<Result<Parts, _>>()
    });
    assert!(zeroes.unwrap_err().contains("other elements"));
}

#[test]
fn exporters_that_disagree_are_named() {
    let part = |rank| {
        let dim = DimDict::block(4, 2, rank, 0..2).unwrap();
        DistBuffer::new(
            DimData::new(vec![dim]),
            HostArray::new(vec![2], vec![0_u8; 2]).unwrap(),
        )
    };
    let e = check_exporter(&[part(0).unwrap(), part(1).unwrap()]).unwrap_err();
    assert!(e.contains("S4"), "{e}");
}

#[test]
fn buffers_of_any_layout_are_buffers() {
    for order in [Order::C, Order::Fortran] {
        let mut a = HostArray::with_order(vec![3, 4], vec![7_i32; 12], order).unwrap();
        check_host_buffer_mut(&mut a).unwrap();
    }
    let mut a = Array3::from_elem((3, 4, 5), false);
    check_host_buffer_mut(&mut a).unwrap();
    a.invert_axis(Axis(1));
    check_host_buffer_mut(&mut a.view_mut().reversed_axes()).unwrap();
}

#[test]
fn buffers_that_lie_are_named() {
    struct Short;
    impl LocalBuffer for Short {
        fn shape(&self) -> &[usize] {
            &[3]
        }
        fn element_type(&self) -> ElementType {
            ElementType::I16
        }
    }
    impl HostBuffer for Short {
        fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
            None
        }
        fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
            visit(&[0; 5]);
        }
    }
    let e = check_host_buffer(&Short).unwrap_err();
    assert!(e.contains("a piece of 5 bytes") && e.contains("5 bytes visited, the shape has 6"));
}
