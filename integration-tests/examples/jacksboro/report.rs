//! What the job says and shows: tables, comparisons, pictures.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use dap_protocol::{DimDict, Dist, Element};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, ReduceOp};
use dist_maps::{Distribution, draw_svg};
use local_array::LocalArray;
use ndarray::{Array2, ArrayView2, Ix2};

use crate::plain::{Places, part};
use crate::{POISON, Result};

/// Speaks for all ranks through rank 0, and remembers what differed.
pub(crate) struct Report<'c, C> {
    comm: &'c C,
    differences: u64,
}

impl<'c, C: Communicator> Report<'c, C> {
    pub(crate) fn new(comm: &'c C) -> Self {
        Self {
            comm,
            differences: 0,
        }
    }

    fn say(&self, line: impl Display) {
        if self.comm.rank() == 0 {
            println!("{line}");
        }
    }

    /// What each rank holds of an array and, where it was read from files, how many bytes that took. Collective.
    pub(crate) fn table<T: Element>(
        &self,
        title: &str,
        array: &LocalArray<T, Ix2, &C>,
        bytes_read: Option<u64>,
    ) -> Result<()> {
        let dims = array.dim_data()?;
        let line = format!(
            "{:>4}  {:<7} {:<22} {:<22} {:>9} {:>9} {:>10}",
            self.comm.rank(),
            array
                .cart_coords()
                .map_or("none".to_owned(), |at| format!("{at:?}")),
            indices(&dims[0]),
            indices(&dims[1]),
            extents(array.local_shape()),
            extents(&array.owned_shape()),
            bytes_read.map_or(String::new(), |bytes| bytes.to_string()),
        );
        let head =
            "rank  place   rows                   columns                   stored     owned";
        self.say(format_args!(
            "{title}\n{head}{}",
            bytes_read.map_or("", |_| " bytes read")
        ));
        for line in self.comm.gather_v(0, line.as_bytes())?.unwrap_or_default() {
            println!("{}", String::from_utf8_lossy(&line).trim_end());
        }
        if let Some(bytes) = bytes_read {
            let total = self.comm.all_reduce_value(bytes, ReduceOp::Sum)?;
            let size = array.global_size() * size_of::<T>() as u128;
            self.say(format_args!(
                "read by all ranks: {total} bytes of elements, of {size} in the files"
            ));
        }
        self.say("");
        Ok(())
    }

    /// Cells that hold the poison, over all ranks. Collective.
    pub(crate) fn poisoned(&mut self, when: &str, array: &LocalArray<i16, Ix2, &C>) -> Result<()> {
        let here = array.local().iter().filter(|&&cell| cell == POISON).count();
        let cells = self.comm.all_reduce_value(here as u64, ReduceOp::Sum)?;
        self.say(format_args!(
            "poisoned cells {when} the halo exchange: {cells}"
        ));
        Ok(())
    }

    pub(crate) fn statistics(&self, what: &str, least: f64, mean: f64, greatest: f64) {
        self.say(format_args!(
            "{what:<15} least {least:>9.4}   mean {mean:>9.4}   greatest {greatest:>9.4}"
        ));
    }

    /// Compares a rank's part with its places in the whole, element by element. Collective.
    pub(crate) fn compare<T: Copy + PartialEq>(
        &mut self,
        what: &str,
        ours: &ArrayView2<'_, T>,
        whole: &Array2<T>,
        places: &Places,
    ) -> Result<()> {
        let wanted = part(whole, places);
        let here = if ours.dim() == wanted.dim() {
            ours.iter().zip(&wanted).filter(|(a, b)| a != b).count()
        } else {
            ours.len().max(wanted.len()).max(1)
        };
        self.count(what, here as u64)
    }

    /// Draws who owns what.
    pub(crate) fn draw(&self, path: &Path, distribution: &Distribution) -> Result<()> {
        let drawn = if self.comm.rank() == 0 {
            fs::write(path, draw_svg(distribution))
        } else {
            Ok(())
        };
        Ok(agree(self.comm, drawn)?)
    }

    /// Something that must hold on every rank. Collective.
    pub(crate) fn expect(&mut self, what: &str, holds: bool) -> Result<()> {
        self.count(what, u64::from(!holds))
    }

    fn count(&mut self, what: &str, here: u64) -> Result<()> {
        let differ = self.comm.all_reduce_value(here, ReduceOp::Sum)?;
        self.differences += differ;
        let verdict = if differ == 0 {
            "equal".to_owned()
        } else {
            format!("{differ} DIFFER")
        };
        self.say(format_args!(
            "compared with a plain computation: {what:<20} {verdict}"
        ));
        Ok(())
    }

    /// An error, the same on all ranks, when something differed.
    pub(crate) fn verdict(self) -> Result<()> {
        self.say("");
        match self.differences {
            0 => Ok(()),
            n => {
                Err(format!("{n} element(s) differ from the plain computation, allowed: 0").into())
            }
        }
    }
}

fn extents(shape: &[usize]) -> String {
    shape
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(" × ")
}

/// The global indices along a dimension, in a few characters.
fn indices(dim: &DimDict) -> String {
    match dim.dist() {
        _ if dim.stored_len() == 0 => "-".to_owned(),
        _ if dim.stored_len() == dim.size() => format!("0..{}", dim.size()),
        Dist::Block { start, stop, .. } => format!("{start}..{stop}"),
        Dist::Cyclic { start, block_size } => {
            let turn = block_size * dim.grid_size() as u64;
            let starts = (0..2).map(|round| start + round * turn);
            let blocks = starts.filter(|&at| at < dim.size());
            let texts = blocks.map(|at| match block_size {
                1 => format!("{at}, "),
                _ => format!("{at}..{}, ", (at + block_size).min(dim.size())),
            });
            texts.collect::<String>() + "…"
        }
        Dist::Unstructured { .. } => "listed".to_owned(),
    }
}

/// A brightness as a grey value.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the brightness is 0 to 255"
)]
pub(crate) fn grey(brightness: f32) -> u8 {
    brightness.round() as u8
}

/// Writes a picture in grey.
pub(crate) fn png(path: &Path, pixels: &Array2<u8>) -> Result<()> {
    let (height, width) = pixels.dim();
    let file = BufWriter::new(File::create(path)?);
    let mut encoder = png::Encoder::new(file, u32::try_from(width)?, u32::try_from(height)?);
    encoder.set_color(png::ColorType::Grayscale);
    let bytes: Vec<u8> = pixels.iter().copied().collect();
    Ok(encoder.write_header()?.write_image_data(&bytes)?)
}

/// Says where the files are.
pub(crate) fn files(out: &Path) -> Result<()> {
    let mut names: Vec<_> = fs::read_dir(out)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<Result<_>>()?;
    names.sort();
    println!("in {}:", out.display());
    for name in names {
        println!("  {}", name.display());
    }
    Ok(())
}
