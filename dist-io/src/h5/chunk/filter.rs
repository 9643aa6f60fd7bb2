//! [`Filter`]: what a chunk goes through on its way to the file, done here and not by the library, so without its lock.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use hdf5_metno::filters::Filter as Known;
use hdf5_metno::plist::DatasetCreate;
use serde::{Deserialize, Serialize};

use super::fletcher::{fletcher32, swapped};
use super::shuffle::{shuffle, unshuffle};
use super::{ChunkProblem, lzf};
use crate::h5::{Refusal, ffi};

/// One filter of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::h5) enum Filter {
    Shuffle,
    /// With the level of compression, 0 to 9.
    Deflate(u8),
    Fletcher32,
    /// Only undone.
    Lzf,
}

/// The number under which `lzf` is registered.
const LZF: i32 = 32000;

/// Bytes that one byte of a stream stands for, at most: two bits for 258 bytes, and three bytes for 264.
const DEFLATE_RATIO: usize = 1032;
const LZF_RATIO: usize = 88;

impl Filter {
    /// The filter of a number, which is given this value; refused where it is not undone here.
    pub(in crate::h5) fn of(number: i32, value: u32) -> Result<Self, Refusal> {
        Ok(match number {
            1 => Self::Deflate(u8::try_from(value).unwrap_or(9)),
            2 => Self::Shuffle,
            3 => Self::Fletcher32,
            LZF => Self::Lzf,
            _ => {
                return Err(Refusal::Filter {
                    name: name(number).to_owned(),
                    number,
                });
            }
        })
    }

    /// As the library has it, for a dataset that is made.
    pub(in crate::h5) fn known(self) -> Known {
        match self {
            Self::Shuffle => Known::Shuffle,
            Self::Deflate(level) => Known::Deflate(level),
            Self::Fletcher32 => Known::Fletcher32,
            Self::Lzf => Known::User(LZF, Vec::new()),
        }
    }
}

/// The filters of a dataset, in the order of writing; those that are not undone here are refused, the first one by name.
pub(in crate::h5) fn filters_of(how: &DatasetCreate) -> Result<Vec<Filter>, Refusal> {
    let filters = known(how)?.into_iter().map(|filter| match filter {
        Known::Shuffle => Ok(Filter::Shuffle),
        Known::Deflate(level) => Ok(Filter::Deflate(level)),
        Known::Fletcher32 => Ok(Filter::Fletcher32),
        other if other.id() == LZF => Ok(Filter::Lzf),
        other => Err(Refusal::Filter {
            name: name(other.id()).to_owned(),
            number: other.id(),
        }),
    });
    filters.collect()
}

/// The names of the filters of a dataset, in the order of writing, of those that are not undone here too.
pub(in crate::h5) fn filter_names(how: &DatasetCreate) -> Result<Vec<String>, Refusal> {
    let names = known(how)?.into_iter();
    Ok(names.map(|filter| name(filter.id()).to_owned()).collect())
}

/// The level of the filter `deflate` of a dataset, where it has that.
pub(in crate::h5) fn deflate_level(how: &DatasetCreate) -> Result<Option<u8>, Refusal> {
    let mut levels = known(how)?.into_iter().filter_map(|filter| match filter {
        Known::Deflate(level) => Some(level),
        _ => None,
    });
    Ok(levels.next_back())
}

fn known(how: &DatasetCreate) -> Result<Vec<Known>, Refusal> {
    // without parameters, of which the safe crate has room for 32
    let filters = ffi::filters(how)?.into_iter();
    let known = filters.map(|(number, parameter)| match number {
        1 => Known::Deflate(u8::try_from(parameter).unwrap_or(9).min(9)),
        2 => Known::Shuffle,
        3 => Known::Fletcher32,
        other => Known::User(other, Vec::new()),
    });
    Ok(known.collect())
}

/// The names under which the more common filters are registered.
pub(in crate::h5) fn name(number: i32) -> &'static str {
    match number {
        1 => "deflate",
        2 => "shuffle",
        3 => "fletcher32",
        4 => "szip",
        5 => "nbit",
        6 => "scaleoffset",
        305 => "lzo",
        307 => "bzip2",
        LZF => "lzf",
        32001 => "blosc",
        32004 => "lz4",
        32008 => "bitshuffle",
        32013 => "zfp",
        32015 => "zstd",
        32017 => "sz",
        32024 => "sz3",
        32026 => "blosc2",
        _ => "unknown",
    }
}

