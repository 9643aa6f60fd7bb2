//! `dap plan`: what a redistribution would send.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Args as ClapArgs;
use dap_protocol::ElementType;
use dist_io::Direction;
use dist_maps::{Distribution, Explanation, Redistribution};

use super::Outcome;
use super::dist::{Dist, Extents, element};
use super::draw::Described;
use super::error::CliError;
use super::source::Source;
use super::text::{axis, count, table, times};
use super::transfer::Transfer;

/// Ranks whose pairs are looked at, and ranks whose pairs are printed.
const RANKS: usize = 4096;
const PRINTED: usize = 12;

/// Show what a redistribution would send, or what ranks would read from one file or write to it.
///
/// From a file as it was saved, or from a shape and a distribution, to another distribution: messages and bytes between ranks, and
/// the memory that it takes. With --read or --write, between one file and the ranks: bytes and requests of each, and whether they go
/// to the file by themselves or exchange elements first. Nothing is read but headers.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap plan --shape 8x8 --from b,n --from-ranks 2 --dist n,b --ranks 2
  dap plan run/part --dist c:64,n --ranks 8
  dap plan whole.npy --from b --from-ranks 4 --dist b,b --grid 2x2
  dap plan --shape 1000x1000 --dist c:64,c:64 --ranks 4 --write --chunk 100x100")]
pub(super) struct Args {
    /// A file, the parts of a set, or the prefix of one
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,
    /// Extent of each dimension, as in 8x8, where there is no file
    #[arg(long)]
    shape: Option<Extents>,
    /// How the array is distributed before [default: as the file says]
    #[arg(long)]
    from: Option<Dist>,
    /// Ranks along each dimension before
    #[arg(long)]
    from_grid: Option<Extents>,
    /// Number of ranks before [default: as many as the grid has]
    #[arg(long)]
    from_ranks: Option<usize>,
    /// How the array is distributed after, or in memory [default with --read and --write: as the file says]
    #[arg(long)]
    dist: Option<Dist>,
    /// Ranks along each dimension after
    #[arg(long)]
    grid: Option<Extents>,
    /// Number of ranks after [default: as many as the grid has]
    #[arg(long)]
    ranks: Option<usize>,
    /// The elements [default: those of the file, or f64]
    #[arg(long, value_parser = element)]
    element: Option<ElementType>,
    /// Fill padding too
    #[arg(long)]
    padding: bool,
    #[command(flatten)]
    transfer: Transfer,
}

pub(super) fn run(args: &Args) -> Result<Outcome, CliError> {
    if let Some(direction) = args.transfer.direction()? {
        return args.transfer(direction);
    }
    let dist = args.dist.as_ref();
    let dist = dist.ok_or(CliError::Missing { option: "--dist" })?;
    let (before, held) = args.before()?;
    let element = args.element.or(held).unwrap_or(ElementType::F64);
    let shape = before.global_shape().to_vec();
    let after = dist.build(&shape, args.grid.as_ref(), args.ranks)?;
    for ranks in [before.ranks(), after.ranks()] {
        if ranks > RANKS {
            return Err(CliError::TooManyRanks {
                given: ranks,
                allowed: RANKS,
            });
        }
    }
    let change = Redistribution::between(&before, &after);
    let change = if args.padding {
        change.filling_padding()
    } else {
        change
    };
    let cost = change.explain(element.size())?;
    let mut text = format!("{} of {element}\n", times(&shape));
    for (word, d) in [("from", &before), ("to  ", &after)] {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{word}  a grid of {}, {}: {}",
            times(d.grid().shape()),
            count(d.ranks(), "rank"),
            axes(d)
        );
    }
    let messages = cost.pairs().iter().filter(|pair| pair.from != pair.to);
    let _ = writeln!(text, "\n{}", count(messages.count(), "message"));
    let _ = write!(text, "{cost}");
    text.push_str(&memory(&cost, &before, &after, element.size()));
    if cost.ranks() <= PRINTED {
        text.push_str("\nbytes from the rank of the row to that of the column\n");
        text.push_str(&matrix(&cost));
    }
    Ok(text.into())
}

