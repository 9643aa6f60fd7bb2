//! Every backend that needs no launcher passes every suite, at every size.

use std::sync::Arc;

use dist_comm::{
    CommError, CommExt, Communicator, OneSided, ReduceOp, SingleComm, ThreadComm, testkit,
};

const SIZES: [usize; 6] = [1, 2, 3, 4, 6, 7];

#[test]
fn one_rank_passes() {
    let comm = SingleComm::new();
    testkit::check_communicator(&comm).unwrap();
    testkit::check_one_sided(&comm).unwrap();
    testkit::check_shared_file(&comm, tempfile::tempdir().unwrap().path()).unwrap();
}

#[test]
fn threads_pass_communicator() {
    for size in SIZES {
        ThreadComm::run(size, |comm| testkit::check_communicator(comm)).unwrap();
    }
}

#[test]
fn threads_pass_one_sided() {
    for size in SIZES {
        ThreadComm::run(size, |comm| testkit::check_one_sided(comm)).unwrap();
    }
}

#[test]
fn threads_pass_shared_file() {
    for size in SIZES {
        let dir = tempfile::tempdir().unwrap();
        ThreadComm::run(size, |comm| testkit::check_shared_file(comm, dir.path())).unwrap();
    }
}

#[test]
fn parts_pass_too() {
    ThreadComm::run(6, |comm| {
        let color = u32::from(comm.rank() >= 2);
        let part = comm
            .subgroup(Some(color), 0)
            .map_err(|error| error.to_string())?
            .ok_or("no part")?;
        testkit::check_communicator(&part)?;
        testkit::check_one_sided(&part)
    })
    .unwrap();
}

#[test]
fn references_and_boxes_are_communicators() {
    fn sum(comm: impl Communicator) -> Result<usize, CommError> {
        comm.all_reduce_value(comm.rank() + 1, ReduceOp::Sum)
    }
    let sums = ThreadComm::run(3, |comm| {
        let boxed: Box<dyn Communicator> =
            comm.split(Some(0), 0)?.ok_or(CommError::RankOutOfRange {
                operation: dist_comm::Operation::Split,
                given: 0,
                size: 0,
            })?;
        let shared: Arc<dyn Communicator> = Arc::from(comm.split(Some(0), 0)?.unwrap());
        Ok::<_, CommError>([sum(comm)?, sum(&boxed)?, sum(boxed)?, sum(shared)?])
    })
    .unwrap();
    assert_eq!(sums, [[6; 4]; 3]);
}

#[test]
fn references_and_boxes_have_windows() {
    struct Holder<C: OneSided>(C);
    ThreadComm::run(2, |comm| {
        let holder = Holder(Arc::new(Holder(comm).0));
        let window = holder.0.window(4)?;
        let mut byte = [1];
        window.get(1 - comm.rank(), 3, &mut byte)?;
        assert_eq!(byte, [0]);
        let boxed: Box<dyn OneSided + '_> = Box::new(comm);
        assert_eq!(boxed.window(3)?.lens(), [3, 3]);
        Ok::<_, CommError>(())
    })
    .unwrap();
}
