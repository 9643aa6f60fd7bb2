//! What each rank says it wants when the ranks meet, and the check that they want the same.

use crate::{CommError, Operation};

/// The arguments of a collective call, as far as the ranks have to agree on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    /// The root, or a second number that must be equal on all ranks (the element size of a reduction); else 0.
    pub(crate) root: u64,
    /// The length of the buffer, or how many there are.
    pub(crate) len: u64,
    /// The length of the second buffer (`all_gather`), or which window is meant.
    pub(crate) extra: u64,
}

impl Call {
    pub(crate) fn new(operation: Operation) -> Self {
        Self {
            operation,
            root: 0,
            len: 0,
            extra: 0,
        }
    }

    pub(crate) fn root(self, root: usize) -> Self {
        Self {
            root: root as u64,
            ..self
        }
    }

    pub(crate) fn len(self, len: usize) -> Self {
        Self {
            len: len as u64,
            ..self
        }
    }

    pub(crate) fn extra(self, extra: usize) -> Self {
        Self {
            extra: extra as u64,
            ..self
        }
    }
}

/// Checks the calls of all ranks, by rank. Every rank checks the same list, so every rank comes to the same error.
pub(crate) fn check(
    calls: &(impl ExactSizeIterator<Item = Call> + Clone),
) -> Result<(), CommError> {
    let size = calls.len();
    let Some(first) = calls.clone().next() else {
        return Ok(());
    };
    let operation = first.operation;
    let odd_one =
        |is_odd: &dyn Fn(&Call) -> bool| calls.clone().enumerate().find(|(_, call)| is_odd(call));
    if let Some((rank, call)) = odd_one(&|call| call.operation != operation) {
        return Err(CommError::Mismatch {
            first: operation,
            rank,
            other: call.operation,
        });
    }
    let differing = |rank, what, given, allowed| {
        Err(CommError::Length {
            operation,
            rank,
            what,
            given,
            allowed,
        })
    };
    match operation {
        Operation::Broadcast | Operation::GatherV => {
            if let Some((rank, call)) = odd_one(&|call| call.root != first.root) {
                return Err(CommError::Root {
                    operation,
                    rank,
                    given: call.root,
                    allowed: first.root,
                });
            }
            if first.root >= size as u64 {
                let given = usize::try_from(first.root).unwrap_or(usize::MAX);
                return Err(CommError::RankOutOfRange {
                    operation,
                    given,
                    size,
                });
            }
        }
        Operation::AllReduce => {
            if let Some((rank, call)) = odd_one(&|call| call.root != first.root) {
                return differing(rank, "an element size in bytes of", call.root, first.root);
            }
        }
        _ => {}
    }
    if matches!(
        operation,
        Operation::Broadcast | Operation::AllGather | Operation::AllReduce
    ) && let Some((rank, call)) = odd_one(&|call| call.len != first.len)
    {
        return differing(rank, "a length in bytes of", call.len, first.len);
    }
    if operation == Operation::AllReduce
        && first.len != 0
        && (first.root == 0 || first.len % first.root != 0)
    {
        return differing(0, "an element size in bytes of", first.root, first.len);
    }
    if operation == Operation::AllGather {
        let whole = first.len.saturating_mul(size as u64);
        if let Some((rank, call)) = odd_one(&|call| call.extra != whole) {
            return differing(rank, "room in bytes of", call.extra, whole);
        }
    }
    if matches!(operation, Operation::WithLocal | Operation::Fence)
        && let Some((rank, call)) = odd_one(&|call| call.extra != first.extra)
    {
        return differing(rank, "the window numbered", call.extra, first.extra);
    }
    if operation == Operation::AllToAllV
        && let Some((rank, call)) = odd_one(&|call| call.len != size as u64)
    {
        return differing(rank, "a number of parts of", call.len, size as u64);
    }
    Ok(())
}

/// The ranks of each group of a split, ordered by key and then by rank; groups in order of colour.
pub(crate) fn groups(wishes: &[(Option<u32>, i64)]) -> Vec<(u32, Vec<usize>)> {
    let mut sorted: Vec<_> = wishes
        .iter()
        .enumerate()
        .filter_map(|(rank, &(color, key))| color.map(|color| (color, key, rank)))
        .collect();
    sorted.sort_unstable();
    sorted
        .chunk_by(|a, b| a.0 == b.0)
        .map(|chunk| (chunk[0].0, chunk.iter().map(|&(_, _, rank)| rank).collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_calls_are_named() {
        let calls = [
            Call::new(Operation::Barrier),
            Call::new(Operation::Barrier),
            Call::new(Operation::Lend),
        ];
        let error = check(&calls.into_iter()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "collective calls differ: rank 0 is in barrier, rank 2 is in lend"
        );
    }

    #[test]
    fn roots_and_lengths_are_compared() {
        let call = |root, len| Call::new(Operation::Broadcast).root(root).len(len);
        assert!(check(&[call(1, 8), call(1, 8)].into_iter()).is_ok());
        assert!(matches!(
            check(&[call(1, 8), call(0, 8)].into_iter()),
            Err(CommError::Root { rank: 1, .. })
        ));
        assert!(matches!(
            check(&[call(1, 8), call(1, 7)].into_iter()),
            Err(CommError::Length { rank: 1, .. })
        ));
        assert!(matches!(
            check(&[call(2, 8), call(2, 8)].into_iter()),
            Err(CommError::RankOutOfRange { .. })
        ));
        let reduce = |element, len| Call::new(Operation::AllReduce).root(element).len(len);
        assert!(check(&[reduce(0, 0); 2].into_iter()).is_ok());
        assert!(check(&[reduce(8, 16); 2].into_iter()).is_ok());
        assert!(check(&[reduce(8, 12); 2].into_iter()).is_err());
        assert!(check(&[reduce(0, 12); 2].into_iter()).is_err());
    }

    #[test]
    fn groups_are_ordered_by_key_then_rank() {
        let wishes = [
            (Some(7), 2),
            (None, 0),
            (Some(3), 0),
            (Some(7), -1),
            (Some(3), 0),
        ];
        assert_eq!(groups(&wishes), [(3, vec![2, 4]), (7, vec![3, 0])]);
    }
}
