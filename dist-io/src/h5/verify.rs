//! [`verify`]: checksums of a dataset, kept beside it, and compared with what is in the file.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dist_comm::{CommExt, Communicator};
use serde::{Deserialize, Serialize};

use super::attribute::{AttributeNumbers, AttributeValue, attach, value};
use super::dataset::{Found, opened, unread};
use super::source::Contents;
use super::together::{by_rank_0, is_regular, names, same, settle};
use super::{Limits, Refusal, Storage, append, bare, open};
use crate::IoError;

/// The attribute that holds the sums, and that which says of what they are.
pub(super) const SUMS: &str = "crc32";
pub(super) const OF: &str = "crc32_of";

/// Bytes of a piece, at least; and pieces, at most: an attribute has room for 64 KiB.
const PIECE: u64 = 1 << 20;
const PIECES: u64 = 8192;

/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// What [`verify`] found to be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Bytes in the file that were read, by all ranks.
    pub bytes: u64,
    /// Sums that were compared.
    pub sums: u64,
}

/// Compares a dataset with the checksums that [`SaveHdf5::checksums`](super::SaveHdf5::checksums) kept with it: all ranks read
/// it, each its share, as it is in the file. Collective; equal paths and keys.
///
/// The sums are those of `zlib.crc32`, in the attribute `"crc32"`: of pieces of so many bytes as the attribute `"crc32_of"`
/// says, or of chunks as they are in the file, in C order. Other programs need not know of them; one that changes elements in
/// place leaves sums that are no longer right.
///
/// # Errors
/// The same on every rank: [`IoError::Hdf5`] with [`Refusal::Damaged`], which names the first bytes that are wrong,
/// [`Refusal::NoChecksums`], and what else is wrong with file and key; [`IoError::Differ`], [`IoError::Agreed`] and
/// [`IoError::Comm`].
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, SingleComm, ThreadComm};
/// use dist_io::{IoError, SaveHdf5, inspect_hdf5, verify, Storage};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("heat.h5");
/// let rows = Distribution::over(2).shape([100, 30]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let part = DistBuffer::new(rows.dim_data(comm.rank())?, HostArray::new(vec![50, 30], vec![273.15; 1500])?)?;
///     SaveHdf5::new(&path).key("heat").checksums(true).save(&part, comm)?;
///     assert_eq!(verify(&path, "heat", comm)?.bytes, 24_000); // collective
///     Ok::<_, IoError>(())
/// })?;
/// let Storage::Contiguous { offset: Some(offset) } = inspect_hdf5(&path, "heat")?.storage else { panic!() };
/// let mut bytes = std::fs::read(&path)?;
/// bytes[offset as usize + 17] ^= 1;
/// std::fs::write(&path, bytes)?;
/// let damaged = verify(&path, "heat", &SingleComm::new()).unwrap_err();
/// assert!(damaged.to_string().contains(&format!("bytes {offset} to {}", offset + 24_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    path: impl AsRef<Path>,
    key: &str,
    comm: &(impl Communicator + ?Sized),
) -> Result<Verified, IoError> {
    verify_within(path.as_ref(), key, None, comm)
}

/// As [`verify`], without the library where there are limits.
pub(super) fn verify_within(
    path: &Path,
    key: &str,
    limits: Option<&Limits>,
    comm: &(impl Communicator + ?Sized),
) -> Result<Verified, IoError> {
    same(
        comm,
        &[
            ("path", path.as_os_str().as_bytes()),
            ("key", key.as_bytes()),
            ("limits", format!("{limits:?}").as_bytes()),
        ],
    )?;
    let (of, kept) = by_rank_0(comm, path, key, || {
        let Some(limits) = limits else {
            let (_file, dataset) = opened(path, key)?;
            let (of, kept) = kept(value(&dataset, SUMS).ok(), value(&dataset, OF).ok())?;
            return matching(Segments::new(path, &dataset, of)?, kept);
        };
        let names = names(key)?;
        let (_, _, found) = bare::opened(path, limits, |bare| {
            let dataset = bare.dataset(&names)?;
            let attribute = |name| dataset.attribute(name).cloned();
            let (of, kept) = kept(attribute(SUMS), attribute(OF))?;
            let places = || match bare.contents(&dataset)? {
                Contents::Chunks(chunks) => Ok(chunks.listed_bytes()),
                _ => Err(Refusal::NoChecksums),
            };
            let found = (&dataset.found, dataset.item() as u64);
            matching(Segments::of(found, of, places)?, kept)
        })?;
        Ok(found)
    })?;
    let (first, end) = share(of.count(), comm);
    let found = File::open(path).map_err(Refusal::os("open"));
    let found = found.and_then(|file| {
        let mut bytes = 0;
        for number in first..end {
            let (sum, read) = of.sum(&file, number)?;
            let expected = usize::try_from(number).ok().and_then(|at| kept.get(at));
            if expected != Some(&u64::from(sum)) {
                let (from, to) = of.span(number);
                return Err(Refusal::Damaged {
                    from,
                    to,
                    message: format!("their crc32 is {sum:#010x}"),
                });
            }
            bytes += read;
        }
        Ok(bytes)
    });
    let bytes = settle(comm, path, key, found)?;
    let all = comm.all_gather_value(bytes)?;
    Ok(Verified {
        bytes: all.iter().sum(),
        sums: of.count(),
    })
}

