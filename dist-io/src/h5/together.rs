//! What ranks do together: compare what they were given, and hear what rank 0 found.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dist_comm::{CommExt, Communicator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Refusal;
use crate::IoError;

/// Checks that every rank gave the same, in words, all of which are told at once. Collective. A relative `path` is told as it is from
/// the root: ranks whose working directories differ would not mean one file.
pub(super) fn same(
    comm: &(impl Communicator + ?Sized),
    given: &[(&'static str, &[u8])],
) -> Result<(), IoError> {
    let mut own = Vec::new();
    for &(what, bytes) in given {
        let path = Path::new(OsStr::from_bytes(bytes));
        let from_root = match std::env::current_dir() {
            Ok(here) if matches!(what, "path" | "pattern") && path.is_relative() => {
                Some(here.join(path))
            }
            _ => None,
        };
        let bytes = from_root
            .as_ref()
            .map_or(bytes, |path| path.as_os_str().as_bytes());
        own.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        own.extend_from_slice(bytes);
    }
    let all = comm.all_gather_v(&own)?;
    let Some(rank) = all.iter().position(|other| *other != all[0]) else {
        return Ok(());
    };
    let (first, other) = (texts(&all[0]), texts(&all[rank]));
    let differs = (0..given.len()).find(|&at| first.get(at) != other.get(at));
    let at = differs.unwrap_or(0);
    let text = |all: &[&[u8]]| {
        let bytes = all.get(at).copied().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    Err(IoError::Differ {
        what: given.get(at).map_or("call", |(what, _)| what),
        rank,
        given: text(&other),
        allowed: text(&first),
    })
}

/// The words of one rank.
fn texts(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    while let Some((len, after)) = rest.split_first_chunk() {
        let len = usize::try_from(u64::from_le_bytes(*len)).unwrap_or(usize::MAX);
        let Some((text, after)) = after.split_at_checked(len) else {
            break;
        };
        texts.push(text);
        rest = after;
    }
    texts
}

/// What rank 0 finds, on every rank. Collective.
pub(super) fn by_rank_0<T: Serialize + DeserializeOwned>(
    comm: &(impl Communicator + ?Sized),
    path: &Path,
    key: &str,
    find: impl FnOnce() -> Result<T, Refusal>,
) -> Result<T, IoError> {
    let said = if comm.rank() == 0 {
        serde_json::to_vec(&find()).unwrap_or_default()
    } else {
        Vec::new()
    };
    let said = comm.broadcast_vec(0, said)?;
    let found: Result<T, Refusal> = serde_json::from_slice(&said).unwrap_or_else(|error| {
        Err(Refusal::Os {
            operation: "tell the other ranks".to_owned(),
            message: error.to_string(),
        })
    });
    found.map_err(|refusal| refused(path, key, refusal))
}

/// This rank's own value where no rank refuses; otherwise what the lowest one that does says, on every rank. Collective.
pub(super) fn settle<T>(
    comm: &(impl Communicator + ?Sized),
    path: &Path,
    key: &str,
    outcome: Result<T, Refusal>,
) -> Result<T, IoError> {
    let flags = comm.all_gather_value(u8::from(outcome.is_err()))?;
    let Some(lowest) = flags.iter().position(|&flag| flag != 0) else {
        return outcome.map_err(|refusal| refused(path, key, refusal));
    };
    let own = match &outcome {
        Err(refusal) if comm.rank() == lowest => serde_json::to_vec(refusal).unwrap_or_default(),
        _ => Vec::new(),
    };
    let said = comm.broadcast_vec(lowest, own)?;
    let refusal = serde_json::from_slice(&said).unwrap_or_else(|error| Refusal::Os {
        operation: "tell the other ranks".to_owned(),
        message: error.to_string(),
    });
    Err(refused(path, key, refusal))
}

/// A refusal of a file, as all functions return it.
pub(super) fn refused(path: &Path, key: &str, refusal: Refusal) -> IoError {
    IoError::Hdf5 {
        path: path.to_owned(),
        key: key.to_owned(),
        refusal: Box::new(refusal),
    }
}

/// What is wrong by an error of one process.
pub(super) fn refusal(error: IoError) -> Refusal {
    match error {
        IoError::Hdf5 { refusal, .. } => *refusal,
        IoError::Memory { bytes } => Refusal::Memory {
            bytes: bytes as u64,
        },
        other => Refusal::Os {
            operation: "read".to_owned(),
            message: other.to_string(),
        },
    }
}

/// The names that a key consists of.
pub(super) fn names(key: &str) -> Result<Vec<&str>, Refusal> {
    let names: Vec<&str> = key.strip_prefix('/').unwrap_or(key).split('/').collect();
    let wrong = |name: &&str| name.is_empty() || *name == "." || name.contains('\0');
    if names.iter().any(wrong) {
        return Err(Refusal::Key {
            given: key.to_owned(),
        });
    }
    Ok(names)
}

/// Whether a path is that of a regular file; `None` where there is nothing.
pub(super) fn is_regular(path: &Path) -> Result<Option<fs::Metadata>, Refusal> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Some(meta)),
        Ok(_) => Err(Refusal::NotAFile),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Refusal::os("look at the file")(error)),
    }
}

#[cfg(test)]
mod tests {
    use dist_comm::ThreadComm;

    use super::*;

    #[test]
    fn what_one_rank_refuses_all_do() {
        let outcomes = ThreadComm::run(4, |comm| {
            let own = match comm.rank() {
                0 => Ok(0),
                1 => Err(Refusal::Memory { bytes: 7 }),
                2 => Err(Refusal::NotFound),
                rank => Ok(rank),
            };
            let all = settle(comm, Path::new("a.h5"), "key", own);
            let good = settle(comm, Path::new("a.h5"), "key", Ok(comm.rank()));
            Ok::<_, IoError>((all, good?))
        });
        for (rank, (all, good)) in outcomes.unwrap().into_iter().enumerate() {
            assert_eq!(good, rank);
            assert_eq!(
                all.unwrap_err().to_string(),
                "a.h5:/key: no memory for 7 bytes"
            );
        }
    }

    #[test]
    fn the_first_word_that_differs_is_named() {
        let outcomes = ThreadComm::run(3, |comm| {
            let key = if comm.rank() == 2 { "ab" } else { "a" };
            let text = comm.rank().to_string();
            let given = [("path", &b"p"[..]), ("key", key.as_bytes())];
            same(comm, &given[..1])?;
            // an absolute path stays as it is
            let path = if comm.rank() == 1 { "/p" } else { "/q" };
            let path = same(comm, &[("path", path.as_bytes())]).unwrap_err();
            assert_eq!(
                path.to_string(),
                "rank 1 gives another path than rank 0: /p, not /q"
            );
            let key = same(comm, &given).unwrap_err();
            let kind = same(comm, &[("kind", text.as_bytes()), given[1]]).unwrap_err();
            Ok::<_, IoError>((key.to_string(), kind.to_string()))
        });
        for (key, kind) in outcomes.unwrap() {
            assert_eq!(key, "rank 2 gives another key than rank 0: ab, not a");
            assert_eq!(kind, "rank 1 gives another kind than rank 0: 1, not 0");
        }
    }

    #[test]
    fn keys_are_names() {
        assert_eq!(names("a").unwrap(), ["a"]);
        assert_eq!(names("/a/b c").unwrap(), ["a", "b c"]);
        for wrong in ["", "/", "a/", "a//b", "./a", "a\0b"] {
            assert!(
                matches!(names(wrong), Err(Refusal::Key { .. })),
                "{wrong:?}"
            );
        }
    }
}
