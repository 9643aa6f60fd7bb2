//! What each rank says it wants when the ranks meet, and the check that they want the same.

use crate::{CommError, Operation, Reduction};

/// The arguments of a collective call, as far as the ranks have to agree on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    /// The root, or the element size of a reduction; else 0.
    pub(crate) root: u64,
    /// The length of the buffer, or how many there are.
    pub(crate) len: u64,
    /// The length of the second buffer (`all_gather`), which window is meant, or how to reduce.
    pub(crate) extra: u64,
    /// Bytes that the call needs and this rank could not have; else 0.
    pub(crate) lacks: u64,
}

impl Call {
    pub(crate) fn new(operation: Operation) -> Self {
        Self {
            operation,
            root: 0,
            len: 0,
            extra: 0,
            lacks: 0,
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

    pub(crate) fn reduction(self, reduction: Reduction) -> Self {
        let [root, extra] = reduction.to_numbers();
        Self {
            root,
            extra,
            ..self
        }
    }

    /// Of `len` bytes, `memory` says whether they could be had. One rank without them is the error of all.
    pub(crate) fn with_memory<T>(self, len: usize, memory: Option<&T>) -> Self {
        let lacks = if memory.is_some() { 0 } else { len as u64 };
        Self { lacks, ..self }
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
            let reduction = |call: &Call| Reduction::from_numbers([call.root, call.extra]);
            let allowed = reduction(&first);
            if let Some((rank, call)) = odd_one(&|call| reduction(call) != allowed) {
                let given = reduction(&call);
                return Err(CommError::Reductions {
                    rank,
                    given,
                    allowed,
                });
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
        return Err(CommError::Element {
            operation,
            element: first.root,
            len: first.len,
        });
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
    if let Some((rank, call)) = odd_one(&|call| call.lacks != 0) {
        return Err(CommError::Allocation {
            operation,
            rank,
            bytes: call.lacks,
        });
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
    use crate::ReduceOp;

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
        let reduce = |element, len| {
            let reduction = Reduction::own(element);
            Call::new(Operation::AllReduce)
                .reduction(reduction)
                .len(len)
        };
        assert!(check(&[reduce(0, 0); 2].into_iter()).is_ok());
        assert!(check(&[reduce(8, 16); 2].into_iter()).is_ok());
        assert_eq!(
            check(&[reduce(8, 12); 2].into_iter())
                .unwrap_err()
                .to_string(),
            "all_reduce: an element size of 8 bytes does not divide a length of 12 bytes"
        );
        assert!(check(&[reduce(0, 12); 2].into_iter()).is_err());
    }

    #[test]
    fn reductions_are_compared() {
        let call = |reduction| Call::new(Operation::AllReduce).reduction(reduction).len(8);
        let calls = [
            call(Reduction::of::<f64>(ReduceOp::Sum)),
            call(Reduction::of::<i64>(ReduceOp::Sum)),
        ];
        assert_eq!(
            check(&calls.into_iter()).unwrap_err().to_string(),
            "all_reduce: rank 1 reduces by sum of i64, rank 0 by sum of f64"
        );
    }

    #[test]
    fn one_rank_without_memory_is_an_error() {
        let call = |memory: Option<&()>| {
            Call::new(Operation::AllReduce)
                .reduction(Reduction::own(1))
                .len(10)
                .with_memory(40, memory)
        };
        assert!(check(&[call(Some(&())); 2].into_iter()).is_ok());
        let error = CommError::Allocation {
            operation: Operation::AllReduce,
            rank: 1,
            bytes: 40,
        };
        assert_eq!(
            check(&[call(Some(&())), call(None), call(None)].into_iter()),
            Err(error)
        );
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
