//! What a meeting of threads promises: nobody passes a barrier early, memory that is lent stays, and the order of threads
//! does not show in results.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dist_comm::{
    CommError, CommExt, Communicator, ExchangeJob, Message, ReduceOp, ThreadComm, Workspace,
};

#[test]
fn nobody_passes_a_barrier_before_all_have_come() {
    for size in [2, 3, 7] {
        let came = AtomicUsize::new(0);
        ThreadComm::run(size, |comm| {
            for round in 1..=200 {
                came.fetch_add(1, Ordering::SeqCst);
                comm.barrier()?;
                // Between two barriers nobody is ahead and nobody behind.
                assert_eq!(came.load(Ordering::SeqCst), round * size);
                comm.barrier()?;
            }
            Ok::<_, CommError>(())
        })
        .unwrap();
    }
}

#[test]
fn lend_returns_after_every_rank_has_read() {
    let reading = AtomicUsize::new(0);
    ThreadComm::run(4, |comm| {
        for round in 0..20u8 {
            let mine = vec![round; 1000];
            comm.lend(&mine, &mut |all| {
                reading.fetch_add(1, Ordering::SeqCst);
                if comm.rank() == usize::from(round) % 4 {
                    std::thread::sleep(Duration::from_millis(3));
                }
                assert!(
                    all.iter()
                        .all(|bytes| bytes.iter().all(|&byte| byte == round))
                );
                reading.fetch_sub(1, Ordering::SeqCst);
            })?;
            assert_eq!(reading.load(Ordering::SeqCst), 0);
            comm.barrier()?;
        }
        Ok::<_, CommError>(())
    })
    .unwrap();
}

#[test]
fn lend_copies_nothing() {
    ThreadComm::run(3, |comm| {
        let mine = [comm.rank() as u64; 4];
        let bytes: &[u8] = bytemuck::cast_slice(&mine);
        let own = bytes.as_ptr().addr();
        let addresses = comm.all_gather_value(own as u64)?;
        comm.lend(bytes, &mut |all| {
            let seen: Vec<u64> = all
                .iter()
                .map(|bytes| bytes.as_ptr().addr() as u64)
                .collect();
            assert_eq!(seen, addresses);
        })?;
        Ok::<_, CommError>(())
    })
    .unwrap();
}

#[test]
fn sums_do_not_depend_on_timing() {
    let sum = |slow: usize| {
        ThreadComm::run(5, |comm| {
            if comm.rank() == slow {
                std::thread::sleep(Duration::from_millis(2));
            }
            let value = 1e17 / (f64::from(u32::try_from(comm.rank()).unwrap()) + 0.1) - 3.0;
            Ok::<_, CommError>(comm.all_reduce_value(value, ReduceOp::Sum)?.to_bits())
        })
        .unwrap()
    };
    let first = sum(0);
    assert!(first.iter().all(|&bits| bits == first[0]));
    for slow in 1..5 {
        assert_eq!(sum(slow), first);
    }
}

struct Local<'a>(&'a mut dyn FnMut());

impl ExchangeJob for Local<'_> {
    fn pack(&mut self, _: usize, buf: &mut [u8]) {
        buf.fill(1);
    }
    fn local(&mut self) {
        (self.0)();
    }
    fn unpack(&mut self, _: usize, buf: &[u8]) {
        assert!(buf.iter().all(|&byte| byte == 1));
    }
}

#[test]
fn exchange_is_not_a_barrier() {
    // Ranks 0 and 1 exchange while rank 2 waits for their word.
    ThreadComm::run(3, |comm| {
        let mut workspace = Workspace::new();
        if comm.rank() == 2 {
            return comm.recv(0, 9, &mut [0]);
        }
        let messages = [Message {
            peer: 1 - comm.rank(),
            len: 50_000,
        }];
        comm.exchange(
            1,
            &messages,
            &messages,
            &mut Local(&mut || ()),
            &mut workspace,
        )?;
        if comm.rank() == 0 {
            comm.send(2, 9, &[0])
        } else {
            Ok(())
        }
    })
    .unwrap();
}

#[test]
fn a_workspace_is_reused() {
    let capacities = ThreadComm::run(2, |comm| {
        let mut workspace = Workspace::new();
        let messages = [Message {
            peer: 1 - comm.rank(),
            len: 1000,
        }; 3];
        for _ in 0..3 {
            comm.exchange(
                1,
                &messages,
                &messages,
                &mut Local(&mut || ()),
                &mut workspace,
            )?;
        }
        Ok::<_, CommError>(workspace.capacity())
    })
    .unwrap();
    assert_eq!(capacities, [3 * 1024; 2]);
}

#[test]
fn many_ranks_with_empty_parts() {
    let all = ThreadComm::run(40, |comm| {
        let part = comm.split(Some(u32::try_from(comm.rank() % 5).unwrap()), 0)?;
        part.map_or(Ok(0), |part| {
            part.all_reduce_value(comm.rank(), ReduceOp::Sum)
        })
    });
    let sum = |color: usize| (0..40).filter(|rank| rank % 5 == color).sum::<usize>();
    assert_eq!(
        all.unwrap(),
        (0..40).map(|rank| sum(rank % 5)).collect::<Vec<_>>()
    );
}
