//! Memory that may not be had: vectors by checked lengths, and [`Words`], bytes that any element can lie in.

use crate::DataError;

/// An empty vector with room for `len` elements.
pub(crate) fn try_vec<T>(len: u64) -> Result<Vec<T>, DataError> {
    let mut vec = Vec::new();
    reserve(&mut vec, len)?;
    Ok(vec)
}

/// Makes `vec`, whose elements do not matter, have room for `len` elements.
pub(crate) fn reserve<T>(vec: &mut Vec<T>, len: u64) -> Result<(), DataError> {
    let failed = DataError::Allocation {
        bytes: len.saturating_mul(size_of::<T>() as u64),
    };
    let len = usize::try_from(len).map_err(|_| failed.clone())?;
    vec.clear();
    vec.try_reserve_exact(len).map_err(|_| failed)
}

/// Bytes that start at a multiple of 8; made longer when they must be, and kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    words: Vec<u64>,
    len: usize,
}

impl Words {
    /// Makes it `len` bytes; what they are is not specified.
    pub(crate) fn set_len(&mut self, len: usize) -> Result<(), DataError> {
        let words = len.div_ceil(8);
        if self.words.len() < words {
            reserve(&mut self.words, words as u64)?;
            self.words.resize(words, 0);
        }
        self.len = len;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::must_cast_slice(&self.words)[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::must_cast_slice_mut(&mut self.words)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_come_and_go() {
        let mut words = Words::default();
        for len in [0, 1, 8, 9, 3, 64] {
            words.set_len(len).unwrap();
            assert_eq!((words.bytes().len(), words.bytes_mut().len()), (len, len));
            assert_eq!(words.bytes().as_ptr().align_offset(8), 0);
        }
        assert!(words.set_len(usize::MAX / 2).is_err());
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        assert!(try_vec::<u64>(u64::MAX).is_err());
        assert_eq!(try_vec::<u64>(3).unwrap().capacity(), 3);
    }
}
