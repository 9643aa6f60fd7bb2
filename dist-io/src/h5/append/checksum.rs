//! The checksum of metadata in HDF5 files.

/// The checksum of metadata: Bob Jenkins' `lookup3`, with 0 to begin with.
pub(in crate::h5) fn checksum(bytes: &[u8]) -> u32 {
    // the length is taken modulo 2³²
    #[expect(clippy::cast_possible_truncation, reason = "so it is defined")]
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let words = |bytes: &[u8]| {
        let mut padded = [0; 12];
        padded[..bytes.len()].copy_from_slice(bytes);
        let word = |at: usize| {
            u32::from_le_bytes([padded[at], padded[at + 1], padded[at + 2], padded[at + 3]])
        };
        [word(0), word(4), word(8)]
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        let [x, y, z] = words(&rest[..12]);
        (a, b, c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    let [x, y, z] = words(rest);
    (a, b, c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_lookup3() {
        // the values that its author gives for the start 0
        assert_eq!(checksum(b""), 0xdead_beef);
        assert_eq!(checksum(b"Four score and seven years ago"), 0x1777_0551);
    }
}
