//! How a message travels: a frame, which says how long it is and where its bytes are.
//!
//! The frame is the one message whose length is not agreed on, and it is short: a receiver has room for any frame, knows
//! the length before it takes the bytes, and so refuses a wrong one without harm.

use super::mailbox::Place;
use crate::MAX_TAG;

/// Bytes of a message that travel in the frame itself.
pub(super) const INLINE: usize = 1024;
/// Bytes of a frame before those of the message.
pub(super) const HEAD: usize = 64;

/// Where the bytes of a message are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Behind the head.
    Inline,
    /// In the sender's [mailbox](super::mailbox).
    Mailbox(Place),
    /// In messages of their own, with this tag.
    Apart(u32),
}

/// What a frame says of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the message.
    pub(super) len: u64,
    pub(super) at: Where,
}

/// What no sender of ours says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) what: &'static str,
    pub(super) given: u64,
    pub(super) allowed: u64,
}

impl Flaw {
    pub(super) fn check(
        what: &'static str,
        given: u64,
        allowed: u64,
        is_right: bool,
    ) -> Result<(), Self> {
        let flaw = Self {
            what,
            given,
            allowed,
        };
        if is_right { Ok(()) } else { Err(flaw) }
    }
}

impl Head {
    /// Writes the head to the start of a frame, which holds [`HEAD`] bytes at least.
    pub(super) fn write(self, frame: &mut [u8]) {
        let (kind, a, b) = match self.at {
            Where::Inline => (0, 0, 0),
            Where::Mailbox(place) => (1, place.half as u64, place.at as u64),
            Where::Apart(tag) => (2, u64::from(tag), 0),
        };
        for (word, value) in frame.chunks_exact_mut(8).zip([self.len, kind, a, b]) {
            word.copy_from_slice(&value.to_ne_bytes());
        }
    }
}

/// A frame as it is received, with room for the longest.
#[repr(align(64))]
pub(super) struct Frame(pub(super) [u8; HEAD + INLINE]);

impl Frame {
    pub(super) const fn empty() -> Self {
        Self([0; HEAD + INLINE])
    }

    /// What a frame of `given` bytes says.
    pub(super) fn head(&self, given: usize) -> Result<Head, Flaw> {
        let [len, kind, a, b]: [u64; 4] = std::array::from_fn(|i| {
            let mut word = [0; 8];
            word.copy_from_slice(&self.0[8 * i..8 * i + 8]);
            u64::from_ne_bytes(word)
        });
        Flaw::check("a kind of frame of", kind, 2, kind <= 2)?;
        let size = |word: u64| usize::try_from(word).unwrap_or(usize::MAX);
        let (at, inline) = match kind {
            0 => (Where::Inline, len),
            1 => {
                let (half, at) = (size(a), size(b));
                (Where::Mailbox(Place { half, at }), 0)
            }
            _ => {
                let tag = u32::try_from(a).unwrap_or(u32::MAX);
                Flaw::check("a tag of", a, MAX_TAG.into(), tag <= MAX_TAG)?;
                (Where::Apart(tag), 0)
            }
        };
        let most = INLINE as u64;
        Flaw::check("a length in the frame of", inline, most, inline <= most)?;
        let (given, whole) = (given as u64, HEAD as u64 + inline);
        Flaw::check("a frame length in bytes of", given, whole, given == whole)?;
        Ok(Head { len, at })
    }

    /// The bytes of the message, which are in the frame, as its head says.
    pub(super) fn inline(&self, len: usize) -> &[u8] {
        &self.0[HEAD..HEAD + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(len: u64, at: Where) -> Frame {
        let mut frame = Frame::empty();
        Head { len, at }.write(&mut frame.0);
        frame
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let place = Place { half: 1, at: 4096 };
        for (len, at, given) in [
            (0, Where::Inline, HEAD),
            (1024, Where::Inline, HEAD + INLINE),
            (u64::MAX, Where::Mailbox(place), HEAD),
            (5_000, Where::Apart(MAX_TAG), HEAD),
        ] {
            assert_eq!(frame(len, at).head(given), Ok(Head { len, at }));
        }
        let mut bytes = frame(3, Where::Inline);
        bytes.0[HEAD..HEAD + 3].copy_from_slice(b"abc");
        assert_eq!(bytes.inline(3), b"abc");
    }

    #[test]
    fn what_no_sender_says_is_refused() {
        let flaw = |what, given, allowed| {
            Err(Flaw {
                what,
                given,
                allowed,
            })
        };
        let length = "a frame length in bytes of";
        assert_eq!(frame(8, Where::Inline).head(HEAD + 7), flaw(length, 71, 72));
        assert_eq!(
            frame(8, Where::Apart(1)).head(HEAD + 8),
            flaw(length, 72, 64)
        );
        // Shorter than any head: whatever is there was said by an earlier frame.
        assert_eq!(frame(0, Where::Inline).head(10), flaw(length, 10, 64));
        assert_eq!(
            frame(1025, Where::Inline).head(HEAD + 1025),
            flaw("a length in the frame of", 1025, 1024)
        );
        assert_eq!(
            frame(u64::MAX, Where::Inline).head(HEAD - 1),
            flaw("a length in the frame of", u64::MAX, 1024)
        );
        assert_eq!(
            frame(8, Where::Apart(MAX_TAG + 1)).head(HEAD),
            flaw("a tag of", 32_768, 32_767)
        );
        let mut unknown = frame(8, Where::Inline);
        unknown.0[8..16].copy_from_slice(&3u64.to_ne_bytes());
        assert_eq!(unknown.head(HEAD + 8), flaw("a kind of frame of", 3, 2));
    }
}
