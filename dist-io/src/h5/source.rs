//! [`Opened`] and [`Source`]: a dataset in a file that stays open. Whatever becomes of the file's name, what was looked up is what
//! is read.

mod held;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use dap_protocol::{DimData, DimDict};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, SharedFile};
use dist_maps::Distribution;
use hdf5_metno as hdf5;
use serde::{Deserialize, Serialize};

use super::chunk::{self, Chunks, Open};
use super::dataset::{Found, describe, how, walk};
#[cfg(feature = "hdf5-mpio")]
use super::mpio;
use super::together::{by_rank_0, is_regular, names, refusal, refused, settle};
use super::vds::{Block, Mosaic, MosaicFile, Nesting, Piece, Tiles, parts_of};
use super::{ByteOrder, Limits, Refusal, Storage, Way, bare, ffi, open};
use crate::execute::{NO_EXCHANGE, exchange, room};
use crate::identity::Identity;
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, Strategy, read_elements};

use self::held::Held;
pub(super) use self::held::{copy_from, read_part};

/// How often a file that is replaced meanwhile is looked at, by one rank and by all together.
pub(super) const TURNS: usize = 10;

/// Where the elements of a dataset are, as rank 0 tells the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Contents {
    /// In one piece, from this byte of the file on.
    At(u64),
    /// These are they.
    Here(Vec<u8>),
    /// Nowhere yet: each is this one.
    Nowhere(Vec<u8>),
    /// In chunks.
    Chunks(Chunks),
    /// In parts, every one of which was looked at.
    Parts(Vec<Piece>),
    /// In parts that are chunked, or interleave, or leave elements out.
    Tiles(Tiles),
}

/// A dataset that this process has opened. Local.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) dataset: hdf5::Dataset,
    pub(super) library: hdf5::File,
    /// The same file, to be read without the library.
    pub(super) file: File,
    pub(super) identity: Identity,
    pub(super) found: Found,
    path: PathBuf,
}

impl Opened {
    /// Opens a file to read it, and a dataset in it.
    pub(super) fn new(path: &Path, key: &str) -> Result<Self, Refusal> {
        let names = names(key)?;
        steady(path, |file, identity| {
            Self::at(path, &names, file, identity)
        })
    }

    /// As [`new`](Self::new), with where its elements are.
    pub(super) fn look_up(path: &Path, key: &str) -> Result<(Self, Contents), Refusal> {
        Self::look_up_in(path, key, &mut Nesting::new())
    }

    /// The same of a dataset that is the source of others.
    pub(super) fn look_up_in(
        path: &Path,
        key: &str,
        nesting: &mut Nesting,
    ) -> Result<(Self, Contents), Refusal> {
        let names = names(key)?;
        steady(path, |file, identity| {
            let opened = Self::at(path, &names, file, identity)?;
            let contents = opened.contents_in(nesting)?;
            Ok((opened, contents))
        })
    }

    fn at(path: &Path, names: &[&str], file: File, identity: Identity) -> Result<Self, Refusal> {
        let before = head(&file);
        let library = open::to_read(path)?;
        // the library opens by name: is it the same file? From here on its lock keeps programs from writing to it; what a series
        // appends comes behind what is found here
        let identity = same_file(path, identity).ok_or(Refusal::Changed)?;
        let dataset = walk(&library, names)?;
        let found = describe(&dataset, identity.len)?;
        if head(&file) != before {
            // what was found may lie behind the end of the file as the library knows it
            return Err(Refusal::Changed);
        }
        Ok(Self {
            dataset,
            library,
            file,
            identity,
            found,
            path: path.to_owned(),
        })
    }

    /// The same file once more, as what reads it holds it.
    pub(super) fn try_clone(&self) -> Result<Self, Refusal> {
        Ok(Self {
            dataset: self.dataset.clone(),
            library: self.library.clone(),
            file: self.file.try_clone().map_err(Refusal::os("open"))?,
            identity: self.identity,
            found: self.found.clone(),
            path: self.path.clone(),
        })
    }

    /// Where its elements are; of a virtual dataset every part is looked at.
    pub(super) fn contents(&self) -> Result<Contents, Refusal> {
        self.contents_in(&mut Nesting::new())
    }

