//! A save that ends at any point leaves the old dataset or the new one, whole.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{
    CommError, Communicator, ExchangeJob, Message, Operation, Reduction, SharedBytes, SingleComm,
    ThreadComm, Workspace,
};
use dist_io::IoError;
use dist_io::legate::{from_file, to_file};
use dist_maps::Distribution;

use crate::support::temporary;

/// A communicator whose ranks fail at the call of this number, and at every one after it, as if the job were killed there.
struct Doomed<'c> {
    comm: &'c dyn Communicator,
    left: AtomicUsize,
    is_dead: AtomicBool,
}

impl Doomed<'_> {
    fn call(&self) -> Result<&dyn Communicator, CommError> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        match left {
            Ok(_) => Ok(self.comm),
            Err(_) => {
                if !self.is_dead.swap(true, Ordering::Relaxed) {
                    self.comm.barrier()?; // all ranks have come as far
                }
                Err(CommError::Departed {
                    operation: Operation::Barrier,
                    rank: 0,
                })
            }
        }
    }
}

impl Communicator for Doomed<'_> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn barrier(&self) -> Result<(), CommError> {
        self.call()?.barrier()
    }
    fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
        self.call()?.broadcast(root, buf)
    }
    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.call()?.gather_v(root, send)
    }
    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.call()?.all_gather_v(send)
    }
    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        self.call()?.all_gather(send, recv)
    }
    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
        self.call()?.all_to_all_v(send)
    }
    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError> {
        self.call()?.all_reduce(buf, reduction, fold)
    }
    fn split(
        &self,
        color: Option<u32>,
        key: i64,
    ) -> Result<Option<Box<dyn Communicator>>, CommError> {
        self.call()?.split(color, key)
    }
    fn send(&self, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
        self.call()?.send(to, tag, buf)
    }
    fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
        self.call()?.recv(from, tag, buf)
    }
    fn exchange(
        &self,
        tag: u32,
        sends: &[Message],
        recvs: &[Message],
        job: &mut dyn ExchangeJob,
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        self.call()?.exchange(tag, sends, recvs, job, workspace)
    }
    fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
        self.call()?.lend(mine, read)
    }
    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
        self.call()?.alloc_shared(len)
    }
}

const ROWS: u64 = 40;

fn columns(ranks: usize) -> Distribution {
    Distribution::over(ranks)
        .shape([ROWS, 12])
        .cyclic(1)
        .build()
        .unwrap()
}

/// Saves an array of one value.
fn save(path: &Path, value: i64, comm: &dyn Communicator) -> Result<(), IoError> {
    let d = columns(comm.size());
    let shape = d.local_shape(comm.rank());
    let elements = vec![value; shape.iter().product()];
    let mine = DistBuffer::new(d.dim_data(comm.rank())?, HostArray::new(shape, elements)?)?;
    to_file(&mine, path, "/a", comm)?;
    Ok(())
}

/// The value of the array, which all of its elements have.
fn value(path: &Path) -> Result<i64, IoError> {
    let d = columns(1);
    let whole = from_file::<i64>(path, "/a", &d, &SingleComm::new())?;
    let elements = whole.buffer().data();
    assert_eq!(elements.len() as u64, ROWS * 12);
    let first = elements[0];
    assert!(
        elements.iter().all(|&element| element == first),
        "two saves in one array"
    );
    Ok(first)
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_save_that_fails_at_any_call_changes_nothing() {
    for ranks in [1, 3] {
        let folder = temporary();
        let path = folder.path().join("a.h5");
        let mut refused = 0;
        for calls in 0.. {
            ThreadComm::run(ranks, |comm| save(&path, -1, comm)).unwrap();
            let outcomes = ThreadComm::run(ranks, |comm| {
                let doomed = Doomed {
                    comm,
                    left: AtomicUsize::new(calls),
                    is_dead: AtomicBool::new(false),
                };
                let outcome = save(&path, calls as i64, &doomed);
                comm.barrier()?;
                Ok::<_, IoError>(outcome.is_ok())
            })
            .unwrap();
            let now = value(&path).unwrap();
            assert!(
                now == -1 || now == calls as i64,
                "{now} after {calls} calls"
            );
            // nothing is left over: the file, and the folder with its parts
            assert_eq!(files(folder.path()), 2, "after {calls} calls");
            if outcomes.iter().all(|&done| done) {
                assert_eq!(now, calls as i64);
                break;
            }
            assert!(outcomes.iter().all(|&done| !done), "{outcomes:?}");
            refused += usize::from(now == -1);
        }
        assert!(refused > 10, "only {refused} points on {ranks} ranks");
    }
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

const PATH: &str = "DIST_IO_TEST_SAVER";

/// This test starts itself again as a program that saves one array after another, and kills it.
#[test]
fn a_killed_save_leaves_a_whole_array() {
    if let Some(path) = std::env::var_os(PATH) {
        // when whoever started this is gone, it is over
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(1);
        });
        for number in 0.. {
            ThreadComm::run(2, |comm| save(Path::new(&path), number, comm)).unwrap();
        }
    }
    let folder = temporary();
    let path = folder.path().join("a.h5");
    ThreadComm::run(2, |comm| save(&path, -1, comm)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..12_u64 {
        let before = inode(&path);
        let mut saver = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "interrupted::a_killed_save_leaves_a_whole_array",
                "--nocapture",
            ])
            .env(PATH, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // it has begun: the file is another one
        let began = Instant::now();
        while inode(&path) == before && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(round * 3_701 % 20_000));
        saver.kill().unwrap();
        saver.wait().unwrap();
        seen.insert(value(&path).unwrap());
    }
    assert!(!seen.contains(&-1), "nothing was saved");
}
