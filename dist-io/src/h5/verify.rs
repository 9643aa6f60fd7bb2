//! [`verify`]: checksums of a dataset, kept beside it, and compared with what is in the file.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dist_comm::{CommExt, Communicator};
use serde::{Deserialize, Serialize};

use super::attribute::{AttributeNumbers, AttributeValue, attach, names, value};
use super::dataset::{Found, opened, unread};
use super::source::{Contents, Opened};
use super::together::{by_rank_0, is_regular, names as names_of, same, settle};
use super::vds::part_files;
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
/// Of a virtual dataset, by [`ToFile::checksums`](crate::legate::ToFile::checksums), every part is looked at, and compared with its
/// own sums.
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
    verify_watched(path.as_ref(), key, None, comm, &mut |_| Ok(()))
}

/// As [`verify`], without the library where there are limits; `watch` is told of bytes that were read, and may end it.
pub(crate) fn verify_watched(
    path: &Path,
    key: &str,
    limits: Option<&Limits>,
    comm: &(impl Communicator + ?Sized),
    watch: &mut dyn FnMut(u64) -> Result<(), Refusal>,
) -> Result<Verified, IoError> {
    same(
        comm,
        &[
            ("path", path.as_os_str().as_bytes()),
            ("key", key.as_bytes()),
            ("limits", format!("{limits:?}").as_bytes()),
        ],
    )?;
    let all = by_rank_0(comm, path, key, || {
        if let Some(limits) = limits {
            return within(path, key, limits);
        }
        let (_file, dataset) = opened(path, key)?;
        if kept_of(&dataset)? != Of::Parts {
            return Ok(vec![Summed::new(path, None, &dataset)?]);
        }
        // every part is there, and of this save
        let (_opened, contents) = Opened::look_up(path, key)?;
        let parts = part_files(&contents).into_iter();
        let summed = parts.map(|(file, key)| {
            let name = file.display().to_string();
            let summed = opened(&file, &key)
                .and_then(|(_file, dataset)| Summed::new(&file, Some(name.clone()), &dataset));
            summed.map_err(|refusal| of_part(Some(&name), refusal))
        });
        summed.collect()
    })?;
    let count = all.iter().map(|summed| summed.segments.count()).sum();
    let (first, end) = share(count, comm);
    let found = compared(&all, first, end, watch);
    let bytes = settle(comm, path, key, found)?;
    let all = comm.all_gather_value(bytes)?;
    Ok(Verified {
        bytes: all.iter().sum(),
        sums: count,
    })
}

/// The sums of a dataset of a file of unknown origin, or of its parts. Local.
fn within(path: &Path, key: &str, limits: &Limits) -> Result<Vec<Summed>, Refusal> {
    let names = names_of(key)?;
    let (_, _, all) = bare::opened(path, limits, |bare| {
        let dataset = bare.dataset(&names)?;
        if of_text(dataset.attribute(OF))? != Of::Parts {
            return Ok(vec![Summed::within(path, None, bare, &dataset)?]);
        }
        let contents = bare.contents(&dataset)?;
        let summed = part_files(&contents).into_iter().map(|(file, key)| {
            let name = file.display().to_string();
            let summed = names_of(&key).and_then(|names| {
                let (_, _, summed) = bare.opened_beside(&file, |bare| {
                    let dataset = bare.dataset(&names)?;
                    Summed::within(&file, Some(name.clone()), bare, &dataset)
                })?;
                Ok(summed)
            });
            summed.map_err(|refusal| of_part(Some(&name), refusal))
        });
        summed.collect()
    })?;
    Ok(all)
}

/// Compares some of the sums of files, counted through, with what is in them; the bytes that were read. Local.
fn compared(
    all: &[Summed],
    first: u64,
    end: u64,
    watch: &mut dyn FnMut(u64) -> Result<(), Refusal>,
) -> Result<u64, Refusal> {
    let (mut before, mut bytes) = (0, 0);
    for summed in all {
        let count = summed.segments.count();
        let own = first.max(before)..end.min(before + count);
        let own = own.start.saturating_sub(before)..own.end.saturating_sub(before);
        before += count;
        let compared = summed.compared(own, watch);
        bytes += compared.map_err(|refusal| of_part(summed.part.as_deref(), refusal))?;
    }
    Ok(bytes)
}

/// A refusal of a part as one of the whole.
fn of_part(part: Option<&str>, refusal: Refusal) -> Refusal {
    match part {
        None => refusal,
        Some(part) => Refusal::Part {
            part: part.to_owned(),
            refusal: Box::new(refusal),
        },
    }
}

/// A dataset of a file, and its sums.
#[derive(Serialize, Deserialize)]
struct Summed {
    file: Vec<u8>,
    /// The name of the part that it is.
    part: Option<String>,
    segments: Segments,
    kept: Vec<u64>,
}

