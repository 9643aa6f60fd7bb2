//! What is written is read, for every element type, order, byte order, version.

use dap_protocol::{
    DimData, DimDict, DistBuffer, Element, HostArray, HostBuffer, LocalBuffer, Order,
};
use dnpy_format::npy::ByteOrder;
use dnpy_format::{
    Alignment, FormatVersion, MappedPart, WriteOptions, load, load_any, npy, read_into,
    read_localarray, read_localarray_any, save_with, write_localarray_with,
};
use half::f16;
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;

fn part<T: Element>(shape: &[usize], data: Vec<T>, order: Order) -> DistBuffer<HostArray<T>> {
    let dims = shape.iter().enumerate().map(|(axis, &n)| {
        let n = n as u64;
        match axis % 3 {
            0 => DimDict::block(2 * n + 3, 3, 1, n..2 * n),
            1 => DimDict::whole(n),
            _ => DimDict::unstructured(
                4 * n,
                2,
                0,
                (0..n.cast_signed()).map(|i| 7 - 3 * i).collect::<Vec<_>>(),
                true,
            ),
        }
    });
    let dim_data: DimData = dims.collect::<Result<_, _>>().unwrap();
    let array = HostArray::with_order(shape.to_vec(), data, order).unwrap();
    DistBuffer::new(dim_data, array).unwrap()
}

fn c_order<B: HostBuffer>(buffer: &B) -> Vec<u8> {
    let mut bytes = Vec::new();
    buffer.visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
    bytes
}

fn check<T: Element>(
    shape: &[usize],
    order: Order,
    options: WriteOptions,
    values: impl Fn(usize) -> T,
) {
    let data: Vec<T> = (0..shape.iter().product()).map(values).collect();
    let part = part(shape, data, order);
    let mut stream = Vec::new();
    write_localarray_with(&mut stream, &part, options).unwrap();
    assert_eq!(read_localarray::<T, _>(&mut &stream[..]).unwrap(), part);
    let any = read_localarray_any(&mut &stream[..]).unwrap();
    assert_eq!(any.element_type(), T::TYPE);
    assert_eq!(c_order(&any.buffer()), c_order(part.buffer()));

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part_0.dnpy");
    save_with(&path, &part, options).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), stream);
    assert_eq!(load::<T>(&path).unwrap(), part);
    assert_eq!(load_any(&path).unwrap(), any);
    let mut warm: Vec<T> = vec![T::default(); part.buffer().data().len()];
    read_into(&path, &mut warm).unwrap();
    assert_eq!(warm, part.buffer().data());

    let mapped = MappedPart::open(&path).unwrap().part::<T>();
    let swapped = options.byte_order != ByteOrder::NATIVE && T::TYPE.word_size() > 1;
    assert_eq!(mapped.is_err(), swapped, "{mapped:?}");
    if let Ok(mapped) = mapped {
        assert_eq!(mapped.buffer().elements().unwrap(), part.buffer().data());
        assert_eq!(c_order(mapped.buffer()), c_order(part.buffer()));
        assert_eq!(mapped.buffer().shape(), shape);
    }

    let plain = dir.path().join("plain.npy");
    npy::save(&plain, part.buffer()).unwrap();
    assert_eq!(npy::load::<T>(&plain).unwrap(), *part.buffer());
    assert_eq!(
        dnpy_format::MappedArray::<T>::open_npy(&plain)
            .unwrap()
            .elements()
            .unwrap(),
        part.buffer().data()
    );
}

