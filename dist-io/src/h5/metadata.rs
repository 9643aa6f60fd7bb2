//! The metadata of all ranks: gathered, checked as a whole, and as the text of an attribute.

use dap_protocol::check::{self, Repair, Strictness};
use dap_protocol::literal::{self, Value};
use dap_protocol::{Code, DimData, ProtocolError, ProtocolVersion};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Distribution;

use super::Refusal;
use crate::IoError;

/// The parts of all ranks, by rank. Collective.
pub(super) fn gather(
    comm: &(impl Communicator + ?Sized),
    dim_data: &DimData,
) -> Result<Vec<DimData>, IoError> {
    let texts = comm.all_gather_v(dim_data.to_value().to_string().as_bytes())?;
    let read = |bytes: &Vec<u8>| {
        let value = literal::parse(&String::from_utf8_lossy(bytes)).map_err(|e| e.to_string())?;
        part(&value, ProtocolVersion::CURRENT)
            .map(|(dim_data, _)| dim_data)
            .map_err(|e| e.to_string())
    };
    let parts: Result<Vec<_>, String> = texts.iter().map(read).collect();
    Ok(agree(comm, parts)?)
}

/// One rank's dictionaries, and how they had to be mended to be read.
fn part(value: &Value, version: ProtocolVersion) -> Result<(DimData, Vec<Repair>), ProtocolError> {
    check::dim_data(value, None, version, Strictness::Lenient).into_result()
}

/// The distribution that the parts of all ranks, by rank, make together; what is wrong with them by the protocol's rules, save
/// that padding may be wider than a neighbour's block.
pub(super) fn whole(parts: &[DimData]) -> Result<Distribution, IoError> {
    checked(parts, &[Code::S5, Code::S6])
}

/// As [`whole`], for parts that are read: lists may leave indices out.
pub(super) fn wanted(parts: &[DimData]) -> Result<Distribution, IoError> {
    checked(parts, &[Code::S5, Code::S6, Code::S7])
}

/// The distribution of parts that break no rules but these.
fn checked(parts: &[DimData], allowed: &[Code]) -> Result<Distribution, IoError> {
    let versioned = |parts: &mut dyn Iterator<Item = &DimData>| -> Vec<_> {
        parts
            .map(|part| (ProtocolVersion::CURRENT, part.clone()))
            .collect()
    };
    let distribution = match Distribution::from_dim_data_per_rank(parts) {
        Ok(distribution) => distribution,
        Err(error) => {
            let violations = check::set(&versioned(&mut parts.iter()));
            return Err(if violations.is_empty() {
                error.into()
            } else {
                ProtocolError::Violations(violations).into()
            });
        }
    };
    // ranks without a place in the grid are no part of the protocol's set
    let active = distribution
        .targets()
        .iter()
        .filter_map(|&rank| parts.get(rank));
    let mut violations = check::set(&versioned(&mut active.into_iter()));
    violations.retain(|violation| !allowed.contains(&violation.code));
    if violations.is_empty() {
        Ok(distribution)
    } else {
        Err(ProtocolError::Violations(violations).into())
    }
}

/// The text of the attribute: a Python list with the tuple of dictionaries of every rank.
///
/// A text that would be too long to be read again is refused.
pub(super) fn to_text(parts: &[DimData]) -> Result<String, Refusal> {
    let text = Value::List(parts.iter().map(DimData::to_value).collect()).to_string();
    if text.len() > literal::MAX_LEN {
        return Err(Refusal::DimData {
            message: format!(
                "a text of {} bytes, allowed: {}",
                text.len(),
                literal::MAX_LEN
            ),
        });
    }
    Ok(text)
}

/// What [`to_text`] wrote, read back.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) version: ProtocolVersion,
    /// By rank.
    pub(super) parts: Vec<DimData>,
    /// How the text had to be mended to be read, in words.
    pub(super) repairs: Vec<String>,
}

/// What [`to_text`] wrote, for a dataset of this shape.
pub(super) fn from_text(text: &str, version: &str, shape: &[u64]) -> Result<Saved, Refusal> {
    let wrong = |message: String| Refusal::DimData { message };
    let version: ProtocolVersion = version
        .parse()
        .map_err(|e: ProtocolError| wrong(e.to_string()))?;
    let (value, notes) = literal::parse_with_notes(text).map_err(|e| wrong(e.to_string()))?;
    let mut repairs: Vec<String> = notes.iter().map(ToString::to_string).collect();
    let Some(ranks) = value.as_sequence().filter(|ranks| !ranks.is_empty()) else {
        return Err(wrong("no list with a tuple for each rank".to_owned()));
    };
    let mut parts = Vec::with_capacity(ranks.len());
    for (rank, value) in ranks.iter().enumerate() {
        let part = part(value, version).map_err(|e| wrong(format!("rank {rank}: {e}")));
        let (part, mended) = part?;
        repairs.extend(mended.iter().map(|repair| format!("rank {rank}: {repair}")));
        if part.global_shape() != shape {
            return Err(wrong(format!(
                "rank {rank} describes a shape of {:?}, the dataset has {shape:?}",
                part.global_shape()
            )));
        }
        parts.push(part);
    }
    Ok(Saved {
        version,
        parts,
        repairs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_python_and_comes_back() {
        let d = Distribution::over(3)
            .shape([5, 2])
            .cyclic(0)
            .build()
            .unwrap();
        let parts: Vec<_> = (0..3).map(|rank| d.dim_data(rank).unwrap()).collect();
        let text = to_text(&parts).unwrap();
        assert!(
            text.starts_with("[({'dist_type': 'c', 'proc_grid_rank': 0, "),
            "{text}"
        );
        assert_eq!(from_text(&text, "0.10.0", &[5, 2]).unwrap().parts, parts);
        assert_eq!(whole(&parts).unwrap(), d);
        let scalars = [DimData::new(vec![])];
        assert_eq!(from_text("[()]", "0.10.0", &[]).unwrap().parts, scalars);
        for (text, version, shape) in [
            ("[]", "0.10.0", vec![]),
            ("[(1,)]", "0.10.0", vec![1]),
            ("[()", "0.10.0", vec![]),
            ("[()]", "ten", vec![]),
            ("[()]", "0.10.0", vec![3]),
        ] {
            let refused = from_text(text, version, &shape).unwrap_err();
            assert!(matches!(refused, Refusal::DimData { .. }), "{refused}");
        }
    }
}
