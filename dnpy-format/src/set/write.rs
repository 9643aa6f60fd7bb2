//! [`SetWriter`]: saving a set.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use dap_protocol::{DistributedArray, HostBuffer};
use sha2::{Digest, Sha256};

use super::Set;
#[cfg(doc)]
use super::SetError;
use super::manifest::{Manifest, PartRecord};
use super::names::Prefix;
use crate::save::{behind_links, commit, publish, sync_directory, temporary};
use crate::{DnpyError, SaveId, WriteOptions, write_localarray_with};

/// One save of a set, the same on every rank. See the [module](super) for the order of steps.
#[derive(Clone, Debug)]
pub struct SetWriter {
    prefix: std::path::PathBuf,
    save: SaveId,
    plain_names: bool,
    options: WriteOptions,
}

impl SetWriter {
    /// A save under the names that begin with `prefix`: a directory and the beginning of a file
    /// name, as in `run/part`.
    #[must_use]
    pub fn new(prefix: impl AsRef<Path>, save: SaveId) -> Self {
        Self {
            prefix: prefix.as_ref().to_path_buf(),
            save,
            plain_names: false,
            options: WriteOptions::default(),
        }
    }

    /// The same under `DistArray`'s names, `<prefix>_<rank>.dnpy`. A killed save then leaves a
    /// mixture, which is refused when it is opened.
    #[must_use]
    pub fn plain_names(mut self) -> Self {
        self.plain_names = true;
        self
    }

    /// The same with options for each part.
    #[must_use]
    pub fn options(mut self, options: WriteOptions) -> Self {
        self.options = options;
        self
    }

    /// The id of this save.
    #[must_use]
    pub fn save(&self) -> SaveId {
        self.save
    }

    /// Saves one rank's part, durably. Local; ranks may do it at the same time.
    ///
    /// # Errors
    /// As [`save`](crate::save), and [`SetError::Prefix`].
    pub fn save_part<'a, A>(&self, rank: usize, array: &'a A) -> Result<PartRecord, DnpyError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let prefix = Prefix::new(&self.prefix)?;
        let name = if self.plain_names {
            prefix.plain(rank)
        } else {
            prefix.of_save(self.save, rank)
        };
        let path = prefix.path(&name);
        let target = behind_links(&path)?;
        let mut file = temporary(&target)?;
        if self.plain_names {
            mark(&prefix, self.save)?;
        }
        let mut hashing = Hashing::new(file.as_file_mut());
        write_localarray_with(&mut hashing, &array.distarray(), self.options)
            .map_err(|e| e.in_file(&path))?;
        let (bytes, sha256) = hashing.finish();
        commit(file, &target)?;
        Ok(PartRecord::new(rank, name, bytes, sha256))
    }

    /// Publishes the save: the set is the old one before, the new one after. One rank, when all
    /// have saved their parts and given it their records.
    ///
    /// The headers of all parts are read and checked as a whole first. Then the manifest is
    /// renamed into place, and the parts of other saves are removed. Two saves of one set at the
    /// same time are not supported: the one published last would remove the other's parts.
    ///
    /// # Errors
    /// [`SetError`] when the records are not those of all ranks of this save or the parts make no
    /// array: the old set is then whole. [`DnpyError::Io`] when an old part could not be removed:
    /// the new set is then published.
    pub fn publish(&self, records: &[PartRecord]) -> Result<(), DnpyError> {
        let prefix = Prefix::new(&self.prefix)?;
        let manifest = Manifest::new(self.save, self.plain_names, records)?;
        manifest.check_names(&prefix)?;
        Set::of_manifest(&prefix, manifest.clone(), false)?;
        let path = prefix.manifest();
        let before = super::open::manifest_of(&prefix)?;
        publish(&path, |file| {
            file.write_all(&manifest.to_text())
                .map_err(DnpyError::stream("write"))
        })?;
        remove_others(&prefix, &manifest, before.as_ref())
    }
}

/// Lays down the marker where no manifest could tell old plain parts from new ones.
fn mark(prefix: &Prefix, save: SaveId) -> Result<(), DnpyError> {
    if prefix.manifest().exists() {
        return Ok(());
    }
    publish(&prefix.marker(), |file| {
        writeln!(file, "{save}").map_err(DnpyError::stream("write"))
    })
}

fn remove(path: &Path) -> Result<(), DnpyError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(DnpyError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Removes the parts of other saves.
fn remove_others(
    prefix: &Prefix,
    manifest: &Manifest,
    before: Option<&Manifest>,
) -> Result<(), DnpyError> {
    let mut names = prefix.of_other_saves(manifest.save())?;
    if let Some(before) = before {
        names.extend(before.parts().iter().map(|part| part.file().to_owned()));
    }
    names.retain(|name| manifest.parts().iter().all(|part| part.file() != name));
    names.sort_unstable();
    names.dedup();
    for name in names {
        remove(&prefix.path(&name))?;
    }
    remove(&prefix.marker())?;
    sync_directory(&prefix.manifest())
}

/// A writer that counts and hashes what it passes on.
struct Hashing<W> {
    inner: W,
    bytes: u64,
    hash: Sha256,
}

impl<W: Write> Hashing<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            bytes: 0,
            hash: Sha256::new(),
        }
    }

    fn finish(self) -> (u64, String) {
        (self.bytes, hex(&self.hash.finalize()))
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        // piecewise, so that what is hashed is still in the cache when it is written
        let n = self.inner.write(&buf[..buf.len().min(1 << 20)])?;
        self.hash.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = |b: &u8| [b >> 4, b & 15].map(|d| char::from_digit(d.into(), 16).unwrap_or('0'));
    bytes.iter().flat_map(digits).collect()
}

/// SHA-256 of a file, from where it stands to its end.
pub(super) fn hash_file(mut file: &fs::File) -> Result<String, DnpyError> {
    let mut hash = Sha256::new();
    let mut buf = vec![0; 1 << 20];
    loop {
        match file.read(&mut buf) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n) => hash.update(&buf[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(DnpyError::stream("read")(e)),
        }
    }
}