/// Buffers and states that one thread uses for one chunk after another.
#[derive(Default)]
pub(super) struct Scratch {
    /// A chunk, before and after each filter.
    pub(super) bytes: Vec<u8>,
    spare: Vec<u8>,
    deflater: Option<(u8, Compress)>,
    inflater: Option<Decompress>,
}

impl Scratch {
    /// Makes `bytes` so many zeros.
    pub(super) fn zeros(&mut self, len: usize) -> Result<(), Refusal> {
        self.bytes.clear();
        reserve(&mut self.bytes, len)?;
        self.bytes.resize(len, 0);
        Ok(())
    }

    fn spare(&mut self, len: usize) -> Result<(), Refusal> {
        self.spare.truncate(len);
        let more = len - self.spare.len();
        reserve(&mut self.spare, more)?;
        self.spare.resize(len, 0);
        Ok(())
    }

    /// Makes room for so many bytes in `spare`, which is then empty.
    fn room(&mut self, len: usize) -> Result<(), Refusal> {
        self.spare.clear();
        reserve(&mut self.spare, len)
    }

    /// Applies the filters to `bytes`, elements of `item` bytes; the mask of those that were left out, as HDF5 has it.
    pub(super) fn encode(&mut self, filters: &[Filter], item: usize) -> Result<u32, Refusal> {
        let mut left_out = 0;
        for (i, filter) in filters.iter().enumerate() {
            let len = self.bytes.len();
            match *filter {
                Filter::Shuffle => {
                    self.spare(len)?;
                    shuffle(&self.bytes, item, &mut self.spare);
                    std::mem::swap(&mut self.bytes, &mut self.spare);
                }
                Filter::Deflate(level) => {
                    // what does not get shorter stays as it is
                    self.room(len)?;
                    if self.deflate(level) {
                        std::mem::swap(&mut self.bytes, &mut self.spare);
                    } else {
                        left_out |= 1 << i;
                    }
                }
                Filter::Fletcher32 => {
                    let sum = fletcher32(&self.bytes);
                    self.bytes.extend_from_slice(&sum.to_le_bytes());
                }
                Filter::Lzf => left_out |= 1 << i,
            }
        }
        Ok(left_out)
    }

    /// Compresses `bytes` into `spare`, which has room for as many; whether that was enough.
    fn deflate(&mut self, level: u8) -> bool {
        let kept = self.deflater.take().filter(|(kept, _)| *kept == level);
        let (_, state) = self.deflater.insert(kept.unwrap_or_else(|| {
            let compression = Compression::new(u32::from(level));
            (level, Compress::new(compression, true))
        }));
        state.reset();
        let status = state.compress_vec(&self.bytes, &mut self.spare, FlushCompress::Finish);
        // an earlier chunk may have left more room
        matches!(status, Ok(Status::StreamEnd)) && self.spare.len() <= self.bytes.len()
    }

    /// Undoes the filters that are not in the mask; `bytes` are then `len` bytes.
    pub(super) fn decode(
        &mut self,
        filters: &[Filter],
        left_out: u32,
        item: usize,
        len: usize,
    ) -> Result<(), Undone> {
        // what each filter was given is as long as the chunk, and four bytes for each checksum before it
        let mut given = vec![len; filters.len()];
        let mut longer = len;
        let applied = |i: usize| !is_left_out(left_out, i);
        for (i, filter) in filters.iter().enumerate() {
            given[i] = longer;
            if *filter == Filter::Fletcher32 && applied(i) {
                longer += 4;
            }
        }
        for (i, filter) in filters.iter().enumerate().rev() {
            if !applied(i) {
                continue;
            }
            match filter {
                Filter::Shuffle => {
                    self.spare(self.bytes.len())?;
                    unshuffle(&self.bytes, item, &mut self.spare);
                    std::mem::swap(&mut self.bytes, &mut self.spare);
                }
                Filter::Deflate(_) => {
                    self.is_long_enough("deflate", given[i], DEFLATE_RATIO)?;
                    self.inflate(given[i])?;
                }
                Filter::Fletcher32 => self.checked()?,
                Filter::Lzf => {
                    self.is_long_enough("lzf", given[i], LZF_RATIO)?;
                    self.spare(given[i])?;
                    lzf::decode(&self.bytes, &mut self.spare).ok_or_else(|| {
                        ChunkProblem::Decode {
                            filter: "lzf".to_owned(),
                            message: format!("no stream of {} bytes", given[i]),
                        }
                    })?;
                    std::mem::swap(&mut self.bytes, &mut self.spare);
                }
            }
        }
        if self.bytes.len() == len {
            Ok(())
        } else {
            Err(Undone::Problem(ChunkProblem::Length {
                given: self.bytes.len() as u64,
                allowed: len as u64,
            }))
        }
    }