impl Args {
    /// What the ranks would read from one file, or write to it.
    fn transfer(&self, direction: Direction) -> Result<Outcome, CliError> {
        let source = match &self.files[..] {
            [] => None,
            files => Some(Source::open(files)?),
        };
        let described = Described {
            shape: self.shape.clone(),
            dist: self.dist.clone(),
            grid: self.grid.clone(),
            ranks: self.ranks,
        };
        let distribution = described.distribution(&self.files)?;
        if distribution.ranks() > RANKS {
            return Err(CliError::TooManyRanks {
                given: distribution.ranks(),
                allowed: RANKS,
            });
        }
        let held = source.as_ref().map(Source::element);
        let element = self.element.or(held).unwrap_or(ElementType::F64);
        let text = self
            .transfer
            .explain(direction, &distribution, element, source.as_ref())?;
        Ok(text.into())
    }

    /// The distribution before, and the elements of the file.
    fn before(&self) -> Result<(Distribution, Option<ElementType>), CliError> {
        let described =
            self.from.is_some() || self.from_grid.is_some() || self.from_ranks.is_some();
        let (shape, element) = match &self.shape {
            Some(_) if !self.files.is_empty() => {
                return Err(CliError::FileAnd { option: "--shape" });
            }
            Some(shape) => (shape.values().to_vec(), None),
            None if self.files.is_empty() => return Err(CliError::Missing { option: "--shape" }),
            None => {
                let source = Source::open(&self.files)?;
                if !described {
                    return Ok((source.distribution()?, Some(source.element())));
                }
                (source.shape(), Some(source.element()))
            }
        };
        let from = self.from.as_ref();
        let from = from.ok_or(CliError::Missing { option: "--from" })?;
        let before = from.build(&shape, self.from_grid.as_ref(), self.from_ranks)?;
        Ok((before, element))
    }
}

fn axes(d: &Distribution) -> String {
    let axes: Vec<String> = d.axes().iter().map(axis).collect();
    axes.join("; ")
}

/// What the rank that needs most has in memory at once.
fn memory(
    cost: &Explanation,
    before: &Distribution,
    after: &Distribution,
    item_size: usize,
) -> String {
    let stored = |d: &Distribution, rank: usize| -> u128 {
        if d.grid_rank(rank).is_none() {
            return 0;
        }
        let extents = d.local_shape(rank);
        extents.iter().fold(item_size as u128, |bytes, &n| {
            bytes.saturating_mul(n as u128)
        })
    };
    let mut sent = vec![0_u128; cost.ranks()];
    let mut received = vec![0_u128; cost.ranks()];
    for pair in cost.pairs().iter().filter(|pair| pair.from != pair.to) {
        sent[pair.from] += pair.bytes;
        received[pair.to] += pair.bytes;
    }
    let all = (0..cost.ranks()).map(|rank| {
        let parts = [
            stored(before, rank),
            stored(after, rank),
            sent[rank],
            received[rank],
        ];
        (parts.iter().sum::<u128>(), std::cmp::Reverse(rank), parts)
    });
    match all.max() {
        Some((sum, std::cmp::Reverse(rank), [before, after, sent, received])) => format!(
            "memory at most on rank {rank}: {sum} bytes ({before} before, {after} after, messages of {sent} sent and {received} received)\n"
        ),
        None => String::new(),
    }
}

fn matrix(cost: &Explanation) -> String {
    let ranks = 0..cost.ranks();
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(ranks.clone().map(|to| to.to_string()));
    for from in ranks.clone() {
        let mut row = vec![from.to_string()];
        row.extend(ranks.clone().map(|to| cost.bytes(from, to).to_string()));
        rows.push(row);
    }
    table(&rows)
}
