//! Where to cut the sorted runs of all ranks, so that what lies below the cuts is exactly so many of the least.

use dist_comm::{CommExt, Communicator};

use crate::ArrayError;

/// As many candidates, over all cuts and ranks, are simply told to every rank.
const FEW: u64 = 1 << 12;

/// What a rank tells of the candidates for one cut: their number, the first, and the key in their middle.
type Told = [u64; 4];

/// The element that a rank proposes as pivot: key, and then the place of its rank and its place there, so that no two are equal.
type Pivot = ([u64; 2], usize, u64);

/// For each of `targets` how many elements of this rank's sorted run, of `len` keys, are among that many least of all ranks.
/// Equal keys go by the `places` of their ranks, then by their place in the run. Collective.
///
/// All cuts are sought together by bisection with weighted medians, which takes about as many rounds as the number of elements
/// has bits.
pub(crate) fn cuts(
    comm: &dyn Communicator,
    len: usize,
    key: &dyn Fn(usize) -> [u64; 2],
    places: &[usize],
    targets: &[u64],
) -> Result<Vec<usize>, ArrayError> {
    let me = comm.rank();
    // The cut lies in low..=high: elements below low are in, those from high on are not.
    let mut ranges: Vec<(usize, usize)> = vec![(0, len); targets.len()];
    loop {
        let told: Vec<Told> = ranges
            .iter()
            .map(|&(low, high)| {
                let middle = low + (high - low) / 2;
                let [first, second] = if low < high { key(middle) } else { [0; 2] };
                [(high - low) as u64, low as u64, first, second]
            })
            .collect();
        let all: Vec<Vec<Told>> = comm.all_gather_slice(&told)?;
        let left: u64 = all.iter().flatten().map(|told| told[0]).sum();
        if left == 0 {
            return Ok(ranges.into_iter().map(|(low, _)| low).collect());
        }
        if left <= FEW {
            return finish(comm, key, places, targets, &ranges, &all);
        }
        let pivots: Vec<Option<Pivot>> = (0..targets.len())
            .map(|number| pivot(&all, places, number))
            .collect();
        // How much of each run lies before each pivot.
        let before: Vec<u64> = pivots
            .iter()
            .map(|pivot| {
                pivot.map_or(0, |(pivot, place, at)| {
                    if place == places[me] {
                        return at;
                    }
                    // Ranks before the pivot's put equal keys before it, others behind.
                    let is_before =
                        |key: [u64; 2]| key < pivot || key == pivot && places[me] < place;
                    first_not(len, |at| is_before(key(at))) as u64
                })
            })
            .collect();
        let counts = comm.all_gather_slice(&before)?;
        for (number, pivot) in pivots.iter().enumerate() {
            let Some((_, place, _)) = pivot else { continue };
            let below: u64 = counts.iter().map(|counts| counts[number]).sum();
            let mine = usize::try_from(before[number]).unwrap_or(len);
            let (low, high) = &mut ranges[number];
            if below < targets[number] {
                // The pivot itself is in.
                let mine = mine + usize::from(*place == places[me]);
                *low = mine.clamp(*low, *high);
            } else {
                *high = mine.clamp(*low, *high);
            }
        }
    }
}

/// The first position below `len` for which `is_in` fails; it holds up to there.
fn first_not(len: usize, is_in: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_in(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The median of the proposals for a cut, weighted by the numbers of candidates.
fn pivot(all: &[Vec<Told>], places: &[usize], number: usize) -> Option<Pivot> {
    let mut proposals: Vec<(Pivot, u64)> = all
        .iter()
        .zip(places)
        .map(|(told, &place)| (told[number], place))
        .filter(|(told, _)| told[0] > 0)
        .map(|([weight, low, first, second], place)| {
            (([first, second], place, low + weight / 2), weight)
        })
        .collect();
    proposals.sort_unstable();
    let half = proposals.iter().map(|(_, weight)| weight).sum::<u64>() / 2;
    let mut seen = 0;
    for (pivot, weight) in proposals {
        seen += weight;
        if seen > half {
            return Some(pivot);
        }
    }
    None
}

/// Tells all candidates to all ranks.
fn finish(
    comm: &dyn Communicator,
    key: &dyn Fn(usize) -> [u64; 2],
    places: &[usize],
    targets: &[u64],
    ranges: &[(usize, usize)],
    all: &[Vec<Told>],
) -> Result<Vec<usize>, ArrayError> {
    let mine: Vec<[u64; 2]> = ranges
        .iter()
        .flat_map(|&(low, high)| (low..high).map(key))
        .collect();
    let keys = comm.all_gather_slice(&mine)?;
    let mut reached = vec![0_usize; keys.len()];
    let mut cuts = Vec::with_capacity(targets.len());
    for (number, &target) in targets.iter().enumerate() {
        let mut candidates: Vec<([u64; 2], usize)> = Vec::new();
        for (rank, keys) in keys.iter().enumerate() {
            let count = usize::try_from(all[rank][number][0]).unwrap_or(0);
            let end = (reached[rank] + count).min(keys.len());
            candidates.extend(
                keys[reached[rank]..end]
                    .iter()
                    .map(|&key| (key, places[rank])),
            );
            reached[rank] = end;
        }
        candidates.sort_unstable();
        let settled: u64 = all.iter().map(|told| told[number][1]).sum();
        let more = usize::try_from(target.saturating_sub(settled)).unwrap_or(usize::MAX);
        let here = places[comm.rank()];
        let taken = candidates.iter().take(more);
        cuts.push(ranges[number].0 + taken.filter(|(_, place)| *place == here).count());
    }
    Ok(cuts)
}