fn options() -> impl Strategy<Value = WriteOptions> {
    let format = prop_oneof![
        Just(None),
        Just(Some(FormatVersion::V1_0)),
        Just(Some(FormatVersion::V2_0))
    ];
    let alignment = prop_oneof![Just(Alignment::Sixteen), Just(Alignment::SixtyFour)];
    let byte_order = prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    (format, alignment, byte_order).prop_map(|(format, alignment, byte_order)| {
        let mut options = WriteOptions::new()
            .alignment(alignment)
            .byte_order(byte_order);
        options.format = format;
        options
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "test values: the pattern matters, not the number"
)]
fn check_type(kind: usize, shape: &[usize], order: Order, options: WriteOptions) {
    let mix = |i: usize| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    match kind {
        0 => check(shape, order, options, |i| mix(i) & 64 == 0),
        1 => check(shape, order, options, |i| mix(i) as i8),
        2 => check(shape, order, options, |i| mix(i) as i16),
        3 => check(shape, order, options, |i| mix(i) as i32),
        4 => check(shape, order, options, |i| mix(i) as i64),
        5 => check(shape, order, options, |i| mix(i) as u8),
        6 => check(shape, order, options, |i| mix(i) as u16),
        7 => check(shape, order, options, |i| mix(i) as u32),
        8 => check(shape, order, options, |i| mix(i) as u64),
        9 => check(shape, order, options, |i| f16::from_f32(i as f32 - 3.5)),
        10 => check(shape, order, options, |i| i as f32 / 3.0),
        11 => check(shape, order, options, |i| i as f64 / 7.0),
        12 => check(shape, order, options, |i| {
            Complex32::new(i as f32, -1.0 / 3.0)
        }),
        _ => check(shape, order, options, |i| {
            Complex64::new(i as f64, -1.0 / 3.0)
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_type_order_and_version(
        kind in 0_usize..14,
        shape in prop::collection::vec(0_usize..5, 0..4),
        fortran: bool,
        options in options(),
    ) {
        let order = if fortran { Order::Fortran } else { Order::C };
        check_type(kind, &shape, order, options);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_localarray_any(&mut &bytes[..]);
        let mut dnpy = b"\x93DARRY\x01\x00".to_vec();
        dnpy.extend_from_slice(&bytes);
        let _ = read_localarray_any(&mut &dnpy[..]);
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(64)
}

#[test]
fn every_type_once() {
    for kind in 0..14 {
        for order in [Order::C, Order::Fortran] {
            for byte_order in [ByteOrder::Little, ByteOrder::Big] {
                check_type(
                    kind,
                    &[3, 4],
                    order,
                    WriteOptions::new().byte_order(byte_order),
                );
            }
        }
    }
}

#[test]
fn large_files_take_the_mapped_way() {
    // over a mebibyte, in both byte orders
    for byte_order in [ByteOrder::Little, ByteOrder::Big] {
        check_type(
            11,
            &[700, 300],
            Order::C,
            WriteOptions::new().byte_order(byte_order),
        );
    }
    check_type(0, &[1100, 1000], Order::C, WriteOptions::new());
}

/// A buffer whose elements lie scattered: every second one of a vector.
struct EverySecond {
    data: Vec<i32>,
    shape: [usize; 1],
}

impl LocalBuffer for EverySecond {
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn element_type(&self) -> dap_protocol::ElementType {
        dap_protocol::ElementType::I32
    }
}

impl HostBuffer for EverySecond {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        None
    }
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        for value in self.data.iter().step_by(2) {
            visit(&value.to_ne_bytes());
        }
    }
}

#[test]
fn strided_buffers_are_written_in_c_order() {
    let data: Vec<i32> = (0..600_000).collect();
    let buffer = EverySecond {
        data,
        shape: [300_000],
    };
    let dim_data = DimData::new(vec![DimDict::whole(300_000).unwrap()]);
    let part = DistBuffer::new(dim_data, buffer).unwrap();
    for byte_order in [ByteOrder::Little, ByteOrder::Big] {
        let mut out = Vec::new();
        write_localarray_with(&mut out, &part, WriteOptions::new().byte_order(byte_order)).unwrap();
        let read = read_localarray::<i32, _>(&mut &out[..]).unwrap();
        assert!(
            read.buffer()
                .data()
                .iter()
                .copied()
                .eq((0..600_000).step_by(2))
        );
    }
}
