//! HDF5's filter `shuffle`: first the lowest bytes of all elements, then the next ones, and so on.

/// Shuffles elements of `size` bytes; bytes beyond the last whole element stay at the end.
pub(super) fn shuffle(from: &[u8], size: usize, to: &mut [u8]) {
    let elements = from.len() / size;
    let (whole, rest) = from.split_at(elements * size);
    let (planes, end) = to.split_at_mut(elements * size);
    end.copy_from_slice(rest);
    if elements == 0 {
        return;
    }
    for (byte, plane) in planes.chunks_exact_mut(elements).enumerate() {
        let bytes = whole.iter().skip(byte).step_by(size);
        plane
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
    }
}

/// Undoes [`shuffle`].
pub(super) fn unshuffle(from: &[u8], size: usize, to: &mut [u8]) {
    match size {
        2 => gather::<2>(from, to),
        4 => gather::<4>(from, to),
        8 => gather::<8>(from, to),
        16 => gather::<16>(from, to),
        0 | 1 => to.copy_from_slice(from),
        _ => of_any(from, size, to),
    }
}

/// Records: elements of any size.
fn of_any(from: &[u8], size: usize, to: &mut [u8]) {
    let n = from.len() / size;
    let (planes, rest) = from.split_at(n * size);
    let (elements, end) = to.split_at_mut(n * size);
    end.copy_from_slice(rest);
    if n == 0 {
        return;
    }
    for (byte, plane) in planes.chunks_exact(n).enumerate() {
        let bytes = elements.iter_mut().skip(byte).step_by(size);
        bytes.zip(plane).for_each(|(to, from)| *to = *from);
    }
}

fn gather<const N: usize>(from: &[u8], to: &mut [u8]) {
    let (elements, end) = to.as_chunks_mut::<N>();
    let n = elements.len();
    let (whole, rest) = from.split_at(n * N);
    end.copy_from_slice(rest);
    let planes: [&[u8]; N] = std::array::from_fn(|byte| &whole[byte * n..(byte + 1) * n]);
    for (i, element) in elements.iter_mut().enumerate() {
        *element = std::array::from_fn(|byte| planes[byte][i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_by_significance_and_come_back() {
        let mut shuffled = [0; 7];
        shuffle(&[1, 2, 3, 4, 5, 6, 7], 2, &mut shuffled);
        assert_eq!(shuffled, [1, 3, 5, 2, 4, 6, 7]);
        for size in [1, 2, 3, 4, 8, 16, 34] {
            for len in [0, 1, size, 3 * size + size / 2, 100] {
                let bytes: Vec<u8> = (0..len)
                    .map(|i: usize| (i * 7 + 1).to_le_bytes()[0])
                    .collect();
                let (mut there, mut back) = (vec![0; len], vec![0; len]);
                shuffle(&bytes, size, &mut there);
                unshuffle(&there, size, &mut back);
                assert_eq!(back, bytes, "{len} bytes by {size}");
                if size == 1 {
                    assert_eq!(there, bytes);
                }
            }
        }
    }
}
