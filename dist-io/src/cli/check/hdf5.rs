//! Datasets of HDF5 files, with the parts of virtual ones.

use std::path::Path;

use dap_protocol::check::{self, Strictness};
use dap_protocol::{DimData, ProtocolVersion};
use dist_io::{DatasetInfo, Hdf5Reader, IoError, Refusal, watched};
use dist_maps::Distribution;

use super::super::place::datasets;
use super::super::progress::Work;
use super::super::text::count;
use super::Finding;

/// Checks a dataset, or all of a file or of a group.
pub(super) fn file(path: &Path, key: Option<String>, contents: bool, findings: &mut Vec<Finding>) {
    let keys = match datasets(path, key) {
        Ok(keys) => keys,
        Err(error) => {
            findings.push(Finding {
                unreadable: Some(error.to_string()),
                ..Finding::file(path.display().to_string())
            });
            return;
        }
    };
    if keys.is_empty() {
        let mut finding = Finding::file(path.display().to_string());
        finding.notes.push("no dataset is in it".to_owned());
        findings.push(finding);
    }
    findings.extend(keys.iter().map(|key| dataset(path, key, contents)));
}

fn dataset(path: &Path, key: &str, contents: bool) -> Finding {
    let name = format!("{}:/{}", path.display(), key.trim_start_matches('/'));
    let mut finding = Finding::file(name);
    match Hdf5Reader::open(path, key) {
        Ok(reader) => {
            let info = reader.info();
            metadata(&mut finding, info);
            // every part of a virtual dataset
            if let Err(error) = reader.locate() {
                finding.unreadable = Some(error.to_string());
            } else if contents {
                compare(&mut finding, path, key, info);
            }
        }
        Err(error) => finding.unreadable = Some(error.to_string()),
    }
    finding
}

/// What the metadata of all ranks are like.
fn metadata(finding: &mut Finding, info: &DatasetInfo) {
    match (&info.dim_data, &info.dim_data_error) {
        (Some(parts), _) => {
            let version = info.version.unwrap_or(ProtocolVersion::CURRENT);
            of_ranks(finding, parts, version);
            finding.repairs.splice(0..0, info.repairs.iter().cloned());
        }
        (None, Some(error)) => {
            finding.broken = Some(format!("the attribute \"dim_data\": {error}"));
        }
        (None, None) => finding
            .notes
            .push("no dim_data: an ordinary dataset".to_owned()),
    }
}

/// Compares the elements of a dataset with its checksums.
fn compare(finding: &mut Finding, path: &Path, key: &str, info: &DatasetInfo) {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let item = info.element.size() as u64;
    let bytes = info.shape.iter().fold(item, |n, &c| n.saturating_mul(c));
    let work = Work::reading(bytes);
    let verified = watched::verify(path, key, &mut |bytes| {
        // nothing is left behind when it is ended: a signal does that
        let _ = work.done(bytes);
        Ok(())
    });
    match verified {
        Ok(verified) => finding.notes.push(format!(
            "{} of {} agree",
            count(number(verified.sums), "checksum"),
            count(number(verified.bytes), "byte"),
        )),
        Err(IoError::Hdf5 { refusal, .. }) => match *refusal {
            Refusal::NoChecksums => finding
                .notes
                .push("it has no checksums: its elements were not compared".to_owned()),
            refusal @ Refusal::Damaged { .. } => finding.broken = Some(refusal.to_string()),
            refusal => finding.unreadable = Some(refusal.to_string()),
        },
        Err(error) => finding.unreadable = Some(error.to_string()),
    }
}

/// Checks the dictionaries of all ranks together. Ranks without a place in the grid are no part of the protocol's set.
fn of_ranks(finding: &mut Finding, parts: &[DimData], version: ProtocolVersion) {
    let versioned = |part: &DimData| (version, part.clone());
    let distribution = Distribution::from_dim_data_per_rank(parts);
    let placed: Vec<_> = match &distribution {
        Ok(d) => d
            .targets()
            .iter()
            .filter_map(|&rank| parts.get(rank))
            .map(versioned)
            .collect(),
        Err(_) => parts.iter().map(versioned).collect(),
    };
    let report = check::set_report(&placed, Strictness::Lenient);
    finding.violations = report.violations;
    finding.repairs = report.repairs.iter().map(ToString::to_string).collect();
    if let (Err(error), true) = (&distribution, finding.violations.is_empty()) {
        finding.broken = Some(error.to_string());
    }
}
