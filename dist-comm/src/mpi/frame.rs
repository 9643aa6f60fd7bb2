//! How a message travels: a frame, which says how long it is and where its bytes are.
//!
//! The frame is the one message whose length is not agreed on, and it is short: a receiver has room for any frame, knows
//! the length before it takes the bytes, and so refuses a wrong one without harm.

use super::mailbox::Place;

/// Bytes of a message that travel in the frame itself.
pub(super) const INLINE: usize = 1024;
/// Bytes of a frame before those of the message.
pub(super) const HEAD: usize = 64;

/// Where the bytes of a message are.
#[derive(Clone, Copy)]
pub(super) enum Where {
    /// Behind the head.
    Inline,
    /// In the sender's [mailbox](super::mailbox).
    Mailbox(Place),
    /// In messages of their own, with this tag.
    Apart(u32),
}

/// A frame as it is received, with room for the longest.
#[repr(align(64))]
pub(super) struct Frame(pub(super) [u8; HEAD + INLINE]);

/// The length of the message and where its bytes are.
pub(super) type Said = (u64, Where);

pub(super) fn write_head(head: &mut [u8], (len, at): Said) {
    let (kind, a, b) = match at {
        Where::Inline => (0, 0, 0),
        Where::Mailbox(place) => (1, place.half as u64, place.at as u64),
        Where::Apart(tag) => (2, u64::from(tag), 0),
    };
    for (word, value) in head.chunks_exact_mut(8).zip([len, kind, a, b]) {
        word.copy_from_slice(&value.to_ne_bytes());
    }
}

impl Frame {
    pub(super) const fn empty() -> Self {
        Self([0; HEAD + INLINE])
    }

    /// What a frame of `given` bytes says; nothing when no frame says that.
    pub(super) fn said(&self, given: usize) -> Option<Said> {
        let words: [u64; 4] = std::array::from_fn(|i| {
            let mut word = [0; 8];
            word.copy_from_slice(&self.0[8 * i..8 * i + 8]);
            u64::from_ne_bytes(word)
        });
        let [len, kind, a, b] = words;
        let size = |word: u64| usize::try_from(word).ok();
        let at = match kind {
            0 if size(len)?.checked_add(HEAD)? == given => Where::Inline,
            1 if given == HEAD => Where::Mailbox(Place {
                half: size(a)?,
                at: size(b)?,
            }),
            2 if given == HEAD => Where::Apart(u32::try_from(a).ok()?),
            _ => return None,
        };
        Some((len, at))
    }

    /// The bytes of the message, which are in the frame.
    pub(super) fn inline(&self, len: usize) -> &[u8] {
        &self.0[HEAD..HEAD + len]
    }
}