    /// Refuses what cannot become so many bytes before there is room for them: memory is a multiple of what is in the file.
    fn is_long_enough(&self, filter: &str, len: usize, ratio: usize) -> Result<(), ChunkProblem> {
        if len <= self.bytes.len().saturating_mul(ratio) {
            return Ok(());
        }
        Err(ChunkProblem::Decode {
            filter: filter.to_owned(),
            message: format!("{} bytes cannot be those of {len}", self.bytes.len()),
        })
    }

    /// Decompresses `bytes` to so many.
    fn inflate(&mut self, len: usize) -> Result<(), Undone> {
        // room for one byte more tells a longer stream from one that ends here
        self.room(len.saturating_add(1))?;
        let state = self.inflater.get_or_insert_with(|| Decompress::new(true));
        state.reset(true);
        let status = state.decompress_vec(&self.bytes, &mut self.spare, FlushDecompress::Finish);
        let out = state.total_out();
        let wrong = |message: String| {
            Undone::Problem(ChunkProblem::Decode {
                filter: "deflate".to_owned(),
                message,
            })
        };
        match status {
            Ok(Status::StreamEnd) if out == len as u64 => {}
            Ok(Status::StreamEnd) => {
                return Err(Undone::Problem(ChunkProblem::Length {
                    given: out,
                    allowed: len as u64,
                }));
            }
            Ok(_) if out > len as u64 => {
                return Err(wrong(format!("the stream is longer than {len} bytes")));
            }
            Ok(_) => return Err(wrong("the stream is cut off".to_owned())),
            Err(error) => return Err(wrong(error.to_string())),
        }
        std::mem::swap(&mut self.bytes, &mut self.spare);
        Ok(())
    }

    /// Compares the checksum at the end with that of the bytes before it, and takes it off.
    fn checked(&mut self) -> Result<(), Undone> {
        let Some((data, &stored)) = self.bytes.split_last_chunk::<4>() else {
            return Err(Undone::Problem(ChunkProblem::Length {
                given: self.bytes.len() as u64,
                allowed: 4,
            }));
        };
        let (stored, computed) = (u32::from_le_bytes(stored), fletcher32(data));
        if stored != computed && stored != swapped(computed) {
            return Err(Undone::Problem(ChunkProblem::Checksum { stored, computed }));
        }
        let len = data.len();
        self.bytes.truncate(len);
        Ok(())
    }
}

/// Whether the mask of a chunk says that it did not go through its filter of this number.
pub(super) const fn is_left_out(mask: u32, filter: usize) -> bool {
    filter < 32 && mask >> filter & 1 == 1
}

/// Why a chunk could not be decoded: its bytes, or no memory.
#[derive(Debug)]
pub(super) enum Undone {
    Problem(ChunkProblem),
    Refused(Refusal),
}

impl From<ChunkProblem> for Undone {
    fn from(problem: ChunkProblem) -> Self {
        Self::Problem(problem)
    }
}

