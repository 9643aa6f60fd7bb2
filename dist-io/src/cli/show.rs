//! `dap show`: what is in files, and which rank holds what.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use dap_protocol::DimData;
use dist_maps::Distribution;
use dnpy_format::set::Set;
use dnpy_format::{PartInfo, inspect, npy};

use super::error::CliError;
use super::place::{Place, inputs};
use super::source::Source;
use super::text::{axis, count, layout, table, times};
use super::{FAILED, Outcome};

/// Ranks that are listed without `--all`.
const LISTED: usize = 16;

/// Show what is in files, and which rank holds what.
///
/// Only headers are read. A set is shown as one array; a part without the others, or parts that are no set, one by one.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap show whole.npy
  dap show run/part_*.dnpy
  dap show run/part all.h5:/heat")]
pub(super) struct Args {
    /// Files, parts of sets, prefixes of sets, datasets
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// List every rank, however many there are
    #[arg(long)]
    all: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut status = 0;
    let mut texts = Vec::new();
    let mut shown = |name: &str, said: Result<(String, u8), CliError>| {
        let (text, outcome) = said.unwrap_or_else(|error| (unreadable(name, &error), FAILED));
        texts.push(text);
        status = status.max(outcome);
    };
    for place in inputs(&args.files) {
        let name = place.name();
        match datasets(place) {
            Err(error) => shown(&name, Err(error)),
            Ok(places) => {
                for place in places {
                    shown(&place.name(), one(place, args.all));
                }
            }
        }
    }
    Outcome {
        text: texts.join("\n").into_bytes(),
        status,
    }
}

/// What one array is, and the status of that.
fn one(place: Place, all: bool) -> Result<(String, u8), CliError> {
    match place {
        Place::Parts(paths) => parts(&paths, all),
        place => Ok((describe(&Source::of(place)?, all)?, 0)),
    }
}

/// One line; an error that names the file does not need it before.
fn unreadable(name: &str, error: &dyn std::error::Error) -> String {
    let error = error.to_string();
    if error.contains(name) {
        format!("{error}\n")
    } else {
        format!("{name}: {error}\n")
    }
}

/// The datasets of an HDF5 file that is named without a key, or of a group.
#[cfg(feature = "hdf5")]
fn datasets(place: Place) -> Result<Vec<Place>, CliError> {
    let Place::Hdf5 { path, key } = place else {
        return Ok(vec![place]);
    };
    let keys = super::place::datasets(&path, key)?.into_iter();
    Ok(keys
        .map(|key| Place::Hdf5 {
            path: path.clone(),
            key: Some(key),
        })
        .collect())
}

#[cfg(not(feature = "hdf5"))]
fn datasets(place: Place) -> Result<Vec<Place>, CliError> {
    match place {
        Place::Hdf5 { path, .. } => Err(CliError::NeedsHdf5 { path }),
        place => Ok(vec![place]),
    }
}

/// Parts as a set, or each by itself.
fn parts(paths: &[PathBuf], all: bool) -> Result<(String, u8), CliError> {
    let name = Place::Parts(paths.to_vec()).name();
    match Set::of_files(paths.to_vec()) {
        Ok(set) => {
            let set = Box::new(set);
            Ok((describe(&Source::Set { name, set }, all)?, 0))
        }
        // of a set that is not here, one part is no fault
        Err(_) if paths.len() == 1 => Ok((part(&paths[0], &inspect(&paths[0])?), 0)),
        Err(error) => {
            let mut text = format!("{name}: no set: {error}\n\n");
            let each = paths.iter().map(|path| match inspect(path) {
                Ok(info) => part(path, &info),
                Err(error) => unreadable(&path.display().to_string(), &error),
            });
            text.push_str(&each.collect::<Vec<_>>().join("\n"));
            Ok((text, FAILED))
        }
    }
}

/// What the headers of one part say.
fn part(path: &Path, info: &PartInfo) -> String {
    let mut text = String::new();
    let dim_data = info.dim_data();
    let rank = dim_data.rank().ok().zip(dim_data.grid().ok());
    let place = match rank {
        Some((_, grid)) if grid.len() == 1 => String::new(),
        Some((rank, grid)) => format!(", rank {rank} of a grid of {}", times(grid.shape())),
        None => ", of a grid that is too large".to_owned(),
    };
    let (major, minor) = info.format_version().parts();
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "{}: .dnpy file, format {major}.{minor}, protocol {}{place}",
        path.display(),
        info.version()
    );
    let _ = writeln!(
        text,
        "  array   {} of {}, here {}",
        times(&dim_data.global_shape()),
        info.array().element_type(),
        elements(info.array())
    );
    for (axis, dim) in dim_data.iter().enumerate() {
        let mut dictionary = dim.to_value().to_string();
        if let Some((end, _)) = dictionary.char_indices().nth(200) {
            dictionary.truncate(end);
            dictionary.push('…');
        }
        let _ = writeln!(text, "  axis {axis}  {dictionary}");
    }
    for repair in info.repairs() {
        let _ = writeln!(text, "  repaired: {repair}");
    }
    text
}

