//! [`Identity`]: which file this is, and in which state.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Which file something was found in. Two that are equal are one file that nobody has written to in between.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "hdf5", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Identity {
    /// As this process has it, and not told to others: on a network file system every machine has another number.
    #[cfg_attr(feature = "hdf5", serde(skip))]
    device: Option<u64>,
    inode: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Identity {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            device: Some(meta.dev()),
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        }
    }

    /// Whether both are one file, whatever was written to it in between.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        let devices = self.device.zip(other.device);
        self.inode == other.inode && devices.is_none_or(|(own, other)| own == other)
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_file(other) && (self.len, self.modified) == (other.len, other.modified)
    }
}

#[cfg(all(test, feature = "hdf5"))]
mod tests {
    use super::*;

    #[test]
    fn another_machine_has_another_device_number() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let here = Identity::of(&file.as_file().metadata().unwrap());
        let device = Some(here.device.unwrap() + 1);
        let elsewhere = Identity { device, ..here };
        // two files of one machine, and one file as another machine was told of it
        assert!(here != elsewhere && !here.is_same_file(&elsewhere));
        let told = serde_json::to_string(&here).unwrap();
        let told: Identity = serde_json::from_str(&told).unwrap();
        for seen in [here, elsewhere] {
            assert_eq!((told, seen), (seen, told));
            assert!(seen.is_same_file(&told));
        }
        let (seconds, nanoseconds) = here.modified;
        let modified = (seconds, nanoseconds + 1);
        let longer = Identity {
            len: 1,
            ..elsewhere
        };
        let later = Identity {
            modified,
            ..elsewhere
        };
        for other in [longer, later] {
            assert!(told != other && told.is_same_file(&other), "{other:?}");
        }
        let inode = here.inode + 1;
        assert!(!told.is_same_file(&Identity { inode, ..elsewhere }));
    }
}
