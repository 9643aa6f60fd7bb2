//! The checksum of HDF5's filter `fletcher32`: HDF5 File Format Specification, appendix on checksums, as the library computes it.

/// The checksum of these bytes, taken as 16-bit words with the high byte first; an odd byte is the high one of a last word.
pub(super) fn fletcher32(bytes: &[u8]) -> u32 {
    let (words, odd) = bytes.as_chunks::<2>();
    let (mut low, mut high) = (0_u32, 0_u32);
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    // as many words as 32 bits have room for
    for block in words.chunks(360) {
        for &word in block {
            low += u32::from(u16::from_be_bytes(word));
            high += low;
        }
        (low, high) = (fold(low), fold(high));
    }
    if let [byte] = *odd {
        low += u32::from(byte) << 8;
        high += low;
        (low, high) = (fold(low), fold(high));
    }
    (fold(high) << 16) | fold(low)
}

/// The same checksum as releases before 1.6.3 stored it: bytes swapped within its halves.
pub(super) fn swapped(sum: u32) -> u32 {
    ((sum & 0x00ff_00ff) << 8) | ((sum >> 8) & 0x00ff_00ff)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition: sums of words modulo 65535, with 65535 in place of 0 once a word was not 0.
    fn slow(bytes: &[u8]) -> u32 {
        let (mut low, mut high) = (0_u64, 0_u64);
        for pair in bytes.chunks(2) {
            low += u64::from(pair[0]) * 256 + pair.get(1).map_or(0, |&byte| u64::from(byte));
            high += low;
        }
        let reduced = |sum: u64| if sum == 0 { 0 } else { (sum - 1) % 65535 + 1 };
        u32::try_from((reduced(high) << 16) | reduced(low)).unwrap()
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        assert_eq!(fletcher32(&[]), 0);
        assert_eq!(fletcher32(&[0; 7]), 0);
        assert_eq!(fletcher32(&[1]), 0x0100_0100);
        assert_eq!(fletcher32(&[1, 2, 3, 4]), 0x0508_0406);
        assert_eq!(fletcher32(&[0xff; 2]), 0xffff_ffff);
        for len in [2, 719, 720, 721, 5000] {
            let bytes: Vec<u8> = (0..len).map(|i: u32| (i * 251).to_le_bytes()[0]).collect();
            assert_eq!(fletcher32(&bytes), slow(&bytes), "{len}");
            assert_eq!(
                fletcher32(&vec![0xff; bytes.len()]),
                slow(&vec![0xff; bytes.len()])
            );
        }
        assert_eq!(swapped(0x0102_0304), 0x0201_0403);
    }
}
