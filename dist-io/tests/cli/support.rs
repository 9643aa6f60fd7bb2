//! Files to work on, and the command to work on them with.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dap_protocol::{DistBuffer, Element, HostArray};
use dist_maps::{Distribution, GlobalIndex, IndexMap, MdMap};
use dnpy_format::{magic, npy};

/// What a run of the command gave.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// The output of a run that succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The message of a run that failed with this status.
    #[track_caller]
    pub fn fails(self, status: i32) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.out, "", "{}", self.err);
        self.err
    }
}

/// Runs `dap` with arguments between spaces, in a folder, so that its output names files as they are named here.
pub fn dap(folder: &Path, arguments: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dap"));
    run(command
        .args(arguments.split_whitespace())
        .current_dir(folder))
}

/// Held while a process is started, and while a test has a file open through the HDF5 library itself: a process that is started
/// then has that file, with its lock, for as long as it runs.
static STARTING: Mutex<()> = Mutex::new(());

/// Until this is dropped, no test starts a process.
pub fn nobody_starts() -> MutexGuard<'static, ()> {
    STARTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process when no test has an HDF5 file open.
pub fn start(command: &mut Command) -> Child {
    let _guard = nobody_starts();
    command.spawn().expect("the process starts")
}

fn run(command: &mut Command) -> Run {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = start(command).wait_with_output().expect("dap runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    Run {
        status: status.code().expect("no signal"),
        out: text(&stdout),
        err: text(&stderr),
    }
}

pub fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A rank's part, each element made of its global index in C order.
pub fn part<T: Element>(
    d: &Distribution,
    rank: usize,
    value: impl Fn(u64) -> T,
) -> DistBuffer<HostArray<T>> {
    let dim_data = d.dim_data(rank).unwrap();
    let map = MdMap::from_dim_data(&dim_data).unwrap();
    let mut flat = vec![0_u64];
    for dim in map.dims() {
        let along: Vec<u64> = dim
            .global_iter()
            .map(GlobalIndex::get)
            .map(|g| u64::try_from(g).unwrap())
            .collect();
        flat = flat
            .iter()
            .flat_map(|&at| along.iter().map(move |&g| at * dim.global_size() + g))
            .collect();
    }
    let data: Vec<T> = flat.into_iter().map(value).collect();
    DistBuffer::new(dim_data, HostArray::new(map.local_shape(), data).unwrap()).unwrap()
}

pub fn number(at: u64) -> f64 {
    at as f64 / 4.0
}

/// `part_0.dnpy` and so on.
pub fn save_parts(folder: &Path, d: &Distribution) {
    for rank in 0..d.ranks() {
        let path = folder.join(format!("part_{rank}.dnpy"));
        dnpy_format::save(path, &part(d, rank, number)).unwrap();
    }
}

/// `whole.npy`.
pub fn save_whole<T: Element>(folder: &Path, shape: &[u64], value: impl Fn(u64) -> T) {
    let one = Distribution::over(1).shape(shape).build().unwrap();
    npy::save(folder.join("whole.npy"), part(&one, 0, value).buffer()).unwrap();
}

/// 8 x 6 on four ranks, blocks with padding and single columns in turn.
pub fn four() -> Distribution {
    Distribution::over(4)
        .shape([8, 6])
        .block(0)
        .padding_of(0, 1, 1)
        .cyclic(1)
        .grid([2, 2])
        .build()
        .unwrap()
}

/// A `.dnpy` file whose header says whatever it is told.
pub fn write_raw(path: &Path, version: &str, dim_data: &str, data: Vec<f64>) {
    let text = format!("{{'__version__': '{version}', 'dim_data': {dim_data}}}\n");
    let mut bytes = magic(1, 0).to_vec();
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.as_bytes());
    let array = HostArray::new(vec![data.len()], data).unwrap();
    npy::write(&mut bytes, &array).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The names of all files of a folder, hidden ones too, sorted.
pub fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Runs `dap` with arguments that need not be text.
pub fn dap_of(folder: &Path, arguments: &[&OsStr]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dap"));
    run(command.args(arguments).current_dir(folder))
}

/// `sparse.npy`: zeros, of which the disk has nothing.
pub fn save_sparse(folder: &Path, shape: [u64; 2], is_fortran: bool) {
    let order = if is_fortran { "True" } else { "False" };
    let [rows, columns] = shape;
    let head =
        format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': ({rows}, {columns}), }}");
    let mut file = File::create(folder.join("sparse.npy")).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00\x76\x00").unwrap();
    writeln!(file, "{head:117}").unwrap();
    file.set_len(128 + rows * columns * 8).unwrap();
}