    fn contents_in(&self, nesting: &mut Nesting) -> Result<Contents, Refusal> {
        let (dataset, found) = (&self.dataset, &self.found);
        if found.shape.contains(&0) {
            return Ok(Contents::At(0));
        }
        let ty = dataset
            .dtype()
            .map_err(Refusal::library("ask for the element type"))?;
        let fill = || Ok::<_, Refusal>(ffi::fill_value(&how(dataset)?, &ty));
        Ok(match found.storage {
            Storage::Contiguous { offset: None } => Contents::Nowhere(fill()?),
            Storage::Compact => Contents::Here(ffi::read_all(dataset, &ty)?),
            Storage::Chunked { .. } => {
                Contents::Chunks(Chunks::of(&self.library, dataset, &found.shape, fill()?)?)
            }
            Storage::Virtual => parts_of(&self.path, dataset, found, nesting)?,
            _ => Contents::At(found.offset(READ)?),
        })
    }
}

/// What is read of how elements may be stored.
pub(super) const READ: &str = "in one piece, in chunks, compact, and virtual";

/// Opens a file and looks at it, again where it was replaced or written to meanwhile.
///
/// Rows that a series appends meanwhile do not disturb what is found, but they may disturb the finding: the library takes no
/// address behind the end that the file had when it was opened, nor a header that is being written. So what is wrong is wrong when
/// it is found twice in a file that stayed as it was.
pub(super) fn steady<T>(
    path: &Path,
    mut look: impl FnMut(File, Identity) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let mut wrong = None;
    for turn in 0..TURNS {
        let (file, identity) = plain(path)?;
        let state = (identity, head(&file));
        match wrong.take() {
            Some((before, refusal)) if turn > 1 && before == state => return Err(refusal),
            _ => {}
        }
        match look(file, identity) {
            Err(Refusal::Changed) => {}
            // what is missing may be there in the new one
            Err(refusal) => wrong = Some((state, refusal)),
            looked => return looked,
        }
    }
    Err(Refusal::Changed)
}

/// The first bytes of a file, which say how far it goes. Times are too coarse to tell that it goes further now.
fn head(file: &File) -> [u8; 64] {
    let mut head = [0; 64];
    // of one that cannot be read, none
    let _ = file.read_at(&mut head, 0);
    head
}

/// The state of a file, if the name still stands for it, in whatever state.
fn same_file(path: &Path, identity: Identity) -> Option<Identity> {
    let now = Identity::of(&fs::metadata(path).ok()?);
    now.is_same_file(&identity).then_some(now)
}

/// Opens a file to read it without the library.
fn plain(path: &Path) -> Result<(File, Identity), Refusal> {
    is_regular(path)?.ok_or(Refusal::NotFound)?;
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Refusal::NotFound,
        _ => Refusal::os("open")(error),
    })?;
    let meta = file.metadata().map_err(Refusal::os("look at the file"))?;
    if !meta.is_file() {
        return Err(Refusal::NotAFile);
    }
    Ok((file, Identity::of(&meta)))
}

/// A dataset that all ranks have opened, and know where its elements are; or one process alone.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) key: String,
    pub(super) found: Found,
    pub(super) body: Body,
    /// This rank's own.
    pub(super) file: File,
    /// Held by rank 0, so that nobody writes meanwhile, and by all where the library has to find the chunks. The dataset goes
    /// before its file.
    library: Option<(hdf5::Dataset, hdf5::File)>,
    /// Threads that decode chunks; as many as there are processors for a rank where nobody said it.
    pub(super) threads: Option<NonZero<usize>>,
}

/// Where its elements are.
#[derive(Debug)]
pub(super) enum Body {
    At(u64),
    Here(Vec<u8>),
    Nowhere(Vec<u8>),
    Chunks(Chunks),
    Parts(Mosaic),
    Tiles(Tiles),
}

/// What rank 0 found, as it tells the others.
#[derive(Serialize, Deserialize)]
struct Told {
    identity: Identity,
    /// A name of the open file, on the machine of rank 0, that stays when the file's own becomes another one's.
    held: String,
    found: Found,
    contents: Contents,
}

impl Source {
    /// Looks a dataset up by rank 0, without the library where there are limits, and opens the file on all ranks; each makes sure
    /// that it has the one that was looked at. Collective; equal paths, keys and limits, and errors that are the same on every rank.
    pub(super) fn open(
        comm: &(impl Communicator + ?Sized),
        path: &Path,
        key: &str,
        limits: Option<&Limits>,
    ) -> Result<Self, IoError> {
        let mut turn = 1;
        let mut before = None;
        loop {
            match Self::turn(comm, path, key, limits, &mut before) {
                Err(error) if is_changed(&error) && turn < TURNS => turn += 1,
                outcome => return outcome,
            }
        }
    }