/// What the sums are of, and the sums, as the attributes have them.
fn kept(
    sums: Option<AttributeValue>,
    of: Option<AttributeValue>,
) -> Result<(Of, Vec<u64>), Refusal> {
    let (
        Some(AttributeValue::Array {
            values: AttributeNumbers::Unsigned(kept),
            ..
        }),
        Some(AttributeValue::Text(of)),
    ) = (sums, of)
    else {
        return Err(Refusal::NoChecksums);
    };
    let of = serde_json::from_str(&of).map_err(|_| Refusal::NoChecksums)?;
    Ok((of, kept))
}

/// Segments and their sums, of which there are as many.
fn matching(segments: Segments, kept: Vec<u64>) -> Result<(Segments, Vec<u64>), Refusal> {
    if segments.count() == kept.len() as u64 {
        return Ok((segments, kept));
    }
    Err(Refusal::Damaged {
        from: 0,
        to: 0,
        message: format!("{} sums of {} pieces", kept.len(), segments.count()),
    })
}

/// Keeps the checksums of a dataset with it, in a file that nobody else knows of yet. Collective; `pending` is known to rank 0,
/// `name` is the file's until it has another one.
pub(super) fn keep(
    comm: &(impl Communicator + ?Sized),
    (path, key): (&Path, &str),
    pending: &Path,
) -> Result<(), IoError> {
    let segments = by_rank_0(comm, path, key, || {
        let (_file, dataset) = opened(pending, key)?;
        let of = of(pending, &dataset)?;
        Segments::new(pending, &dataset, of)
    })?;
    let (first, end) = share(segments.count(), comm);
    let sums = File::open(pending).map_err(Refusal::os("open"));
    let sums = sums.and_then(|file| {
        let sums = (first..end).map(|number| Ok(segments.sum(&file, number)?.0));
        sums.collect::<Result<Vec<u32>, Refusal>>()
    });
    let sums = settle(comm, path, key, sums)?;
    let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let all = comm.gather_v(0, &bytes)?;
    by_rank_0(comm, path, key, || {
        let all = all.unwrap_or_default().concat();
        let (sums, _) = all.as_chunks::<4>();
        let sums: Vec<u32> = sums.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
        let file = open::private(pending)?;
        let dataset = file
            .dataset(key)
            .map_err(Refusal::library("open the dataset"))?;
        let text = serde_json::to_string(&segments.of).unwrap_or_default();
        let made = dataset
            .new_attr::<u32>()
            .shape(sums.len())
            .create(SUMS)
            .and_then(|attribute| {
                if sums.is_empty() {
                    return Ok(());
                }
                attribute.write_raw(&sums)
            });
        made.map_err(Refusal::library("keep the checksums"))?;
        attach(&dataset, OF, &AttributeValue::Text(text))?;
        drop(dataset);
        file.close().map_err(Refusal::library("close the file"))
    })
}

/// What the sums are of, as the attribute has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Of {
    /// Pieces of so many bytes, the last one shorter.
    BytesOfPiece(u64),
    /// So many chunks, one after another, as they are in the file.
    ChunksTogether(u64),
}

/// A dataset, and bytes of one element, whatever it is.
fn looked_at(path: &Path, dataset: &hdf5_metno::Dataset) -> Result<(Found, u64), Refusal> {
    let ty = dataset.dtype();
    let item = ty
        .map_err(Refusal::library("ask for the element type"))?
        .size();
    let len = is_regular(path)?.ok_or(Refusal::NotFound)?.len();
    Ok((unread(dataset, len, item)?, item as u64))
}