/// Shape and layout of the elements in a file.
fn elements(header: &npy::Header) -> String {
    format!(
        "{}, {}, {} bytes from byte {} on",
        times(header.shape()),
        layout(header),
        header.byte_len(),
        header.data_offset()
    )
}

fn describe(source: &Source, all: bool) -> Result<String, CliError> {
    let mut text = String::new();
    let distribution = source.distribution()?;
    // writing to a string cannot fail
    let _ = writeln!(text, "{}: {}", source.name(), kind(source));
    let bytes = distribution.global_size()?;
    let bytes = u128::from(bytes) * source.element().size() as u128;
    let _ = writeln!(
        text,
        "  array   {} of {}, {bytes} bytes",
        times(&source.shape()),
        source.element()
    );
    let ranks = match source {
        Source::Npy { .. } => None,
        Source::Set { .. } => Some(distribution.ranks()),
        #[cfg(feature = "hdf5")]
        Source::Hdf5 { reader, .. } => reader.info().dim_data.as_ref().map(Vec::len),
    };
    for line in beside(source) {
        let _ = writeln!(text, "  {line}");
    }
    if ranks.is_some() {
        for (number, dist) in distribution.axes().iter().enumerate() {
            let _ = writeln!(text, "  axis {number}  {}", axis(dist));
        }
        let grid = times(distribution.grid().shape());
        let _ = writeln!(
            text,
            "  grid    {grid}, {}",
            count(distribution.ranks(), "rank")
        );
        for note in notes(source) {
            let _ = writeln!(text, "  note    {note}");
        }
        text.push('\n');
        text.push_str(&rank_table(source, &distribution, all)?);
    }
    Ok(text)
}

/// Format, versions and layout.
fn kind(source: &Source) -> String {
    match source {
        Source::Npy { header, .. } => {
            let (major, minor) = header.version();
            let repaired = match header.repairs() {
                [] => "",
                _ => ", read with repairs",
            };
            format!(
                ".npy file, format {major}.{minor}, {}, from byte {} on{repaired}",
                layout(header),
                header.data_offset()
            )
        }
        Source::Set { set, .. } => {
            let parts = (0..set.ranks()).filter_map(|rank| set.part(rank));
            let mut formats = BTreeSet::new();
            let mut versions = BTreeSet::new();
            let mut layouts = BTreeSet::new();
            for (_, info) in parts {
                let (major, minor) = info.format_version().parts();
                formats.insert(format!("{major}.{minor}"));
                versions.insert(info.version().to_string());
                layouts.insert(layout(info.array()));
            }
            let join =
                |set: BTreeSet<String>, and: &str| set.into_iter().collect::<Vec<_>>().join(and);
            let manifest = match set.manifest() {
                Some(manifest) => format!(", save {}", manifest.save()),
                None => String::new(),
            };
            format!(
                "{} of a set, format {}, protocol {}, {}{manifest}",
                count(set.ranks(), ".dnpy file"),
                join(formats, " and "),
                join(versions, " and "),
                join(layouts, " and ")
            )
        }
        #[cfg(feature = "hdf5")]
        Source::Hdf5 { reader, .. } => {
            use dist_io::{ByteOrder, Storage};
            let info = reader.info();
            let storage = match &info.storage {
                Storage::Contiguous { offset: Some(at) } => {
                    format!("contiguous, from byte {at} on")
                }
                Storage::Contiguous { offset: None } => "contiguous, never written".to_owned(),
                Storage::Chunked { chunk } => {
                    format!("in chunks of {}{}", times(chunk), filters(info))
                }
                Storage::Compact => "compact".to_owned(),
                Storage::Virtual => "virtual".to_owned(),
                Storage::External => "in other files".to_owned(),
                _ => "in a way of its own".to_owned(),
            };
            let order = match info.byte_order {
                _ if info.element.word_size() == 1 => "",
                ByteOrder::Little => "little-endian, ",
                ByteOrder::Big => "big-endian, ",
            };
            let saved = match &info.dim_data {
                None if info.dim_data_error.is_some() => {
                    ", with a dim_data that cannot be used (dap check says why)"
                }
                None => ", with no dim_data",
                Some(_) => "",
            };
            format!("HDF5 dataset, {order}{storage}{saved}")
        }
    }
}

