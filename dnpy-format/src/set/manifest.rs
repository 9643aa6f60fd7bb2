//! [`Manifest`]: which files are the set, in JSON.

use std::io::Read;

use serde::{Deserialize, Serialize};

use super::SetError;
use super::names::Prefix;
use crate::SaveId;

/// What `format` says in every manifest.
const FORMAT: &str = "dnpy-set";
/// The version that is read and written.
const VERSION: u32 = 1;

/// One part as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartRecord {
    rank: usize,
    file: String,
    bytes: u64,
    sha256: String,
}

impl PartRecord {
    pub(super) fn new(rank: usize, file: String, bytes: u64, sha256: String) -> Self {
        Self {
            rank,
            file,
            bytes,
            sha256,
        }
    }

    /// The rank that wrote it.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Its file name, without a directory.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The length of the file, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of the whole file, in lower-case hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The record as bytes, to be sent to the rank that publishes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // strings and numbers: nothing in it that JSON could refuse
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The record of such bytes.
    ///
    /// # Errors
    /// [`SetError::Records`] when they are none; the rank in it is then 0.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SetError> {
        serde_json::from_slice(bytes).map_err(|_| SetError::Records {
            rank: 0,
            reason: "these bytes are no record",
        })
    }
}

/// A published save: its id and its parts in rank order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    save: SaveId,
    plain_names: bool,
    parts: Vec<PartRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    format: String,
    version: u32,
    save: String,
    plain_names: bool,
    parts: Vec<PartRecord>,
}

impl Manifest {
    /// A manifest of the records of all ranks, in any order.
    pub(super) fn new(
        save: SaveId,
        plain_names: bool,
        records: &[PartRecord],
    ) -> Result<Self, SetError> {
        let mut parts = records.to_vec();
        parts.sort_by_key(PartRecord::rank);
        let manifest = Self {
            save,
            plain_names,
            parts,
        };
        manifest.check()?;
        Ok(manifest)
    }

    /// The id of the save.
    #[must_use]
    pub fn save(&self) -> SaveId {
        self.save
    }

    /// Whether the parts have `DistArray`'s names.
    #[must_use]
    pub fn has_plain_names(&self) -> bool {
        self.plain_names
    }

    /// The parts, by rank.
    #[must_use]
    pub fn parts(&self) -> &[PartRecord] {
        &self.parts
    }

    fn check(&self) -> Result<(), SetError> {
        let wrong = |rank, reason| Err(SetError::Records { rank, reason });
        if self.parts.is_empty() {
            return wrong(0, "there is no part");
        }
        for (rank, part) in self.parts.iter().enumerate() {
            if part.rank != rank {
                return wrong(
                    rank,
                    "its part is missing, or another rank's is there twice",
                );
            }
            let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            if part.sha256.len() != 64 || !part.sha256.bytes().all(hex) {
                return wrong(rank, "sha256 is not 64 lower-case hexadecimal digits");
            }
        }
        Ok(())
    }

    /// Refuses files that have another name than their rank's. Old parts are removed by the names
    /// in their manifest: no other file may be named there.
    pub(super) fn check_names(&self, prefix: &Prefix) -> Result<(), SetError> {
        for part in &self.parts {
            let expected = if self.plain_names {
                prefix.plain(part.rank)
            } else {
                prefix.of_save(self.save, part.rank)
            };
            if part.file != expected {
                return Err(SetError::FileName {
                    rank: part.rank,
                    given: crate::error::excerpt(&part.file),
                    expected,
                });
            }
        }
        Ok(())
    }

    pub(super) fn to_text(&self) -> Vec<u8> {
        let text = Text {
            format: FORMAT.to_owned(),
            version: VERSION,
            save: self.save.to_string(),
            plain_names: self.plain_names,
            parts: self.parts.clone(),
        };
        // strings and numbers: nothing in it that JSON could refuse
        let mut bytes = serde_json::to_vec_pretty(&text).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads no further than to the first byte that is wrong.
    pub(super) fn from_reader(prefix: &Prefix, reader: impl Read) -> Result<Self, SetError> {
        let path = prefix.manifest();
        let refuse = |reason| SetError::Manifest {
            path: path.clone(),
            reason,
        };
        let text: Text = serde_json::from_reader(reader).map_err(|e| refuse(e.to_string()))?;
        if text.format != FORMAT || text.version != VERSION {
            let allowed = format!("allowed: format \"{FORMAT}\", version {VERSION}");
            let given = crate::error::excerpt(&text.format);
            return Err(refuse(format!(
                "format is {given:?}, version {}, {allowed}",
                text.version
            )));
        }
        let manifest = Self {
            save: text
                .save
                .parse()
                .map_err(|e| refuse(format!("save: {e}")))?,
            plain_names: text.plain_names,
            parts: text.parts,
        };
        manifest
            .check()
            .and_then(|()| manifest.check_names(prefix))
            .map_err(|e| refuse(e.to_string()))?;
        Ok(manifest)
    }
}