/// What a dataset's sums are best of.
fn of(path: &Path, dataset: &hdf5_metno::Dataset) -> Result<Of, Refusal> {
    let (found, item) = looked_at(path, dataset)?;
    if let Storage::Chunked { .. } = found.storage {
        let count = append::places(path, dataset)?.len() as u64;
        return Ok(Of::ChunksTogether(count.div_ceil(PIECES).max(1)));
    }
    let extents = found.shape.iter();
    let bytes = extents.fold(item, |n, &extent| n.saturating_mul(extent));
    let piece = bytes.div_ceil(PIECES).next_multiple_of(4096);
    Ok(Of::BytesOfPiece(piece.max(PIECE)))
}

/// The bytes of a dataset in its file, in the order of its elements.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Segments {
    of: Of,
    /// First byte and length; one where it is in one piece.
    places: Vec<(u64, u64)>,
}

impl Segments {
    fn new(path: &Path, dataset: &hdf5_metno::Dataset, of: Of) -> Result<Self, Refusal> {
        let (found, item) = looked_at(path, dataset)?;
        Self::of((&found, item), of, || append::places(path, dataset))
    }

    /// Those of a dataset of elements of `item` bytes, whose chunks lie at `places`.
    fn of(
        (found, item): (&Found, u64),
        of: Of,
        places: impl FnOnce() -> Result<Vec<(u64, u64)>, Refusal>,
    ) -> Result<Self, Refusal> {
        let places = match (&found.storage, of) {
            (_, Of::BytesOfPiece(0) | Of::ChunksTogether(0)) => return Err(Refusal::NoChecksums),
            (Storage::Contiguous { offset: None }, Of::BytesOfPiece(_)) => Vec::new(),
            (Storage::Contiguous { .. }, Of::BytesOfPiece(_)) => {
                // no more than the file has, which was checked
                let bytes = found
                    .shape
                    .iter()
                    .fold(item, |n, &extent| n.saturating_mul(extent));
                vec![(found.offset("in one piece")?, bytes)]
            }
            (Storage::Chunked { .. }, Of::ChunksTogether(_)) => places()?,
            _ => return Err(Refusal::NoChecksums),
        };
        Ok(Self { of, places })
    }

    /// Number of sums.
    fn count(&self) -> u64 {
        match self.of {
            Of::BytesOfPiece(piece) => self
                .places
                .iter()
                .map(|&(_, len)| len.div_ceil(piece))
                .sum(),
            Of::ChunksTogether(together) => (self.places.len() as u64).div_ceil(together),
        }
    }

    /// What one sum is of: first byte and length each.
    fn of_sum(&self, number: u64) -> Vec<(u64, u64)> {
        match self.of {
            Of::BytesOfPiece(piece) => self
                .places
                .iter()
                .map(|&(start, len)| {
                    let at = number.saturating_mul(piece).min(len);
                    (start + at, piece.min(len - at))
                })
                .collect(),
            Of::ChunksTogether(together) => {
                let first = number.saturating_mul(together);
                let at = |n: u64| {
                    usize::try_from(n)
                        .unwrap_or(usize::MAX)
                        .min(self.places.len())
                };
                self.places[at(first)..at(first.saturating_add(together))].to_vec()
            }
        }
    }

    /// The bytes, from where to where, that one sum is of.
    fn span(&self, number: u64) -> (u64, u64) {
        let all = self.of_sum(number);
        let from = all.iter().map(|&(at, _)| at).min().unwrap_or(0);
        let to = all.iter().map(|&(at, len)| at.saturating_add(len)).max();
        (from, to.unwrap_or(0))
    }

    /// One sum of what is in the file, and the bytes that were read for it.
    fn sum(&self, file: &File, number: u64) -> Result<(u32, u64), Refusal> {
        let mut hasher = crc32fast::Hasher::new();
        let mut buffer = vec![0; BUFFER];
        let mut bytes = 0;
        for (mut at, mut left) in self.of_sum(number) {
            while left > 0 {
                let len = usize::try_from(left).unwrap_or(BUFFER).min(BUFFER);
                let piece = &mut buffer[..len];
                file.read_exact_at(piece, at).map_err(Refusal::os("read"))?;
                hasher.update(piece);
                at += len as u64;
                left -= len as u64;
                bytes += len as u64;
            }
        }
        Ok((hasher.finalize(), bytes))
    }
}

/// The sums that are this rank's, from which to which.
fn share(count: u64, comm: &(impl Communicator + ?Sized)) -> (u64, u64) {
    let bound = |rank: usize| {
        let bound = u128::from(count) * rank as u128 / comm.size().max(1) as u128;
        u64::try_from(bound).unwrap_or(count)
    };
    (bound(comm.rank()), bound(comm.rank() + 1))
}