/// What goes with the elements: names of codes, attributes.
fn beside(source: &Source) -> Vec<String> {
    match source {
        #[cfg(feature = "hdf5")]
        Source::Hdf5 { reader, .. } => {
            let info = reader.info();
            let mut lines = Vec::new();
            if !info.members.is_empty() {
                let codes = info.members.iter();
                let codes: Vec<String> = codes
                    .map(|(name, code)| format!("{name} = {code}"))
                    .collect();
                lines.push(format!("codes   {}", excerpt(&codes.join(", "))));
            }
            for (name, value) in &info.attributes {
                lines.push(format!("attr    {name} = {}", attribute(value)));
            }
            lines
        }
        Source::Npy { .. } | Source::Set { .. } => Vec::new(),
    }
}

/// The filters of chunks, behind a comma each.
#[cfg(feature = "hdf5")]
fn filters(info: &dist_io::DatasetInfo) -> String {
    let mut text = String::new();
    for filter in &info.filters {
        text.push_str(", ");
        text.push_str(filter);
        if let ("deflate", Some(level)) = (filter.as_str(), info.deflate) {
            // writing to a string cannot fail
            let _ = write!(text, " {level}");
        }
    }
    text
}

/// The value of an attribute in one line.
#[cfg(feature = "hdf5")]
fn attribute(value: &dist_io::AttributeValue) -> String {
    use dist_io::{AttributeNumbers as N, AttributeValue as A};

    excerpt(&match value {
        A::Text(text) => format!("{text:?}"),
        A::Integer(n) => n.to_string(),
        A::Unsigned(n) => n.to_string(),
        A::Real(n) => n.to_string(),
        A::Single(n) => n.to_string(),
        A::Bool(b) => b.to_string(),
        A::Texts(texts) => format!("{texts:?}"),
        A::Array { shape, values } => {
            let values = match values {
                N::Integer(all) => format!("{all:?}"),
                N::Unsigned(all) => format!("{all:?}"),
                N::Real(all) => format!("{all:?}"),
                N::Single(all) => format!("{all:?}"),
                N::Bool(all) => format!("{all:?}"),
                _ => String::new(),
            };
            format!("{} of {values}", times(shape))
        }
        A::Other(kind) => format!("({kind})"),
        _ => "(of a kind of its own)".to_owned(),
    })
}

/// The beginning of what is long.
#[cfg(feature = "hdf5")]
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 72;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn notes(source: &Source) -> Vec<String> {
    match source {
        Source::Set { set, .. } => set.notes().iter().map(ToString::to_string).collect(),
        #[cfg(feature = "hdf5")]
        Source::Hdf5 { reader, .. } => reader.info().repairs.clone(),
        Source::Npy { .. } => Vec::new(),
    }
}

/// The first global index of a part along each dimension.
fn first(dim_data: &DimData) -> String {
    let limits = dist_maps::MdMap::from_dim_data(dim_data);
    let first = |axis: usize| {
        let limits = limits.as_ref().ok()?.global_limits(axis).ok()??;
        Some(limits.0.get().to_string())
    };
    let all: Option<Vec<String>> = (0..dim_data.ndim()).map(first).collect();
    all.map_or("-".to_owned(), |all| all.join(","))
}

fn rank_table(source: &Source, d: &Distribution, all: bool) -> Result<String, CliError> {
    let shown = if all {
        d.ranks()
    } else {
        d.ranks().min(LISTED)
    };
    let titles = ["rank", "coords", "owns", "stores", "from", "bytes", "file"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for rank in 0..shown {
        let coords = d.coords(rank).map_or("inactive".to_owned(), |coords| {
            let coords: Vec<String> = coords.iter().map(usize::to_string).collect();
            if coords.is_empty() {
                "-".to_owned()
            } else {
                coords.join(",")
            }
        });
        let stored = d.local_shape(rank);
        let bytes = stored.iter().fold(source.element().size(), |n, &extent| {
            n.saturating_mul(extent)
        });
        let mut row = vec![
            rank.to_string(),
            coords,
            times(&d.owned_shape(rank)),
            times(&stored),
            first(&d.dim_data(rank)?),
            bytes.to_string(),
        ];
        if let Source::Set { set, .. } = source
            && let Some((path, _)) = set.part(rank)
        {
            row.push(
                path.file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        rows.push(row);
    }
    if !matches!(source, Source::Set { .. }) {
        rows[0].pop();
    }
    let mut text = table(&rows);
    if shown < d.ranks() {
        let owned = |rank: usize| {
            let extents = d.owned_shape(rank);
            extents
                .iter()
                .fold(1_usize, |n, &extent| n.saturating_mul(extent))
        };
        let rest = || {
            (0..d.ranks())
                .filter(|&rank| d.grid_rank(rank).is_some())
                .map(owned)
        };
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "  and {} more (--all lists them); a rank owns {} to {} elements",
            count(d.ranks() - shown, "rank"),
            rest().min().unwrap_or(0),
            rest().max().unwrap_or(0)
        );
    }
    Ok(text)
}
