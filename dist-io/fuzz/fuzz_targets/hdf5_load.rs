//! Any bytes as an HDF5 file with a dataset `a`: what is loaded within limits is as long as its shape, the same by every call.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use dap_protocol::{Element, ElementType};
use dist_comm::SingleComm;
use dist_io::{DatasetInfo, Limits, LoadHdf5, Wanted};
use dist_maps::Distribution;
use libfuzzer_sys::fuzz_target;

/// As for files of strangers, and fewer bytes, so that no input takes long.
const LIMITS: Limits = Limits {
    metadata_bytes: 1 << 20,
    ..Limits::untrusted()
};

/// One file for each process, in memory.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| PathBuf::from(format!("/dev/shm/hdf5_load.{}.h5", std::process::id())));

fn load<T: Element>(whole: &Distribution, info: &DatasetInfo) {
    let comm = SingleComm::new();
    let limits = LIMITS;
    let load = LoadHdf5::new(&*FILE).key("a").limits(limits).codes(true);
    let loaded = load.load::<T>(whole, &comm);
    if let Ok(part) = &loaded {
        let elements: u64 = whole.global_shape().iter().product();
        assert_eq!(part.buffer().data().len() as u64, elements);
        let bytes = elements * size_of::<T>() as u64;
        let file = std::fs::metadata(&*FILE).expect("the file").len();
        assert!(bytes <= file, "{bytes} bytes of {file}");
        let reader = limits.reader(&*FILE, "a").expect("it was loaded");
        let mine = whole.dim_data(0).expect("the only rank");
        assert!(reader.read::<T>(&mine).is_ok(), "it was loaded");
        if !info.is_enumeration {
            let array = limits
                .open_dset::<T>(&*FILE, "a", &comm)
                .expect("it was loaded");
            assert_eq!(
                array.gather().expect("it was loaded").data().len() as u64,
                elements
            );
        }
    }
    let _ = load.load::<T>(Wanted::AsSaved, &comm);
    let chunk: Vec<u64> = info
        .shape
        .iter()
        .map(|extent| extent.div_ceil(2).max(1))
        .collect();
    if let Ok(batches) = limits.from_file_batched::<T>(&*FILE, "a", &chunk) {
        for batch in batches.take(100) {
            let _ = batch;
        }
    }
}

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*FILE, data).expect("a file");
    let limits = LIMITS;
    if let Ok(info) = limits.inspect(&*FILE, "a") {
        let Ok(whole) = Distribution::over(1).shape(info.shape.clone()).build() else {
            return;
        };
        match info.element {
            ElementType::Bool => load::<bool>(&whole, &info),
            ElementType::I8 => load::<i8>(&whole, &info),
            ElementType::I16 => load::<i16>(&whole, &info),
            ElementType::I32 => load::<i32>(&whole, &info),
            ElementType::U8 => load::<u8>(&whole, &info),
            ElementType::U16 => load::<u16>(&whole, &info),
            ElementType::F32 => load::<f32>(&whole, &info),
            ElementType::F64 => load::<f64>(&whole, &info),
            _ => load::<i64>(&whole, &info),
        }
    }
    let _ = limits.load_records(&*FILE, Wanted::AsSaved, "a", &SingleComm::new());
});
