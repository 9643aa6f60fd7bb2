//! [`WriteMode`]: what becomes of a file that is there.

use std::fmt;
use std::str::FromStr;

/// What becomes of a file that is there. The letters are those of h5py and of `DistArray`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WriteMode {
    /// `w`: the file is replaced.
    Replace,
    /// `w-`: a file that is there is an error.
    CreateNew,
    /// `a`: the dataset is added to the file; without one, it is made. The default, as `DistArray` has it.
    ///
    /// The dataset is added to a copy, which then replaces the file: this takes as long, and as much room, as copying the file
    /// does, and an interrupted save leaves the file as it was. Saves of one file wait for each other; where another program has it
    /// open to write it, or has written to it before the save is done, the save is refused.
    #[default]
    Append,
}

impl WriteMode {
    const ALL: [Self; 3] = [Self::Replace, Self::CreateNew, Self::Append];

    /// The mode's letters.
    #[must_use]
    pub const fn letters(self) -> &'static str {
        match self {
            Self::Replace => "w",
            Self::CreateNew => "w-",
            Self::Append => "a",
        }
    }
}

impl fmt::Display for WriteMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letters())
    }
}

impl FromStr for WriteMode {
    type Err = ParseWriteModeError;

    fn from_str(text: &str) -> Result<Self, ParseWriteModeError> {
        let mode = Self::ALL.into_iter().find(|mode| mode.letters() == text);
        mode.ok_or_else(|| ParseWriteModeError {
            given: text.to_owned(),
        })
    }
}

/// A mode of another name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mode {given:?}, allowed: \"w\", \"w-\", \"a\"")]
pub struct ParseWriteModeError {
    /// What was given.
    pub given: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back() {
        for mode in WriteMode::ALL {
            assert_eq!(mode.letters().parse(), Ok(mode));
        }
        let error = "r+".parse::<WriteMode>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the mode \"r+\", allowed: \"w\", \"w-\", \"a\""
        );
    }
}
