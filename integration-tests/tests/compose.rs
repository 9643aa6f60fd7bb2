//! Any exporter into any importer, on thread ranks; every exporter and importer through the protocol's conformance kit.

use dap_protocol::testkit::{check_exporter, check_importer};
use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{Communicator, ThreadComm};
use integration_tests::{Error, SharedFolder, cases, distributions, stranger};
use local_array::LocalArray;
use ndarray::IxDyn;

fn run_all(ranks: usize) {
    for case in cases() {
        let outcome = ThreadComm::run(ranks, |comm| {
            let folder = SharedFolder::new(comm)?;
            case.run(comm, folder.path())?;
            folder.close(comm)
        });
        if let Err(e) = outcome {
            panic!("{case:?} on {ranks} ranks: {e}");
        }
    }
}

#[test]
fn everything_into_everything_on_1_rank() {
    run_all(1);
}

#[test]
fn everything_into_everything_on_2_ranks() {
    run_all(2);
}

#[test]
fn everything_into_everything_on_3_ranks() {
    run_all(3);
}

#[test]
fn everything_into_everything_on_4_ranks() {
    run_all(4);
}

#[test]
fn everything_into_everything_on_7_ranks() {
    run_all(7);
}

/// A part with its elements copied, so that all ranks' can be looked at together.
fn copied(part: &DistBuffer<impl dap_protocol::HostBuffer>) -> DistBuffer<HostArray<f64>> {
    let array = HostArray::new(part.buffer().shape().to_vec(), stranger::read(part))
        .expect("as many as the shape says");
    DistBuffer::with_version(part.version(), part.dim_data().clone(), array)
        .expect("the same shape")
}

/// Every distribution's parts, as arrays show them, keep the rules of one rank and of all.
#[test]
fn local_arrays_are_conforming_exporters() {
    use dap_protocol::DistributedArray as _;
    for ranks in 1..=7 {
        for (name, distribution) in distributions(ranks).expect("distributions") {
            let parts = ThreadComm::run(ranks, |comm| {
                let array = LocalArray::<f64, IxDyn, _>::zeros(&distribution, comm)?;
                Ok::<_, Error>(copied(&array.distarray()))
            })
            .expect("zeros");
            // a rank without a place in the grid has an empty part that stands for none
            let active: Vec<_> = parts
                .into_iter()
                .enumerate()
                .filter(|(rank, _)| distribution.coords(*rank).is_some())
                .map(|(_, part)| part)
                .collect();
            check_exporter(&active).unwrap_or_else(|e| panic!("{name} on {ranks} ranks: {e}"));
        }
    }
}

#[test]
fn local_arrays_are_conforming_importers() {
    use dap_protocol::DistributedArray as _;
    let report = check_importer(|parts| {
        ThreadComm::run(parts.len(), |comm| {
            let part = parts[comm.rank()].clone();
            let array = LocalArray::<f64, IxDyn, _>::from_distarray(part, comm)?;
            Ok::<_, Error>(copied(&array.distarray()))
        })
    })
    .unwrap_or_else(|e| panic!("{e}"));
    assert!(
        report.imported.len() > 20,
        "only {} cases were imported",
        report.imported.len()
    );
}

#[test]
fn dnpy_files_are_conforming_importers() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = check_importer(|parts| {
        let save_and_load = |(rank, part): (usize, &DistBuffer<HostArray<f64>>)| {
            let path = folder.path().join(format!("part_{rank}.dnpy"));
            dnpy_format::save(&path, part)?;
            dnpy_format::load::<f64>(&path)
        };
        parts
            .iter()
            .enumerate()
            .map(save_and_load)
            .collect::<Result<Vec<_>, dnpy_format::DnpyError>>()
    })
    .unwrap_or_else(|e| panic!("{e}"));
    assert!(report.refused.is_empty(), "{:?}", report.refused);
}