impl Summed {
    fn new(
        path: &Path,
        part: Option<String>,
        dataset: &hdf5_metno::Dataset,
    ) -> Result<Self, Refusal> {
        let (of, kept) = kept(value(dataset, SUMS).ok(), value(dataset, OF).ok())?;
        let (segments, kept) = matching(Segments::new(path, dataset, of)?, kept)?;
        Ok(Self {
            file: path.as_os_str().as_bytes().to_vec(),
            part,
            segments,
            kept,
        })
    }

    /// The same of a dataset of a file of unknown origin.
    fn within(
        path: &Path,
        part: Option<String>,
        bare: &bare::Bare<'_>,
        dataset: &bare::Dataset,
    ) -> Result<Self, Refusal> {
        let attribute = |name| dataset.attribute(name).cloned();
        let (of, kept) = kept(attribute(SUMS), attribute(OF))?;
        let places = || match bare.contents(dataset)? {
            Contents::Chunks(chunks) => Ok(chunks.listed_bytes()),
            _ => Err(Refusal::NoChecksums),
        };
        let found = (&dataset.found, dataset.item() as u64);
        let (segments, kept) = matching(Segments::of(found, of, places)?, kept)?;
        Ok(Self {
            file: path.as_os_str().as_bytes().to_vec(),
            part,
            segments,
            kept,
        })
    }

    /// Compares the sums of these numbers; the bytes that were read.
    fn compared(
        &self,
        numbers: Range<u64>,
        watch: &mut dyn FnMut(u64) -> Result<(), Refusal>,
    ) -> Result<u64, Refusal> {
        if numbers.is_empty() {
            return Ok(0);
        }
        let file = File::open(Path::new(OsStr::from_bytes(&self.file)));
        let file = file.map_err(Refusal::os("open"))?;
        let mut bytes = 0;
        for number in numbers {
            let (sum, read) = self.segments.sum(&file, number)?;
            let kept = usize::try_from(number)
                .ok()
                .and_then(|at| self.kept.get(at));
            if kept != Some(&u64::from(sum)) {
                let (from, to) = self.segments.span(number);
                return Err(Refusal::Damaged {
                    from,
                    to,
                    message: format!("their crc32 is {sum:#010x}"),
                });
            }
            bytes += read;
            watch(read)?;
        }
        Ok(bytes)
    }
}

/// What a dataset says that its sums are of.
fn kept_of(dataset: &hdf5_metno::Dataset) -> Result<Of, Refusal> {
    of_text(value(dataset, OF).ok().as_ref())
}

/// What an attribute says that sums are of.
fn of_text(of: Option<&AttributeValue>) -> Result<Of, Refusal> {
    match of {
        Some(AttributeValue::Text(text)) => {
            serde_json::from_str(text).map_err(|_| Refusal::NoChecksums)
        }
        _ => Err(Refusal::NoChecksums),
    }
}

/// Whether a dataset has sums, or its parts have.
pub(super) fn has_sums(dataset: &hdf5_metno::Dataset) -> Result<bool, Refusal> {
    Ok(names(dataset)?.iter().any(|name| name == OF))
}

/// Says of a virtual dataset that its parts have sums.
pub(super) fn of_parts(dataset: &hdf5_metno::Dataset) -> Result<(), Refusal> {
    attach(dataset, OF, &AttributeValue::Text(Of::Parts.text()))
}

/// Keeps the checksums of a dataset with it, in a file that only this process knows of. Local.
pub(super) fn keep_alone(path: &Path, key: &str) -> Result<(), Refusal> {
    let segments = {
        let (_file, dataset) = opened(path, key)?;
        Segments::new(path, &dataset, of(path, &dataset)?)?
    };
    let file = File::open(path).map_err(Refusal::os("open"))?;
    let sums = (0..segments.count()).map(|number| Ok(segments.sum(&file, number)?.0));
    attach_sums(
        path,
        key,
        &segments,
        &sums.collect::<Result<Vec<u32>, Refusal>>()?,
    )
}

/// Gives a dataset its sums.
fn attach_sums(path: &Path, key: &str, segments: &Segments, sums: &[u32]) -> Result<(), Refusal> {
    let file = open::private(path)?;
    let dataset = file
        .dataset(key)
        .map_err(Refusal::library("open the dataset"))?;
    let made = dataset
        .new_attr::<u32>()
        .shape(sums.len())
        .create(SUMS)
        .and_then(|attribute| {
            if sums.is_empty() {
                return Ok(());
            }
            attribute.write_raw(sums)
        });
    made.map_err(Refusal::library("keep the checksums"))?;
    attach(&dataset, OF, &AttributeValue::Text(segments.of.text()))?;
    drop(dataset);
    file.close().map_err(Refusal::library("close the file"))
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
        of,
    ) = (sums, of)
    else {
        return Err(Refusal::NoChecksums);
    };
    Ok((of_text(of.as_ref())?, kept))
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
        attach_sums(pending, key, &segments, &sums)
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
    /// Of the parts of a virtual dataset, each of which has its own.
    Parts,
}

impl Of {
    fn text(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }
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
            Of::Parts => 0,
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
            Of::Parts => Vec::new(),
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