impl From<Refusal> for Undone {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Makes room for so many bytes more.
pub(super) fn reserve(bytes: &mut Vec<u8>, more: usize) -> Result<(), Refusal> {
    bytes
        .try_reserve_exact(more)
        .map_err(|_| Refusal::Memory { bytes: more as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Filter; 3] = [Filter::Shuffle, Filter::Deflate(4), Filter::Fletcher32];

    fn coded(filters: &[Filter], bytes: &[u8]) -> (u32, Vec<u8>) {
        let mut scratch = Scratch {
            bytes: bytes.to_vec(),
            ..Scratch::default()
        };
        let mask = scratch.encode(filters, 8).unwrap();
        (mask, scratch.bytes)
    }

    fn decoded(
        filters: &[Filter],
        mask: u32,
        bytes: &[u8],
        len: usize,
    ) -> Result<Vec<u8>, ChunkProblem> {
        let mut scratch = Scratch {
            bytes: bytes.to_vec(),
            ..Scratch::default()
        };
        match scratch.decode(filters, mask, 8, len) {
            Ok(()) => Ok(scratch.bytes),
            Err(Undone::Problem(problem)) => Err(problem),
            Err(Undone::Refused(refusal)) => panic!("{refusal}"),
        }
    }

    #[test]
    fn every_order_of_filters_comes_back() {
        let smooth: Vec<u8> = (0..800_u32).map(|i| (i / 100).to_le_bytes()[0]).collect();
        let mut state = 1_u32;
        let random = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8).to_le_bytes()[0]
        });
        let noise: Vec<u8> = random.take(800).collect();
        for bytes in [&smooth, &noise] {
            for order in [
                [0, 1, 2],
                [0, 2, 1],
                [1, 0, 2],
                [1, 2, 0],
                [2, 0, 1],
                [2, 1, 0],
            ] {
                for count in 0..=3 {
                    let filters: Vec<Filter> =
                        order[..count].iter().map(|&i: &usize| ALL[i]).collect();
                    let (mask, stored) = coded(&filters, bytes);
                    assert_eq!(
                        decoded(&filters, mask, &stored, 800).as_ref(),
                        Ok(bytes),
                        "{filters:?}"
                    );
                }
            }
        }
        assert_eq!(
            coded(&[Filter::Deflate(9)], &noise),
            (1, noise.clone()),
            "it gets no shorter"
        );
        let (mask, shorter) = coded(&ALL, &smooth);
        assert!(mask == 0 && shorter.len() < 100);
    }

    #[test]
    fn wrong_bytes_are_refused() {
        let bytes: Vec<u8> = (0..400_u32).map(|i| (i / 7).to_le_bytes()[0]).collect();
        let (_, stored) = coded(&ALL, &bytes);
        for at in 0..stored.len() {
            let mut flipped = stored.clone();
            flipped[at] ^= 0x10;
            assert!(decoded(&ALL, 0, &flipped, 400).is_err(), "byte {at}");
            assert!(decoded(&ALL, 0, &stored[..at], 400).is_err(), "cut at {at}");
        }
        let deflate = [Filter::Deflate(4)];
        let (_, stored) = coded(&deflate, &bytes);
        assert!(matches!(
            decoded(&deflate, 0, &stored, 401),
            Err(ChunkProblem::Length {
                given: 400,
                allowed: 401
            })
        ));
        for shorter in [0, 1, 399] {
            assert!(
                decoded(&deflate, 0, &stored, shorter).is_err(),
                "{shorter} bytes"
            );
        }
        // no room is made for what cannot be in so few bytes
        for filter in [Filter::Deflate(4), Filter::Lzf] {
            let most = usize::try_from(super::super::CHUNK_BYTES).unwrap();
            assert!(matches!(
                decoded(&[filter], 0, &stored, most),
                Err(ChunkProblem::Decode { .. })
            ));
        }
        let zeros = vec![0; 1 << 20];
        let (_, shortest) = coded(&[Filter::Deflate(9)], &zeros);
        assert_eq!(
            decoded(&[Filter::Deflate(9)], 0, &shortest, zeros.len()),
            Ok(zeros)
        );
        assert!(matches!(
            decoded(&[], 0, &bytes, 399),
            Err(ChunkProblem::Length { .. })
        ));
        assert!(matches!(
            decoded(&[Filter::Fletcher32], 0, &[1], 8),
            Err(ChunkProblem::Length { .. })
        ));
    }
}
