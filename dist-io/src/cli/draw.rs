//! `dap draw`: who owns what, as text, SVG or PNG.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use dist_maps::{Distribution, Index, Slice, draw_rgb, draw_svg, draw_text};

use super::Outcome;
use super::convert::has_folder;
use super::dist::{Dist, Extents};
use super::error::CliError;
use super::source::Source;

/// Draw who owns what.
///
/// Of a file, or of a shape and a distribution. One dimension is a strip; of more than two the first two are drawn, the others
/// at index 0. Of a large array one cell stands for several elements, `*` or grey where they have several owners.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap draw --shape 8x8 --dist b,c --grid 2x2
  dap draw run/part --output part.png
  dap draw whole.npy --dist bc:64,bc:64 --ranks 6 --format svg > plan.svg")]
pub(super) struct Args {
    /// A file, the parts of a set, or the prefix of one
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,
    #[command(flatten)]
    described: Described,
    /// One or two dimensions, the vertical one first, as in 0,2
    #[arg(long)]
    axes: Option<Extents>,
    /// Text, a picture of lines, or one of pixels [default: by the name of --output, or text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Where to write it [default: the standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// The longer side of a PNG, in pixels
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u16).range(1..=16384))]
    size: u16,
}

/// An array that need not be anywhere.
#[derive(Debug, ClapArgs)]
pub(super) struct Described {
    /// Extent of each dimension, as in 8x8
    #[arg(long)]
    pub(super) shape: Option<Extents>,
    /// How the array is distributed, instead of as the file says
    #[arg(long)]
    pub(super) dist: Option<Dist>,
    /// Ranks along each dimension, as in 2x2 [default: chosen by the shape]
    #[arg(long)]
    pub(super) grid: Option<Extents>,
    /// Number of ranks [default: as many as the grid has]
    #[arg(long)]
    pub(super) ranks: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Svg,
    Png,
}

impl Format {
    /// By the end of a file's name.
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, CliError> {
    let by_name = args.output.as_deref().and_then(Format::of);
    let format = args.format.or(by_name).unwrap_or(Format::Text);
    if format == Format::Png && args.output.is_none() {
        return Err(CliError::Binary);
    }
    if let Some(path) = &args.output {
        has_folder(path)?;
    }
    let given = args.described.distribution(&args.files)?;
    let (plane, axes) = plane(given, args.axes.as_ref())?;
    let drawn = match format {
        Format::Text => {
            let text = draw_text(&plane);
            match axes {
                Some(axes) => format!("{axes}\n{text}").into_bytes(),
                None => text.into_bytes(),
            }
        }
        Format::Svg => draw_svg(&plane).into_bytes(),
        Format::Png => {
            let failed = |message| CliError::Picture {
                path: args.output.clone().unwrap_or_default(),
                message,
            };
            png(&plane, args.size).map_err(|error| failed(error.to_string()))?
        }
    };
    match &args.output {
        None => Ok(drawn.into()),
        Some(path) => {
            dist_io::replace_file(path, &drawn).map_err(CliError::os("replace", path))?;
            Ok(Vec::new().into())
        }
    }
}

impl Described {
    /// Of a file, or of what the options say; of a file as the options say, where they say something.
    pub(super) fn distribution(&self, files: &[OsString]) -> Result<Distribution, CliError> {
        let is_described = self.dist.is_some() || self.grid.is_some() || self.ranks.is_some();
        let shape = match &self.shape {
            Some(_) if !files.is_empty() => return Err(CliError::FileAnd { option: "--shape" }),
            Some(shape) => shape.values().to_vec(),
            None if files.is_empty() => return Err(CliError::Missing { option: "--shape" }),
            None => {
                let source = Source::open(files)?;
                if !is_described {
                    return source.distribution();
                }
                source.shape()
            }
        };
        let dist = self.dist.as_ref();
        let dist = dist.ok_or(CliError::Missing { option: "--dist" })?;
        dist.build(&shape, self.grid.as_ref(), self.ranks)
    }
}

/// The one or two dimensions that are drawn, and what they are where others are left out.
fn plane(
    d: Distribution,
    asked: Option<&Extents>,
) -> Result<(Distribution, Option<String>), CliError> {
    let ndim = d.ndim();
    let axes = match asked {
        None if ndim <= 2 => return Ok((d, None)),
        None => vec![0, 1],
        Some(asked) => asked.to_usize(),
    };
    let wrong = axes.iter().any(|&axis| axis >= ndim)
        || !matches!(axes.len(), 1 | 2)
        || axes.first() == axes.get(1);
    if wrong {
        let given: Vec<String> = axes.iter().map(usize::to_string).collect();
        return Err(CliError::Axes {
            given: given.join(","),
            ndim,
        });
    }
    let item = |axis: usize| {
        if axes.contains(&axis) {
            Index::Slice(Slice::full())
        } else {
            Index::At(0)
        }
    };
    let items: Vec<Index> = (0..ndim).map(item).collect();
    let sliced = d.slice(&items)?.into_distribution();
    let plane = if axes.is_sorted() {
        sliced
    } else {
        sliced.transpose(None)?
    };
    let names: Vec<String> = axes.iter().map(usize::to_string).collect();
    let rest = if ndim > axes.len() {
        ", the others at index 0"
    } else {
        ""
    };
    Ok((plane, Some(format!("axes {}{rest}", names.join(" and ")))))
}

fn png(d: &Distribution, size: u16) -> Result<Vec<u8>, png::EncodingError> {
    // a scalar is one element on one rank
    let Some(picture) = draw_rgb(d, size) else {
        return single();
    };
    let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    encode(side(picture.width), side(picture.height), &picture.pixels)
}

fn single() -> Result<Vec<u8>, png::EncodingError> {
    encode(1, 1, &[0xd1, 0x39, 0x39])
}

fn encode(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}
