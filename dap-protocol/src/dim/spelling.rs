//! [`Spelling`]: which optional keys a dictionary that was read had, so that it can be written alike.

/// A set of choices that change the text of a dictionary and not its meaning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spelling(u8);

impl Spelling {
    /// The empty dictionary `{}` for a dimension that is not distributed.
    pub(crate) const EMPTY: u8 = 1;
    /// `padding` written though there is none.
    pub(crate) const PADDING: u8 = 2;
    /// `periodic` written though false.
    pub(crate) const PERIODIC: u8 = 4;
    /// `block_size` written though 1.
    pub(crate) const BLOCK_SIZE: u8 = 8;
    /// `one_to_one` written though false.
    pub(crate) const ONE_TO_ONE: u8 = 16;
    /// `indices` as a list, not a tuple.
    pub(crate) const INDEX_LIST: u8 = 32;

    pub(crate) fn set(&mut self, choice: u8) {
        self.0 |= choice;
    }

    pub(crate) fn has(self, choice: u8) -> bool {
        self.0 & choice != 0
    }
}
