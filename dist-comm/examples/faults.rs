//! MPI ranks that fail in the way named by the first argument; `tests/mpi_faults.rs` runs it.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Duration;

use dist_comm::{
    CommError, CommExt, Communicator, ExchangeJob, Message, MpiComm, OneSided, Workspace,
};

struct Panics(bool);

impl ExchangeJob for Panics {
    fn pack(&mut self, _: usize, _: &mut [u8]) {}
    fn local(&mut self) {
        assert!(!self.0, "no local part");
    }
    fn unpack(&mut self, _: usize, _: &[u8]) {}
}

struct Nothing;

impl ExchangeJob for Nothing {
    fn pack(&mut self, _: usize, _: &mut [u8]) {}
    fn local(&mut self) {}
    fn unpack(&mut self, _: usize, _: &[u8]) {}
}

fn main() -> ExitCode {
    let comm = MpiComm::world().expect("MPI starts");
    let how = std::env::args().nth(1).unwrap_or_default();
    comm.barrier().expect("the first barrier");
    match how.as_str() {
        "outlives" => return outlives(comm),
        "reopens" => return reopens(comm),
        _ => {}
    }
    match run(&comm, &how) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // In one piece, so that the lines of several ranks do not mix.
            let line = format!("rank {}: {error}\n", comm.rank());
            std::io::stderr()
                .write_all(line.as_bytes())
                .expect("standard error");
            ExitCode::FAILURE
        }
    }
}

/// Memory and windows keep MPI going after the communicator is dropped.
fn outlives(comm: MpiComm) -> ExitCode {
    let mut memory = comm.alloc_shared(100).expect("memory");
    let window = comm.window(10).expect("a window");
    let part = comm.split(Some(0), 0).expect("split").expect("a part");
    drop(comm);
    memory.fill(7);
    part.barrier().expect("a barrier");
    drop(part);
    let mut byte = [1];
    window.get(0, 9, &mut byte).expect("a byte");
    drop(memory);
    if byte == [0] {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// One thread opens a communicator while another drops the last one: it can be used, or MPI is over.
fn reopens(comm: MpiComm) -> ExitCode {
    let mut comm = comm;
    for _ in 0..300 {
        let both = Barrier::new(2);
        let reopened = std::thread::scope(|scope| {
            let opener = scope.spawn(|| {
                both.wait();
                MpiComm::world()
            });
            both.wait();
            drop(comm);
            opener.join().expect("no panic")
        });
        match reopened {
            Ok(open) if open.barrier().is_ok() => comm = open,
            Err(CommError::Unavailable { .. }) => return ExitCode::SUCCESS,
            _ => return ExitCode::FAILURE,
        }
    }
    ExitCode::SUCCESS
}

/// The first rank leaves while the last one still reads what the others said; these go on, in vain.
fn leaves_reader(comm: &MpiComm) -> Result<(), CommError> {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mut sums = [rank; 100];
    comm.all_reduce_with(&mut sums, |sum, next| {
        if *sum == 0 && rank + 1 == size {
            std::thread::sleep(Duration::from_millis(5));
        }
        *sum += next;
    })?;
    assert_eq!(sums, [size * (size - 1) / 2; 100], "what was read");
    if rank == 0 {
        return Ok(());
    }
    let first = comm.barrier().expect_err("the first rank has left");
    let later = comm.all_gather_v(&[0xee; 4000]).map(drop);
    assert_eq!(later, Err(first.clone()), "all that follow fail alike");
    Err(first)
}

fn run(comm: &MpiComm, how: &str) -> Result<(), CommError> {
    let last = comm.rank() + 1 == comm.size();
    let far = comm.size() - 1;
    if let Some(how) = how.strip_prefix("own-hook-") {
        // A program that is quiet about its panics.
        std::panic::set_hook(Box::new(|_| ()));
        return run(comm, how);
    }
    match how {
        "panic" => {
            assert!(!last, "wing fell off");
            comm.barrier()
        }
        "panic-in-call" => {
            let memory = comm.alloc_shared(8)?;
            comm.lend(&memory, &mut |_| assert!(!last, "cannot read"))?;
            comm.barrier()
        }
        "panic-in-exchange" => {
            let (rank, size) = (comm.rank(), comm.size());
            let message = |peer| [Message { peer, len: 100_000 }];
            let (sends, recvs) = (
                message((rank + 1) % size),
                message((rank + size - 1) % size),
            );
            comm.exchange(1, &sends, &recvs, &mut Panics(last), &mut Workspace::new())?;
            comm.barrier()
        }
        "killed" => {
            if last {
                // The test kills this process.
                println!("kill {}", std::process::id());
                std::thread::sleep(Duration::from_secs(60));
            }
            comm.barrier()
        }
        "leaves" => {
            if last {
                return Ok(());
            }
            comm.barrier()
        }
        "leaves-reader" => leaves_reader(comm),
        "late" => {
            // Meetings before, of both kinds, are none of the late one's.
            let memory = comm.alloc_shared(8)?;
            comm.lend(&memory, &mut |_| ())?;
            if last {
                std::thread::sleep(Duration::from_secs(3));
            }
            let outcome = comm.barrier();
            assert_eq!(
                comm.all_gather_v(&[1]).map(drop),
                outcome,
                "no call after it"
            );
            outcome
        }
        "gather" => {
            let mine = vec![0; if last { 8 } else { 900_000_000 }];
            comm.gather_v(far, &mine).map(drop)
        }
        "all-to-all" => {
            let mine = vec![0; if last { 8 } else { 900_000_000 }];
            comm.all_to_all_v(&[&[], &mine]).map(drop)
        }
        "too-long" if last => comm.recv(0, 1, &mut [0; 8]),
        "too-long" => comm.send(far, 1, &vec![0; 900_000_000]),
        // All leave but the first, or the first two.
        "leaves-recv" | "leaves-send" if comm.rank() > 0 => Ok(()),
        "leaves-exchange" if last || comm.rank() > 1 => Ok(()),
        "leaves-recv" => comm.recv(far, 1, &mut [0]),
        "leaves-send" => {
            let long = vec![0; 1_000_000];
            (0..100).try_for_each(|_| comm.send(far, 1, &long))
        }
        "leaves-exchange" => {
            let mut workspace = Workspace::new();
            let mut exchange = |peer| {
                let messages = [Message {
                    peer,
                    len: 1_000_000,
                }];
                comm.exchange(1, &messages, &messages, &mut Nothing, &mut workspace)
            };
            let outcome = exchange(far);
            // The workspace can be used again, with those who are left.
            if comm.size() > 2 {
                exchange(1 - comm.rank())?;
            }
            outcome
        }
        "last-words" => {
            if last {
                (0..far).try_for_each(|to| comm.send(to, 1, b"last words"))
            } else {
                std::thread::sleep(Duration::from_millis(500));
                let mut words = [0; 10];
                comm.recv(far, 1, &mut words)?;
                assert_eq!(&words, b"last words");
                Ok(())
            }
        }
        _ => comm.barrier(),
    }
}
