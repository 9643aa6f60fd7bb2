//! A save carried out: compared, planned, written, published.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{DimData, DistributedArray, ElementType, HostBuffer, LocalBuffer};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, FileMode, SharedFileOps};
use hdf5_metno::Dataset;
use serde::{Deserialize, Serialize};

use super::SaveHdf5;
use super::dataset::Room;
use super::part::{bytes_of, check_edges};
#[cfg(feature = "hdf5-mpio")]
use crate::h5::Way;
use crate::h5::chunk::{self, Filter, Target};
use crate::h5::create::close;
#[cfg(feature = "hdf5-mpio")]
use crate::h5::mpio;
#[cfg(feature = "hdf5-mpio")]
use crate::h5::together::refused;
use crate::h5::together::{by_rank_0, same};
use crate::h5::{ByteOrder, Refusal, element, metadata, types, verify};
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, Strategy, write_elements};

impl SaveHdf5 {
    pub(super) fn save_by<'a, A>(
        &self,
        given: Option<&IoPlan>,
        array: &'a A,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<IoReport, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let (path, key) = (self.path.as_path(), self.key.as_str());
        let part = array.distarray();
        let element = part.buffer().element_type();
        same(
            comm,
            &[
                ("path", path.as_os_str().as_bytes()),
                ("key", key.as_bytes()),
                ("mode", self.mode.letters().as_bytes()),
                ("way of storing", self.text().as_bytes()),
                ("element type", element.to_string().as_bytes()),
                ("plan", given.map_or(String::new(), told).as_bytes()),
            ],
        )?;
        #[cfg(feature = "hdf5-mpio")]
        if self.way == Way::Mpio {
            mpio::check(comm)?;
            if self.record.is_some() {
                return Err(refused(
                    path,
                    key,
                    Refusal::Storage {
                        storage: "as records".to_owned(),
                        allowed: "as plain elements by parallel HDF5".to_owned(),
                    },
                ));
            }
        }
        if !element::has_type(element) {
            return Err(IoError::NoHdf5Type { element });
        }
        agree(comm, check_edges(&part))?;
        let (plan, parts) = if let Some(plan) = given {
            self.check_plan(plan, part.dim_data(), element, comm)?;
            (Cow::Borrowed(plan), None)
        } else {
            let parts = metadata::gather(comm, part.dim_data())?;
            let plan = self.plan(&metadata::whole(&parts)?, element)?;
            (Cow::Owned(plan), Some(parts))
        };
        let filters = self.filters()?;
        // from here on there are files
        let mut pending = None;
        let mut made = None;
        let begun = by_rank_0(comm, path, key, || {
            let ty = match &self.record {
                None => types::to_write(element, self.byte_order, &self.members)?,
                Some(record) => record.to_type()?,
            };
            let parts = match parts {
                Some(parts) => parts,
                None => planned(&plan)?,
            };
            let text = metadata::to_text(&self.described(parts))?;
            let (file, library) = self.open()?;
            let (room, dataset) = self.create(library, &ty, &plan, &filters, &text)?;
            made = dataset;
            #[cfg(feature = "hdf5-mpio")]
            if self.way == Way::Mpio {
                if let Some((library, dataset)) = made.take() {
                    close(library, dataset)?;
                }
                mpio::reserve(file.file(), &plan, !filters.is_empty())?;
            }
            let begun = Begun {
                path: file.path().as_os_str().as_bytes().to_vec(),
                room,
            };
            pending = Some(file);
            Ok(begun)
        })?;
        let mut bytes = agree(comm, bytes_of(part.buffer(), element))?;
        if self.byte_order != ByteOrder::NATIVE && element.size() > 1 {
            let words = bytes.to_mut().chunks_exact_mut(element.word_size());
            words.for_each(<[u8]>::reverse);
        }
        let made_here = made.as_ref().map(|(_, dataset)| dataset);
        let file = Path::new(OsStr::from_bytes(&begun.path));
        let to = (file, begun.room, made_here);
        let report = self.write(comm, to, (&plan, &filters), &bytes)?;
        by_rank_0(comm, path, "", || match made.take() {
            Some((file, dataset)) => close(file, dataset),
            None => Ok(()),
        })?;
        if self.checksums {
            let pending = Path::new(OsStr::from_bytes(&begun.path));
            verify::keep(comm, (path, key), pending)?;
        }
        by_rank_0(comm, path, "", || {
            // this is rank 0, which began it; never a success without a file
            let missing = || Refusal::Library {
                operation: "publish".to_owned(),
                message: "there is no file".to_owned(),
            };
            Ok(pending.take().ok_or_else(missing)?.publish()?)
        })?;
        Ok(report)
    }

    /// Puts the elements into the file that rank 0 has made. Collective.
    fn write(
        &self,
        comm: &(impl Communicator + ?Sized),
        (to, room, made): (&Path, Room, Option<&Dataset>),
        (plan, filters): (&IoPlan, &[Filter]),
        bytes: &[u8],
    ) -> Result<IoReport, IoError> {
        let (path, key) = (self.path.as_path(), self.key.as_str());
        let open = || comm.open_shared(to, FileMode::ReadWrite);
        let coding = (filters, self.record.as_ref().map(|record| record.bytes));
        Ok(match room {
            #[cfg(feature = "hdf5-mpio")]
            _ if self.way == Way::Mpio => {
                mpio::write(comm, mpio::Named::new(path, key, to), plan, bytes)?
            }
            Room::At(offset) => {
                let file = open()?;
                let report = write_elements(comm, &*file, offset, plan, bytes)?;
                file.sync()?;
                report
            }
            Room::Places(places) => {
                let file = open()?;
                let target = Target::Places(&*file, places);
                let report = chunk::save(comm, (path, key), plan, coding, &target, bytes)?;
                file.sync()?;
                report
            }
            Room::Library => {
                let target = Target::Rank0(made);
                chunk::save(comm, (path, key), plan, coding, &target, bytes)?
            }
        })
    }

    /// What ranks have to agree on beside path, key and mode.
    pub(in crate::h5) fn text(&self) -> String {
        let mut text = format!(
            "way {}, chunk {:?}, largest shape {:?}, shuffle {}, deflate {:?}, fletcher32 {}",
            self.way, self.chunk, self.max_shape, self.shuffle, self.deflate, self.fletcher32
        );
        let _ = write!(
            text,
            ", {:?}, checksums {}, members {:?}, record {:?}",
            self.byte_order, self.checksums, self.members, self.record
        );
        for (name, value) in &self.attributes {
            // writing to a text does not fail
            let _ = write!(text, ", {name:?} = {value:?}");
        }
        text
    }

    /// Checks that a plan is one for this save, the same on all ranks. Collective.
    fn check_plan(
        &self,
        plan: &IoPlan,
        dim_data: &DimData,
        element: ElementType,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(), IoError> {
        let distribution = plan.distribution();
        if distribution.ranks() != comm.size() {
            return Err(IoError::Ranks {
                what: "the plan",
                given: distribution.ranks(),
                allowed: comm.size(),
            });
        }
        self.check_record(element, distribution)?;
        let (layout, _) = self.layout_of_bytes(distribution.global_shape(), element.size())?;
        let text = |direction: Direction, bytes: usize, layout: &FileLayout| {
            format!("{direction} elements of {bytes} bytes, {layout}")
        };
        let given = text(plan.direction(), plan.item_size(), plan.layout());
        let asked = text(Direction::Write, element.size(), &layout);
        if given != asked {
            return Err(IoError::OtherPlan { given, asked });
        }
        let direct = plan.is_asked() && plan.strategy() == Strategy::Direct;
        if direct && layout != FileLayout::Contiguous {
            // chunks that ranks share would be what the last of them makes of them
            let safe = self.plan(distribution, element)?.strategy();
            if safe != Strategy::Direct {
                return Err(IoError::OtherPlan {
                    given: format!("{given}, by {}", plan.strategy()),
                    asked: format!("{asked}, by {safe}"),
                });
            }
        }
        let own = distribution.dim_data(comm.rank());
        let is_own = own.is_ok_and(|own| own == *dim_data);
        let all = comm.all_gather_value(u8::from(is_own))?;
        match all.iter().position(|&is_own| is_own == 0) {
            None => Ok(()),
            Some(rank) => Err(IoError::OtherPart { rank }),
        }
    }

    /// The metadata of all ranks, as the dataset has them: those of records without the dimension of their bytes.
    fn described(&self, parts: Vec<DimData>) -> Vec<DimData> {
        match self.record {
            None => parts,
            Some(_) => parts.iter().map(without_last).collect(),
        }
    }
}

/// A file with an empty dataset in it, as rank 0 tells the others of it.
#[derive(Serialize, Deserialize)]
struct Begun {
    path: Vec<u8>,
    room: Room,
}

/// The metadata of all ranks of a plan.
fn planned(plan: &IoPlan) -> Result<Vec<DimData>, Refusal> {
    let ranks = 0..plan.distribution().ranks();
    let parts = ranks.map(|rank| plan.distribution().dim_data(rank));
    let parts: Result<_, _> = parts.collect();
    parts.map_err(|error| Refusal::DimData {
        message: error.to_string(),
    })
}

/// A plan, as ranks compare it.
fn told(plan: &IoPlan) -> String {
    format!(
        "{} {} by {}, {} bytes of {} an element, distribution {:016x}",
        plan.direction(),
        plan.layout(),
        plan.strategy(),
        plan.total_bytes(),
        plan.item_size(),
        plan.fingerprint()
    )
}

/// The metadata of records as a dataset has them: without the dimension of their bytes.
fn without_last(part: &DimData) -> DimData {
    let dims: Vec<_> = part.iter().cloned().collect();
    DimData::new(dims[..dims.len().saturating_sub(1)].to_vec())
}
