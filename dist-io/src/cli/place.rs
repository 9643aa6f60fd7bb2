//! What an argument names: a file, the parts of a set, a set by its prefix, a dataset.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::error::CliError;

/// One array, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A `.npy` file.
    Npy(PathBuf),
    /// `.dnpy` files, by rank as far as their names say it.
    Parts(Vec<PathBuf>),
    /// A set by its prefix.
    Set(PathBuf),
    /// A dataset of an HDF5 file; without a key the file as a whole.
    Hdf5 { path: PathBuf, key: Option<String> },
    /// A file that is neither by its first bytes nor by its name.
    Unknown(PathBuf),
}

impl Place {
    /// The name for people.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Npy(path)
            | Self::Set(path)
            | Self::Unknown(path)
            | Self::Hdf5 { path, key: None } => path.display().to_string(),
            Self::Hdf5 {
                path,
                key: Some(key),
            } => format!("{}:/{key}", path.display()),
            Self::Parts(paths) => {
                let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
                if paths.len() == 1 {
                    return first.display().to_string();
                }
                let stem = numbered(first).map_or_else(|| first.to_owned(), |(stem, _)| stem);
                format!("{} ({} files)", stem.display(), paths.len())
            }
        }
    }
}

/// The arrays that are to be read, in the order of their first mention. Files `<prefix>_<rank>.dnpy` of one prefix are one
/// array, and so are all `.dnpy` files with other names together.
pub(super) fn inputs(arguments: &[OsString]) -> Vec<Place> {
    let mut places = Vec::new();
    // prefix, and where its files are
    let mut sets: Vec<(Option<PathBuf>, usize)> = Vec::new();
    for argument in arguments {
        let place = input(argument);
        let Place::Parts(mut file) = place else {
            places.push(place);
            continue;
        };
        let stem = file
            .first()
            .and_then(|path| numbered(path))
            .map(|(stem, _)| stem);
        let known = sets.iter().find(|(known, _)| *known == stem);
        if let Some(Place::Parts(files)) = known.map(|&(_, at)| &mut places[at]) {
            files.append(&mut file);
        } else {
            sets.push((stem, places.len()));
            places.push(Place::Parts(file));
        }
    }
    for place in &mut places {
        if let Place::Parts(files) = place {
            // the shell sorts 10 before 2
            files.sort_by_key(|path| numbered(path).map(|(_, rank)| rank));
        }
    }
    places
}

/// The one array that is to be read.
pub(super) fn one_input(arguments: &[OsString]) -> Result<Place, CliError> {
    let mut places = inputs(arguments);
    match (places.pop(), places.is_empty()) {
        (Some(place), true) => Ok(place),
        (last, _) => {
            places.extend(last);
            let names: Vec<String> = places.iter().map(Place::name).collect();
            Err(CliError::SeveralArrays {
                given: names.len(),
                names: names.join(", "),
            })
        }
    }
}

/// Prefix and rank of `<prefix>_<rank>.dnpy`.
fn numbered(path: &Path) -> Option<(PathBuf, usize)> {
    let name = path.file_name()?.as_bytes().strip_suffix(b".dnpy")?;
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let (stem, rank) = name.split_at(name.len() - digits.count());
    let stem = stem.strip_suffix(b"_")?;
    let rank = str::from_utf8(rank).ok()?.parse().ok()?;
    Some((path.with_file_name(OsStr::from_bytes(stem)), rank))
}

fn input(argument: &OsStr) -> Place {
    let path = PathBuf::from(argument);
    if path.is_file() {
        if let Some(prefix) = of_manifest(&path) {
            return Place::Set(prefix);
        }
        return match first_bytes(&path) {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Place::Npy(path),
            [0x93, b'D', b'A', b'R', b'R', b'Y', ..] => Place::Parts(vec![path]),
            [0x89, b'H', b'D', b'F', b'\r', b'\n', 0x1a, b'\n'] => Place::Hdf5 { path, key: None },
            _ => by_name(&path).unwrap_or(Place::Unknown(path)),
        };
    }
    dataset(argument)
        .or_else(|| by_name(&path))
        .unwrap_or(Place::Set(path))
}

/// Zeros where the file is shorter or cannot be read: its reader will say why.
fn first_bytes(path: &Path) -> [u8; 8] {
    let mut bytes = [0; 8];
    if let Ok(mut file) = File::open(path) {
        // whatever it is, it is no signature
        let _ = file.read_exact(&mut bytes);
    }
    bytes
}

/// The prefix of `<prefix>.manifest.json`.
fn of_manifest(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes();
    let stem = name.strip_suffix(b".manifest.json")?;
    Some(path.with_file_name(OsStr::from_bytes(stem)))
}

fn by_name(path: &Path) -> Option<Place> {
    let path = path.to_owned();
    match path.extension()?.to_str()? {
        "npy" => Some(Place::Npy(path)),
        "dnpy" => Some(Place::Parts(vec![path])),
        "h5" | "hdf5" | "he5" | "hdf" | "nc" => Some(Place::Hdf5 { path, key: None }),
        _ => None,
    }
}

