//! The filter `lzf` that h5py writes (registered number 32000): decoding.
//!
//! A control byte below 32 is followed by that many literal bytes, and one more. Any other holds in its upper three bits a length
//! (7: a byte with more follows) and in its lower five the upper bits of a distance, whose lower byte follows: that many bytes,
//! and two more, are copied from that far back, and one byte more.

/// Decodes into `to`, which is as long as what comes out; `None` where these bytes are no such stream, or one of another length.
pub(super) fn decode(from: &[u8], to: &mut [u8]) -> Option<()> {
    let mut bytes = from.iter().copied();
    let mut at = 0;
    while let Some(control) = bytes.next() {
        let control = usize::from(control);
        if control < 32 {
            for _ in 0..=control {
                *to.get_mut(at)? = bytes.next()?;
                at += 1;
            }
        } else {
            let mut len = control >> 5;
            if len == 7 {
                len += usize::from(bytes.next()?);
            }
            let back = ((control & 31) << 8) + usize::from(bytes.next()?) + 1;
            let start = at.checked_sub(back)?;
            // what is copied may be what was just written
            for i in 0..len + 2 {
                *to.get_mut(at)? = to[start + i];
                at += 1;
            }
        }
    }
    (at == to.len()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_repeats() {
        let mut to = [0; 7];
        // 1 2 3 as they are, then 4 bytes from 2 back: 2 3 2 3
        assert_eq!(decode(&[2, 1, 2, 3, 0x40, 1], &mut to), Some(()));
        assert_eq!(to, [1, 2, 3, 2, 3, 2, 3]);
        let mut long = [0; 1 + 7 + 10 + 2];
        assert_eq!(decode(&[0, 9, 0xe0, 10, 0], &mut long), Some(()));
        assert_eq!(long, [9; 20]);
        assert_eq!(decode(&[], &mut []), Some(()));
        for (wrong, why) in [
            (&[2, 1, 2][..], "literals are missing"),
            (&[0, 1, 0x40], "a distance is missing"),
            (&[0, 1, 0xe0], "a length is missing"),
            (&[0, 1, 0x40, 5], "a distance leads before the start"),
            (&[0, 1], "too short"),
            (&[7, 1, 2, 3, 4, 5, 6, 7, 8], "too long"),
            (&[0, 1, 0xe0, 0, 0], "a repeat is too long"),
        ] {
            assert_eq!(decode(wrong, &mut [0; 7]), None, "{why}");
        }
    }
}
