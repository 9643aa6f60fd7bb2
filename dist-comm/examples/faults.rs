//! MPI ranks that fail in the way named by the first argument; `tests/mpi_faults.rs` runs it.

use std::process::ExitCode;
use std::time::Duration;

use dist_comm::{CommError, Communicator, ExchangeJob, Message, MpiComm, OneSided, Workspace};

struct Panics(bool);

impl ExchangeJob for Panics {
    fn pack(&mut self, _: usize, _: &mut [u8]) {}
    fn local(&mut self) {
        assert!(!self.0, "no local part");
    }
    fn unpack(&mut self, _: usize, _: &[u8]) {}
}

fn main() -> ExitCode {
    let comm = MpiComm::world().expect("MPI starts");
    let how = std::env::args().nth(1).unwrap_or_default();
    comm.barrier().expect("the first barrier");
    if how == "outlives" {
        return outlives(comm);
    }
    match run(&comm, &how) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rank {}: {error}", comm.rank());
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

fn run(comm: &MpiComm, how: &str) -> Result<(), CommError> {
    let last = comm.rank() + 1 == comm.size();
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
        _ => comm.barrier(),
    }
}