/// `FILE:KEY`, where the file is there or is named as HDF5 files are. The file's name need not be text, the key is.
fn dataset(argument: &OsStr) -> Option<Place> {
    let bytes = argument.as_bytes();
    // keys may have colons too
    let mut colons = (0..bytes.len()).filter(|&at| bytes[at] == b':');
    let (path, key) = colons.find_map(|at| {
        let path = PathBuf::from(OsString::from_vec(bytes[..at].to_vec()));
        let named = matches!(by_name(&path), Some(Place::Hdf5 { .. }));
        (named || path.is_file()).then(|| (path, &bytes[at + 1..]))
    })?;
    let key = str::from_utf8(key).ok()?.trim_start_matches('/');
    let key = (!key.is_empty()).then(|| key.to_owned());
    Some(Place::Hdf5 { path, key })
}

/// The datasets that an HDF5 file, or a group of it, holds: what `FILE` and `FILE:GROUP` stand for where several arrays may be
/// named. A key of anything else is returned as it is.
#[cfg(feature = "hdf5")]
pub(super) fn datasets(path: &Path, key: Option<String>) -> Result<Vec<String>, CliError> {
    let Some(key) = key else {
        return Ok(dist_io::datasets_hdf5(path)?);
    };
    let is_group = |error: &dist_io::IoError| {
        matches!(error, dist_io::IoError::Hdf5 { refusal, .. }
            if matches!(&**refusal, dist_io::Refusal::NotADataset { kind } if kind == "group"))
    };
    match dist_io::inspect_hdf5(path, &key) {
        Err(error) if is_group(&error) => {
            let inside = format!("{}/", key.trim_end_matches('/'));
            let mut keys = dist_io::datasets_hdf5(path)?;
            keys.retain(|key| key.starts_with(&inside));
            Ok(if keys.is_empty() { vec![key] } else { keys })
        }
        _ => Ok(vec![key]),
    }
}

/// The dataset that is meant where an HDF5 file is named without a key: the one under `DistArray`'s key, or else the only one.
#[cfg(feature = "hdf5")]
pub(super) fn the_key(path: &Path) -> Result<String, CliError> {
    let mut keys = dist_io::datasets_hdf5(path)?;
    if keys.iter().any(|key| key == dist_io::DEFAULT_KEY) {
        return Ok(dist_io::DEFAULT_KEY.to_owned());
    }
    match (keys.pop(), keys.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            keys.extend(last);
            Err(CliError::WhichDataset {
                path: path.to_owned(),
                keys,
            })
        }
    }
}

/// Where an array is to be written, by its name alone.
pub(super) fn output(argument: &OsStr) -> Result<Place, CliError> {
    let path = PathBuf::from(argument);
    if argument.as_bytes().ends_with(b"/") {
        return Err(CliError::Folder { path });
    }
    match dataset(argument).or_else(|| by_name(&path)) {
        Some(Place::Parts(_)) => Err(CliError::SetName { path }),
        Some(place) => Ok(place),
        None => Ok(Place::Set(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(paths: &[&str]) -> Place {
        Place::Parts(paths.iter().map(PathBuf::from).collect())
    }

    #[test]
    fn files_of_one_prefix_are_one_array_in_the_order_of_ranks() {
        let given = [
            "a/x_10.dnpy",
            "a/x_2.dnpy",
            "w.npy",
            "b/x_0.dnpy",
            "odd.dnpy",
            "even.dnpy",
            "run/part",
        ];
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        assert_eq!(
            inputs(&given),
            [
                parts(&["a/x_2.dnpy", "a/x_10.dnpy"]),
                Place::Npy("w.npy".into()),
                parts(&["b/x_0.dnpy"]),
                parts(&["odd.dnpy", "even.dnpy"]),
                Place::Set("run/part".into()),
            ]
        );
        let e = one_input(&given[..4]).unwrap_err().to_string();
        assert_eq!(
            e,
            "3 arrays are named (a/x (2 files), w.npy, b/x_0.dnpy), allowed: one"
        );
    }

    #[test]
    fn a_colon_separates_file_and_key() {
        let place = |text: &str| output(OsStr::new(text)).unwrap();
        let hdf5 = |key: Option<&str>| Place::Hdf5 {
            path: "all.h5".into(),
            key: key.map(str::to_owned),
        };
        assert_eq!(place("all.h5"), hdf5(None));
        assert_eq!(place("all.h5:"), hdf5(None));
        assert_eq!(place("all.h5:/run/heat"), hdf5(Some("run/heat")));
        assert_eq!(place("all.h5:heat"), hdf5(Some("heat")));
        assert_eq!(place("all.h5:/t=1:2"), hdf5(Some("t=1:2")));
        assert_eq!(place("run/part"), Place::Set("run/part".into()));
        assert_eq!(place("odd:name"), Place::Set("odd:name".into()));
        assert_eq!(place("x.npy"), Place::Npy("x.npy".into()));
        let e = output(OsStr::new("run/part.dnpy")).unwrap_err().to_string();
        assert!(e.ends_with("allowed: run/part"), "{e}");
    }
}
