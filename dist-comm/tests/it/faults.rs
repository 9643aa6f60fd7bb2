//! A rank that panics, fails, leaves, stays away or goes astray gives the others a typed error, never a hang.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dist_comm::agree::{Agreed, agree};
use dist_comm::{
    CommError, CommExt, Communicator, ExchangeJob, Message, Operation, RankFailure, RunError,
    ThreadComm, Workspace,
};

/// Who panicked, where, what it said, and how the others ended.
type Panic<E> = (
    usize,
    Option<Operation>,
    String,
    Vec<(usize, RankFailure<E>)>,
);

fn panic_of<R: std::fmt::Debug, E: std::fmt::Debug + Clone>(
    outcome: Result<Vec<R>, RunError<E>>,
) -> Panic<E> {
    match outcome {
        Err(RunError::Rank {
            rank,
            failure: RankFailure::Panicked { during, message },
            others,
        }) => (rank, during, message, others),
        other => panic!("expected a panic, got {other:?}"),
    }
}

#[test]
fn a_panic_poisons_all_ranks_within_seconds() {
    for size in [2, 4] {
        let began = Instant::now();
        let outcome = ThreadComm::run(size, |comm| {
            comm.barrier()?;
            assert!(comm.rank() != 1, "wing fell off");
            comm.barrier()?;
            comm.barrier()
        });
        let (rank, during, message, others) = panic_of(outcome);
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!((rank, during, message.as_str()), (1, None, "wing fell off"));
        assert_eq!(others.len(), size - 1);
        for (_, failure) in others {
            let expected = CommError::Panicked {
                operation: Operation::Barrier,
                rank: 1,
                during: None,
                message: "wing fell off".into(),
            };
            assert_eq!(failure, RankFailure::Failed(expected));
        }
    }
}

#[test]
fn a_panic_in_a_call_names_the_call() {
    let outcome = ThreadComm::run(3, |comm| {
        comm.lend(&[1, 2, 3], &mut |_| {
            assert!(comm.rank() != 2, "cannot read");
        })?;
        comm.barrier()
    });
    let (rank, during, message, _) = panic_of(outcome);
    assert_eq!(
        (rank, during, message.as_str()),
        (2, Some(Operation::Lend), "cannot read")
    );
}

struct Panics;

impl ExchangeJob for Panics {
    fn pack(&mut self, _: usize, _: &mut [u8]) {}
    fn local(&mut self) {
        panic!("no local part");
    }
    fn unpack(&mut self, _: usize, _: &[u8]) {}
}

struct Quiet;

impl ExchangeJob for Quiet {
    fn pack(&mut self, _: usize, _: &mut [u8]) {}
    fn local(&mut self) {}
    fn unpack(&mut self, _: usize, _: &[u8]) {}
}

#[test]
fn a_panic_in_an_exchange_takes_its_messages_back() {
    let outcome = ThreadComm::run(2, |comm| {
        let messages = [Message {
            peer: 1 - comm.rank(),
            len: 10_000,
        }];
        let mut workspace = Workspace::new();
        if comm.rank() == 0 {
            comm.exchange(1, &messages, &messages, &mut Panics, &mut workspace)
        } else {
            comm.exchange(1, &messages, &messages, &mut Quiet, &mut workspace)
        }
    });
    let (rank, during, message, others) = panic_of(outcome);
    assert_eq!(
        (rank, during, message.as_str()),
        (0, Some(Operation::Exchange), "no local part")
    );
    assert!(matches!(
        others[0].1,
        RankFailure::Failed(CommError::Panicked { rank: 0, .. })
    ));
}

#[test]
fn a_rank_that_returns_is_named() {
    let outcome = ThreadComm::run(3, |comm| {
        if comm.rank() == 1 {
            return Ok(());
        }
        assert_eq!(
            comm.all_gather_value(1u8),
            Err(CommError::Departed {
                operation: Operation::AllGather,
                rank: 1
            })
        );
        // And at once in the next call.
        assert_eq!(
            comm.barrier(),
            Err(CommError::Departed {
                operation: Operation::AllGather,
                rank: 1
            })
        );
        assert!(matches!(
            comm.recv(1, 0, &mut [0]),
            Err(CommError::Departed {
                operation: Operation::Recv,
                rank: 1
            })
        ));
        Ok::<_, CommError>(())
    });
    outcome.unwrap();
}

