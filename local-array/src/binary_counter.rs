//! [`BinaryCounter`]: parts joined two by two, as a binary counter carries.

/// Values so far, joined two by two: one node for each binary digit 1 of their number, the highest first.
///
/// ```text
/// after 1    [0]
/// after 2    [0 1]
/// after 3    [0 1] [2]
/// after 4    [0 1 2 3]
/// ```
#[derive(Clone, Debug)]
pub(crate) struct BinaryCounter<S> {
    count: u64,
    nodes: Vec<S>,
}

impl<S> BinaryCounter<S> {
    pub(crate) fn new() -> Self {
        Self::after(0, Vec::new())
    }

    /// As it is after `count` values, which are joined to these nodes.
    pub(crate) fn after(count: u64, nodes: Vec<S>) -> Self {
        Self { count, nodes }
    }

    /// Takes in the next value; `join` gets what stands before as its first.
    #[inline]
    pub(crate) fn push(&mut self, value: S, join: impl Fn(S, S) -> S) {
        let mut node = value;
        for _ in 0..self.count.trailing_ones() {
            if let Some(left) = self.nodes.pop() {
                node = join(left, node);
            }
        }
        self.nodes.push(node);
        self.count += 1;
    }

    pub(crate) fn nodes(&self) -> &[S] {
        &self.nodes
    }

    /// The last node, which has all values where only one came in.
    pub(crate) fn last_mut(&mut self) -> Option<&mut S> {
        self.nodes.last_mut()
    }

    /// All values so far, joined from the last node on; `None` of none. Begins anew.
    pub(crate) fn finish(&mut self, join: impl Fn(S, S) -> S) -> Option<S> {
        self.count = 0;
        let mut all = self.nodes.pop()?;
        while let Some(left) = self.nodes.pop() {
            all = join(left, all);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_node_for_each_digit() {
        let join = |left: (u64, u64), right: (u64, u64)| {
            assert_eq!(left.1, right.0);
            (left.0, right.1)
        };
        let mut counter = BinaryCounter::new();
        for b in 0..21_u64 {
            assert_eq!(counter.nodes().len(), b.count_ones() as usize);
            counter.push((b, b + 1), join);
        }
        assert_eq!(counter.nodes(), [(0, 16), (16, 20), (20, 21)]);
        assert_eq!(counter.finish(join), Some((0, 21)));
        assert_eq!(BinaryCounter::<u8>::new().finish(|a, _| a), None);
    }
}
