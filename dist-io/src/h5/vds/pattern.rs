//! [`Pattern`]: the name of a source as it stands in a file, with the number of a block in it or without.

/// A name in which `%b` stands for the number of a block, and `%%` for `%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// What stands between the numbers: one more than there are of these.
    texts: Vec<Vec<u8>>,
}

impl Pattern {
    /// `None` where a `%` is followed by anything else, which the library refuses.
    pub(super) fn new(name: &[u8]) -> Option<Self> {
        let mut texts = vec![Vec::new()];
        let mut bytes = name.iter();
        while let Some(&byte) = bytes.next() {
            match (byte, texts.last_mut()) {
                (b'%', Some(text)) => match bytes.next() {
                    Some(b'%') => text.push(b'%'),
                    Some(b'b') => texts.push(Vec::new()),
                    _ => return None,
                },
                (_, Some(text)) => text.push(byte),
                (_, None) => {}
            }
        }
        Some(Self { texts })
    }

    /// Whether a number is in it.
    pub(super) fn has_number(&self) -> bool {
        self.texts.len() > 1
    }

    /// The name for the block of a number.
    pub(super) fn name(&self, block: u64) -> Vec<u8> {
        self.texts.join(block.to_string().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_escapes_and_numbers() {
        let name = |name: &[u8]| Pattern::new(name).map(|pattern| pattern.name(12));
        assert_eq!(name(b"a%%b.h5").unwrap(), b"a%b.h5");
        assert_eq!(name(b"plain").unwrap(), b"plain");
        assert_eq!(name(b"run_%b/%b%%.h5").unwrap(), b"run_12/12%.h5");
        for wrong in [&b"a%d.h5"[..], b"%", b"a%%%"] {
            assert_eq!(name(wrong), None);
        }
        assert!(Pattern::new(b"%b").unwrap().has_number());
        assert!(!Pattern::new(b"%%b").unwrap().has_number());
    }
}