#[test]
fn what_a_rank_sent_before_it_left_arrives() {
    ThreadComm::run(2, |comm| {
        if comm.rank() == 0 {
            return comm.send(1, 3, b"last words");
        }
        std::thread::sleep(Duration::from_millis(20));
        let mut words = [0; 10];
        comm.recv(0, 3, &mut words)?;
        assert_eq!(&words, b"last words");
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_error_on_one_rank_is_the_cause_of_the_run() {
    let outcome = ThreadComm::run(4, |comm| {
        comm.barrier().map_err(|error| error.to_string())?;
        if comm.rank() == 2 {
            return Err("file not found".to_owned());
        }
        comm.barrier().map_err(|error| error.to_string())
    });
    match outcome {
        Err(RunError::Rank {
            rank,
            failure,
            others,
        }) => {
            assert_eq!(
                (rank, failure),
                (2, RankFailure::Failed("file not found".to_owned()))
            );
            assert_eq!(
                others.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(),
                [0, 1, 3]
            );
            let left = "barrier: rank 2 has left and will not take part".to_owned();
            assert!(
                others
                    .iter()
                    .all(|(_, failure)| *failure == RankFailure::Failed(left.clone()))
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_agreed_error_is_the_same_on_all_ranks() {
    let outcomes = ThreadComm::run(4, |comm| {
        let mine = if comm.rank() % 2 == 1 {
            Err(format!("rank {} broke", comm.rank()))
        } else {
            Ok(())
        };
        Ok::<_, CommError>(agree(comm, mine))
    })
    .unwrap();
    let expected = Agreed {
        rank: 1,
        cause: "rank 1 broke".into(),
        failed: vec![1, 3],
    };
    assert_eq!(outcomes, vec![Err(expected); 4]);
}

#[test]
fn waits_are_limited() {
    let (began, given_up) = (Instant::now(), AtomicUsize::new(0));
    let limit = Duration::from_secs(1);
    let outcome = ThreadComm::builder(3).timeout(limit).run(|comm| {
        if comm.rank() == 2 {
            // Does something else until the others have given up.
            while given_up.load(Ordering::SeqCst) < 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
            return Ok(());
        }
        let outcome = comm.barrier();
        given_up.fetch_add(1, Ordering::SeqCst);
        outcome
    });
    assert!(began.elapsed() < Duration::from_secs(10));
    let Err(RunError::Rank {
        failure: RankFailure::Failed(error),
        others,
        ..
    }) = outcome
    else {
        panic!("{outcome:?}");
    };
    let expected = CommError::Timeout {
        operation: Operation::Barrier,
        limit,
        missing: vec![2],
    };
    assert_eq!(error, expected);
    assert_eq!(others.len(), 1);
}

#[test]
fn a_message_that_nobody_receives_is_taken_back() {
    let (given_up, wait) = std::sync::mpsc::channel();
    let (given_up, wait) = (std::sync::Mutex::new(given_up), std::sync::Mutex::new(wait));
    let outcome = ThreadComm::builder(2)
        .timeout(Duration::from_millis(50))
        .run(|comm| {
            if comm.rank() == 0 {
                let long = vec![7; 100_000];
                let error = comm.send(1, 1, &long).unwrap_err();
                assert!(matches!(
                    error,
                    CommError::Timeout {
                        operation: Operation::Send,
                        ..
                    }
                ));
                drop(long);
                comm.send(1, 1, b"short")?;
                given_up.lock().unwrap().send(()).unwrap();
                return Ok(());
            }
            wait.lock().unwrap().recv().unwrap();
            let mut got = [0; 5];
            comm.recv(0, 1, &mut got)?;
            assert_eq!(&got, b"short");
            Ok::<_, CommError>(())
        });
    outcome.unwrap();
}

#[test]
fn a_long_message_of_another_length_is_an_error_on_both_ends() {
    let errors = ThreadComm::run(2, |comm| {
        let outcome = if comm.rank() == 0 {
            comm.send(1, 1, &vec![1; 50_000])
        } else {
            comm.recv(0, 1, &mut vec![0; 40_000])
        };
        Ok::<_, CommError>(outcome.unwrap_err())
    })
    .unwrap();
    for (error, by) in errors.iter().zip([Operation::Send, Operation::Recv]) {
        let expected = CommError::Length {
            operation: by,
            rank: 0,
            what: "a message length in bytes of",
            given: 50_000,
            allowed: 40_000,
        };
        assert_eq!(error, &expected);
    }
}

#[test]
fn an_exchange_of_other_lengths_is_an_error_on_both_ends() {
    let errors = ThreadComm::run(2, |comm| {
        let own = comm.rank();
        let message = |len| [Message { peer: 1 - own, len }];
        let outcome = comm.exchange(
            1,
            &message(100 + own),
            &message(100),
            &mut Quiet,
            &mut Workspace::new(),
        );
        Ok::<_, CommError>(outcome)
    })
    .unwrap();
    assert!(errors.iter().all(|error| matches!(
        error,
        Err(CommError::Length {
            rank: 1,
            given: 101,
            ..
        })
    )));
}

#[test]
fn a_panic_reaches_parts_and_receivers() {
    let outcome = ThreadComm::run(4, |comm| {
        let part = comm.split(Some(u32::from(comm.rank() > 1)), 0)?;
        assert!(comm.rank() != 0, "gone");
        match comm.rank() {
            1 => part.map_or(Ok(()), |part| part.barrier()),
            2 => comm.recv(3, 0, &mut [0]),
            _ => comm.recv(2, 0, &mut [0]),
        }
    });
    let (rank, _, _, others) = panic_of(outcome);
    assert_eq!(rank, 0);
    assert_eq!(others.len(), 3);
    assert!(
        others
            .iter()
            .all(|(_, failure)| matches!(failure, RankFailure::Failed(CommError::Panicked { .. })))
    );
}

#[test]
fn sizes_are_checked_and_texts_tell() {
    let outcome = ThreadComm::run(0, |_| Ok::<_, CommError>(()));
    assert_eq!(outcome, Err(RunError::Size { given: 0 }));
    let outcome = ThreadComm::run(2, |comm| if comm.rank() == 0 { Err("no") } else { Ok(()) });
    assert_eq!(outcome.unwrap_err().to_string(), "rank 0 failed: no");
    let boxed: Result<Vec<()>, RunError<Box<dyn std::error::Error + Send + Sync>>> =
        ThreadComm::run(1, |_| Err("no".into()));
    let _error: Box<dyn std::error::Error> = boxed.unwrap_err().into();
}
