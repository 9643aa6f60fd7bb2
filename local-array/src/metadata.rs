//! Metadata on their way between ranks: a binary form of version and `dim_data`, and the check of the whole set.

use std::sync::Arc;

use dap_protocol::literal::{self, Value};
use dap_protocol::{Code, DimData, DimDict, Dist, Padding, ProtocolError, ProtocolVersion, check};
use dist_maps::Distribution;

use crate::ArrayError;

const BLOCK: u64 = 0;
const CYCLIC: u64 = 1;
const UNSTRUCTURED: u64 = 2;

/// 64-bit words in native order: the ranks of one communicator are of one kind. Unknown keys come along as text.
pub(crate) fn encode(version: ProtocolVersion, dim_data: &DimData) -> Vec<u8> {
    let (major, minor, patch) = version.parts();
    let mut words = vec![
        u64::from(major),
        u64::from(minor),
        u64::from(patch),
        dim_data.ndim() as u64,
    ];
    for dim in dim_data {
        words.extend([dim.size(), dim.grid_size() as u64, dim.grid_rank() as u64]);
        match dim.dist() {
            Dist::Block {
                start,
                stop,
                padding,
                periodic,
            } => {
                words.extend([
                    BLOCK,
                    *start,
                    *stop,
                    padding.lower,
                    padding.upper,
                    u64::from(*periodic),
                ]);
            }
            Dist::Cyclic { start, block_size } => words.extend([CYCLIC, *start, *block_size]),
            Dist::Unstructured {
                indices,
                one_to_one,
            } => {
                words.extend([UNSTRUCTURED, u64::from(*one_to_one), indices.len() as u64]);
                words.extend(indices.iter().map(|&index| index.cast_unsigned()));
            }
        }
        let extra = dim
            .extra()
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()));
        let text = match dim.extra().len() {
            0 => String::new(),
            _ => Value::Dict(extra.collect()).to_string(),
        };
        words.push(text.len() as u64);
        words.extend(text.as_bytes().chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(word)
        }));
    }
    bytemuck::allocation::pod_collect_to_vec(&words)
}

/// What [`encode`] wrote.
pub(crate) fn decode(bytes: &[u8]) -> Result<(ProtocolVersion, DimData), ProtocolError> {
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(bytemuck::pod_read_unaligned)
        .collect();
    let mut words = words.into_iter();
    let mut next = || words.next().unwrap_or(0);
    let mut version = [0; 3];
    for number in &mut version {
        *number = u32::try_from(next()).unwrap_or(u32::MAX);
    }
    let [major, minor, patch] = version;
    let ndim = next();
    let mut dims = Vec::new();
    for _ in 0..ndim {
        let (size, grid_size, grid_rank) = (next(), to_usize(next())?, to_usize(next())?);
        let dist = match next() {
            BLOCK => Dist::Block {
                start: next(),
                stop: next(),
                padding: Padding::new(next(), next()),
                periodic: next() != 0,
            },
            CYCLIC => Dist::Cyclic {
                start: next(),
                block_size: next(),
            },
            _ => {
                let (one_to_one, len) = (next() != 0, next());
                let indices: Arc<[i64]> = (0..len).map(|_| next().cast_signed()).collect();
                Dist::Unstructured {
                    indices,
                    one_to_one,
                }
            }
        };
        let mut dim = DimDict::new(size, grid_size, grid_rank, dist)?;
        let len = to_usize(next())?;
        let mut text: Vec<u8> = (0..len.div_ceil(8))
            .flat_map(|_| next().to_ne_bytes())
            .collect();
        text.truncate(len);
        if let Ok(Value::Dict(extra)) = literal::parse(&String::from_utf8_lossy(&text)) {
            for (key, value) in extra {
                dim = dim.with_extra(key, value)?;
            }
        }
        dims.push(dim);
    }
    Ok((
        ProtocolVersion::new(major, minor, patch),
        DimData::new(dims),
    ))
}

fn to_usize(word: u64) -> Result<usize, ProtocolError> {
    usize::try_from(word).map_err(|_| ProtocolError::Overflow {
        what: "process grid",
    })
}

/// The distribution that the parts of all ranks, by rank, make together.
///
/// What `dist-maps` can place and the protocol's rules do not allow is refused with all that is wrong, with one exception: more
/// padding than the neighbour owns. Such halos, over several neighbours, are an ordinary thing here.
pub(crate) fn whole(parts: &[(ProtocolVersion, DimData)]) -> Result<Distribution, ArrayError> {
    let dims: Vec<DimData> = parts.iter().map(|(_, dim_data)| dim_data.clone()).collect();
    let distribution = match Distribution::from_dim_data_per_rank(&dims) {
        Ok(distribution) => distribution,
        Err(error) => {
            let violations = check::set(parts);
            return Err(if violations.is_empty() {
                error.into()
            } else {
                ArrayError::Parts(violations)
            });
        }
    };
    // Ranks without a place in the grid are no part of the protocol's set.
    let active: Vec<_> = distribution
        .targets()
        .iter()
        .filter_map(|&rank| parts.get(rank).cloned())
        .collect();
    let mut violations = check::set(&active);
    violations.retain(|violation| !matches!(violation.code, Code::S5 | Code::S6));
    if violations.is_empty() {
        Ok(distribution)
    } else {
        Err(ArrayError::Parts(violations))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_listed() {
        let part = |rank, range| {
            (
                ProtocolVersion::CURRENT,
                DimData::new(vec![DimDict::block(9, 2, rank, range).unwrap()]),
            )
        };
        assert!(whole(&[part(0, 0..5), part(1, 5..9)]).is_ok());
        let error = whole(&[part(0, 0..5), part(1, 6..9)]).unwrap_err();
        assert!(
            matches!(&error, ArrayError::Parts(list) if !list.is_empty()),
            "{error}"
        );
        let error = whole(&[part(0, 0..5), part(0, 0..5)]).unwrap_err();
        assert!(matches!(error, ArrayError::Parts(_)));
    }

    #[test]
    fn a_boundary_wider_than_the_edge_blocks_survives_the_way() {
        let d = Distribution::over(4)
            .shape([9])
            .block(0)
            .padding(1)
            .periodic(0);
        let d = d.build().unwrap();
        let sent = |rank| encode(ProtocolVersion::CURRENT, &d.dim_data(rank).unwrap());
        let parts: Vec<_> = (0..4).map(|rank| decode(&sent(rank)).unwrap()).collect();
        assert_eq!(whole(&parts).unwrap(), d);
    }

    #[test]
    fn metadata_survive_the_way() {
        let dims = vec![
            DimDict::block(18, 2, 1, 8..18)
                .unwrap()
                .with_padding(1, 1)
                .unwrap()
                .with_periodic(true)
                .unwrap(),
            DimDict::cyclic(7, 3, 2, 2).unwrap(),
            DimDict::unstructured(9, 1, 0, vec![-4, 8, 2], true).unwrap(),
            DimDict::whole(0)
                .unwrap()
                .with_extra("unit", "m/s²".into())
                .unwrap(),
        ];
        for dim_data in [DimData::new(dims), DimData::new(vec![])] {
            let bytes = encode(ProtocolVersion::V0_9_0, &dim_data);
            assert_eq!(decode(&bytes).unwrap(), (ProtocolVersion::V0_9_0, dim_data));
        }
    }
}
