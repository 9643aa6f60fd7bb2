//! [`Storage`]: how a dataset of an HDF5 file is to be stored.

use clap::Args as ClapArgs;
#[cfg(feature = "hdf5")]
use dist_io::SaveHdf5;

use super::dist::Extents;
use super::error::CliError;
use super::place::Place;
#[cfg(feature = "hdf5")]
use super::progress::note;
#[cfg(feature = "hdf5")]
use super::source::Source;

/// Options of an HDF5 dataset that is written. What is not said is as IN has it, where that is a dataset too.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Options of an HDF5 dataset that is written")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(super) struct Storage {
    /// In chunks of so many elements along each dimension, as in 64x64 [default: as IN]
    #[arg(long)]
    chunk: Option<Extents>,
    /// Compressed at a level from 0 to 9: the filter deflate [default: as IN]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=9))]
    gzip: Option<u8>,
    /// Bytes of equal significance together, which compresses better: the filter shuffle
    #[arg(long)]
    shuffle: bool,
    /// A checksum of each chunk, which all programs compare: the filter fletcher32
    #[arg(long)]
    fletcher32: bool,
    /// In one piece, without chunks and filters, also where IN has them
    #[arg(long, conflicts_with_all = ["chunk", "gzip", "shuffle", "fletcher32"])]
    contiguous: bool,
    /// With checksums beside it, which `dap check --contents` compares
    #[arg(long)]
    checksums: bool,
    /// A file for each rank, under a virtual dataset
    #[arg(long, conflicts_with_all = ["chunk", "gzip", "shuffle", "fletcher32", "checksums"])]
    pub(super) parts: bool,
}

impl Storage {
    /// Refuses what the target has no place for.
    pub(super) fn check(&self, target: &Place) -> Result<(), CliError> {
        let target = match target {
            Place::Hdf5 { .. } => return Ok(()),
            Place::Npy(_) => ".npy file",
            _ => "set of .dnpy files",
        };
        let given = [
            ("--chunk", self.chunk.is_some()),
            ("--gzip", self.gzip.is_some()),
            ("--shuffle", self.shuffle),
            ("--fletcher32", self.fletcher32),
            ("--contiguous", self.contiguous),
            ("--checksums", self.checksums),
            ("--parts", self.parts),
        ];
        match given.into_iter().find(|&(_, given)| given) {
            Some((option, _)) => Err(CliError::OfHdf5 { option, target }),
            None => Ok(()),
        }
    }

    /// A save with all of this, and with what the source has: attributes, names of codes, chunks, filters. What cannot be kept is
    /// told.
    #[cfg(feature = "hdf5")]
    pub(super) fn apply(&self, mut save: SaveHdf5, source: &Source) -> SaveHdf5 {
        save = save.checksums(self.checksums);
        let (mut chunk, mut level) = (None, None);
        let (mut shuffle, mut fletcher32) = (false, false);
        if let Source::Hdf5 { reader, .. } = source {
            let info = reader.info();
            for (name, value) in &info.attributes {
                if let dist_io::AttributeValue::Other(kind) = value {
                    note(format_args!("the attribute {name:?} is left out: {kind}"));
                } else {
                    save = save.attribute(name, value.clone());
                }
            }
            save = save.enumeration(info.members.iter().cloned());
            if let dist_io::Storage::Chunked { chunk: of_source } = &info.storage {
                chunk = Some(of_source.clone());
            }
            if !self.contiguous && !self.parts {
                for filter in &info.filters {
                    match filter.as_str() {
                        "deflate" => level = info.deflate,
                        "shuffle" => shuffle = true,
                        "fletcher32" => fletcher32 = true,
                        other => note(format_args!(
                            "the filter {other} is left out: written are shuffle, deflate (--gzip) and fletcher32"
                        )),
                    }
                }
            }
        }
        if self.contiguous || self.parts {
            return save;
        }
        if let Some(asked) = &self.chunk {
            chunk = Some(asked.values().to_vec());
        }
        if let Some(chunk) = chunk {
            save = save.chunk(chunk);
        }
        if let Some(level) = self.gzip.or(level) {
            save = save.deflate(level);
        }
        save.shuffle(shuffle || self.shuffle)
            .fletcher32(fletcher32 || self.fletcher32)
    }
}