    /// `before` are the files that rank 0 and this rank found the turn before, where these differed.
    fn turn(
        comm: &(impl Communicator + ?Sized),
        path: &Path,
        key: &str,
        limits: Option<&Limits>,
        before: &mut Option<(Identity, Option<Identity>)>,
    ) -> Result<Self, IoError> {
        let mut own = None;
        let told = by_rank_0(comm, path, key, || {
            let ((file, identity, library), found, contents) = looked_up(path, key, limits)?;
            let told = Told {
                identity,
                held: format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()),
                found,
                contents,
            };
            own = Some((file, identity, library));
            Ok(told)
        })?;
        let by_library =
            matches!(&told.contents, Contents::Chunks(chunks) if chunks.needs_library());
        let opened = match own {
            Some(held) => Ok(held),
            None if by_library => Opened::new(path, key).map(held),
            None => {
                let held = Path::new(&told.held);
                let file = if same_file(held, told.identity).is_some() {
                    plain(held).or_else(|_| plain(path))
                } else {
                    plain(path)
                };
                file.map(|(file, identity)| (file, identity, None))
            }
        };
        let found = match &opened {
            Ok((_, identity, _)) => Some(*identity),
            Err(Refusal::NotFound) => None,
            Err(_) => Some(told.identity),
        };
        let opened = if found.is_some_and(|found| found.is_same_file(&told.identity)) {
            opened.map(|(file, _, library)| (file, library))
        } else if before.replace((told.identity, found)) == Some((told.identity, found)) {
            // neither has changed, so they are two files
            let rank = comm.rank();
            Err(Refusal::Unshared { rank })
        } else {
            Err(Refusal::Changed)
        };
        let (file, library) = settle(comm, path, key, opened)?;
        Self::new(path, key, (file, library), told.found, told.contents)
    }

    /// Looks a dataset up, without the library where there are limits. Local.
    pub(super) fn alone(path: &Path, key: &str, limits: Option<&Limits>) -> Result<Self, IoError> {
        let looked_up = looked_up(path, key, limits);
        let (held, found, contents) = looked_up.map_err(|refusal| refused(path, key, refusal))?;
        let (file, _, library) = held;
        Self::new(path, key, (file, library), found, contents)
    }

    /// A dataset that was looked up. Local.
    pub(super) fn of(
        path: &Path,
        key: &str,
        opened: Opened,
        contents: Contents,
    ) -> Result<Self, IoError> {
        let found = opened.found.clone();
        let (file, _, library) = held(opened);
        Self::new(path, key, (file, library), found, contents)
    }

    /// A dataset that was looked up, of which the file is opened once more; refused where that is another one. Local.
    pub(super) fn again(
        path: &Path,
        key: &str,
        identity: Identity,
        found: Found,
        contents: Contents,
    ) -> Result<Self, Refusal> {
        let by_library = matches!(&contents, Contents::Chunks(chunks) if chunks.needs_library());
        let opened = if by_library {
            Opened::new(path, key).map(held)
        } else {
            plain(path).map(|(file, identity)| (file, identity, None))
        };
        let (file, now, library) = opened.map_err(|refusal| match refusal {
            Refusal::NotFound => Refusal::Changed,
            refusal => refusal,
        })?;
        if now != identity {
            return Err(Refusal::Changed);
        }
        let source = Self::new(path, key, (file, library), found, contents);
        source.map_err(refusal)
    }

    fn new(
        path: &Path,
        key: &str,
        (file, library): (File, Option<(hdf5::Dataset, hdf5::File)>),
        found: Found,
        contents: Contents,
    ) -> Result<Self, IoError> {
        let body = match contents {
            Contents::At(start) => Body::At(start),
            Contents::Here(all) => Body::Here(all),
            Contents::Nowhere(fill) => Body::Nowhere(fill),
            Contents::Chunks(chunks) => Body::Chunks(chunks),
            Contents::Parts(pieces) => {
                let element = found
                    .element()
                    .map_err(|refusal| refused(path, key, refusal))?;
                let sizes = (element.size(), element.word_size());
                Body::Parts(Mosaic::new(&found.shape, sizes, pieces, false))
            }
            Contents::Tiles(tiles) => Body::Tiles(tiles),
        };
        Ok(Self {
            path: path.to_owned(),
            key: key.to_owned(),
            found,
            body,
            file,
            library,
            threads: None,
        })
    }

    /// Lets go of the library's file, and with it of its lock: what is read from here on is read without it.
    pub(super) fn without_library(mut self) -> Self {
        let needed = matches!(&self.body, Body::Chunks(chunks) if chunks.needs_library());
        if !needed {
            self.library = None;
        }
        self
    }

    /// Whether it holds the library's file, and with it the lock.
    pub(super) fn has_library(&self) -> bool {
        self.library.is_some()
    }

    /// The dataset as blocks of files; refused where it is stored in another way.
    pub(super) fn into_mosaic(self) -> Result<Mosaic, Refusal> {
        match self.body {
            Body::Parts(mosaic) => Ok(mosaic),
            Body::At(start) => {
                let element = self.found.element()?;
                let piece = Piece {
                    byte_order: self.found.byte_order,
                    ..Piece::dense(&self.path, start, Block::whole(&self.found.shape))
                };
                let sizes = (element.size(), element.word_size());
                let mosaic = Mosaic::new(&self.found.shape, sizes, vec![piece], false);
                Ok(mosaic.holding(self.file))
            }
            _ => Err(Refusal::Storage {
                storage: self.found.storage.text(),
                allowed: "in one piece, and virtual".to_owned(),
            }),
        }
    }

    /// Reads what every rank stores, in this machine's byte order, into its buffer in C order. Collective.
    ///
    /// With a distribution, the same on every rank and each its own part of it, ranks may read for each other.
    pub(super) fn read(
        &self,
        comm: &(impl Communicator + ?Sized),
        dim_data: &DimData,
        distribution: Option<&Distribution>,
        bytes: &mut [u8],
        way: Way,
    ) -> Result<IoReport, IoError> {
        let outcome = match way {
            #[cfg(feature = "hdf5-mpio")]
            Way::Mpio if self.is_together() => {
                self.read_together(comm, dim_data, distribution, bytes)
            }
            _ => self.read_body(comm, dim_data, distribution, bytes),
        };
        let Body::Parts(mosaic) = &self.body else {
            let swapped = self.found.byte_order != ByteOrder::NATIVE;
            if outcome.is_ok() && swapped && !matches!(self.body, Body::Tiles(_)) {
                let element = self.found.element();
                let word = element.map_err(|refusal| self.refused(refusal))?;
                let words = bytes.chunks_exact_mut(word.word_size());
                words.for_each(<[u8]>::reverse);
            }
            return outcome;
        };
        let error = match outcome {
            Ok(report) => return Ok(report),
            Err(error) => error,
        };
        // the parts of a dataset that was replaced meanwhile are gone
        match comm.all_gather_value(u8::from(mosaic.has_changed())) {
            Ok(all) if all.contains(&1) => Err(self.refused(Refusal::Changed)),
            _ => Err(error),
        }
    }

    fn read_body(
        &self,
        comm: &(impl Communicator + ?Sized),
        dim_data: &DimData,
        distribution: Option<&Distribution>,
        bytes: &mut [u8],
    ) -> Result<IoReport, IoError> {
        let item = self.found.element().map_err(|r| self.refused(r))?.size();
        let held = Held {
            comm,
            file: &self.file,
            path: &self.path,
        };
        let from = |file: &dyn SharedFile, start: u64, bytes: &mut [u8]| {
            if let Some(distribution) = distribution {
                let layout = FileLayout::Contiguous;
                let plan = IoPlan::new(distribution, item, layout, Direction::Read)?;
                read_elements(comm, file, start, &plan, bytes)
            } else {
                let mut report = IoReport::begun(Strategy::Direct, start);
                let read = |offset, to: &mut [u8]| {
                    report.file_bytes += to.len() as u64;
                    report.requests += 1;
                    file.read_at(start + offset, to)
                };
                agree(comm, read_part(read, dim_data, item, bytes))?;
                Ok(report)
            }
        };
        // of elements that are not read from the file one by one
        let nothing = IoReport::begun(Strategy::Direct, 0);
        match &self.body {
            Body::At(start) => from(&held, *start, bytes),
            Body::Parts(mosaic) => from(&MosaicFile::new(comm, &self.path, mosaic), 0, bytes),
            Body::Here(all) => {
                let read = |offset, to: &mut [u8]| copy_from(all, offset, to);
                agree(comm, read_part(read, dim_data, item, bytes))?;
                Ok(nothing)
            }
            Body::Nowhere(fill) => {
                let items = bytes.chunks_exact_mut(item);
                items.for_each(|item| item.copy_from_slice(fill));
                Ok(nothing)
            }
            Body::Tiles(tiles) => {
                let threads = NonZero::new(chunk::threads_of_rank(comm.size()));
                let threads = self.threads.or(threads).unwrap_or(NonZero::<usize>::MIN);
                let read = |dim_data: &DimData, bytes: &mut [u8]| {
                    let read = tiles.read(dim_data, bytes, threads);
                    settle(comm, &self.path, &self.key, read)
                };
                let plan = distribution.map(|distribution| {
                    IoPlan::new(distribution, item, tiles.layout(), Direction::Read)
                });
                match plan.transpose()? {
                    Some(plan) if plan.strategy() == Strategy::TwoPhase => {
                        let redist = agree(comm, plan.exchange(comm.rank()))?;
                        let redist = redist.ok_or(NO_EXCHANGE)?;
                        let requests = agree(comm, plan.requests(comm.rank()))?;
                        let slab = match requests.elements() {
                            0 => Ok(DimData::new(vec![
                                DimDict::whole(0)?;
                                self.found.shape.len()
                            ])),
                            _ => plan.slabs().dim_data(comm.rank()),
                        };
                        let slab = agree(comm, slab)?;
                        let mut found = agree(comm, room(requests.elements(), item))?;
                        read(&slab, &mut found)?;
                        let mut report = IoReport::begun(Strategy::TwoPhase, 0);
                        report.exchanged_bytes =
                            exchange::exchange(comm, &redist, item, &found, bytes)?;
                        Ok(report)
                    }
                    _ => {
                        read(dim_data, bytes)?;
                        Ok(nothing)
                    }
                }
            }
            Body::Chunks(chunks) => {
                let open = Open {
                    path: &self.path,
                    key: &self.key,
                    file: &held,
                    library: self.library.as_ref().map(|(dataset, _)| dataset),
                    threads: self.threads,
                };
                chunk::load(comm, &open, chunks, distribution, dim_data, item, bytes)
            }
        }
    }

    /// Whether parallel HDF5 has something to read here: elements that lie in this file.
    #[cfg(feature = "hdf5-mpio")]
    fn is_together(&self) -> bool {
        let here = matches!(self.body, Body::At(_) | Body::Chunks(_));
        here && !self.found.shape.contains(&0)
    }

    /// As [`read_body`](Self::read_body), by parallel HDF5.
    #[cfg(feature = "hdf5-mpio")]
    fn read_together(
        &self,
        comm: &(impl Communicator + ?Sized),
        dim_data: &DimData,
        distribution: Option<&Distribution>,
        bytes: &mut [u8],
    ) -> Result<IoReport, IoError> {
        let item = self.found.element().map_err(|r| self.refused(r))?.size();
        let named = mpio::Named {
            path: &self.path,
            key: &self.key,
            file: &self.path,
            held: Some(&self.file),
        };
        let layout = match &self.body {
            Body::Chunks(chunks) => FileLayout::Chunked {
                chunk: chunks.extents().to_vec(),
            },
            _ => FileLayout::Contiguous,
        };
        match distribution {
            Some(distribution) => {
                let plan = IoPlan::new(distribution, item, layout, Direction::Read)?;
                mpio::read(comm, named, &plan, bytes)
            }
            None if dim_data.ndim() == 0 => mpio::read_scalar(comm, named, bytes),
            None => Err(IoError::NoArray),
        }
    }

    pub(super) fn refused(&self, refusal: Refusal) -> IoError {
        refused(&self.path, &self.key, refusal)
    }
}

type HeldFiles = (File, Identity, Option<(hdf5::Dataset, hdf5::File)>);

/// Looks a dataset up: by the library, or without it where there are limits.
fn looked_up(
    path: &Path,
    key: &str,
    limits: Option<&Limits>,
) -> Result<(HeldFiles, Found, Contents), Refusal> {
    let Some(limits) = limits else {
        let (opened, contents) = Opened::look_up(path, key)?;
        let found = opened.found.clone();
        return Ok((held(opened), found, contents));
    };
    let names = names(key)?;
    let (file, identity, (found, contents)) = bare::opened(path, limits, |bare| {
        let dataset = bare.dataset(&names)?;
        let contents = bare.contents(&dataset)?;
        Ok((dataset.found, contents))
    })?;
    Ok(((file, identity, None), found, contents))
}

fn held(opened: Opened) -> HeldFiles {
    let library = Some((opened.dataset, opened.library));
    (opened.file, opened.identity, library)
}

/// Whether a file was replaced while it was read, so that reading it again may do.
pub(super) fn is_changed(error: &IoError) -> bool {
    matches!(error, IoError::Hdf5 { refusal, .. } if **refusal == Refusal::Changed)
}
