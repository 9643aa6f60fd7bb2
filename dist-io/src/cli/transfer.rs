//! `dap plan --read` and `--write`: what the ranks would read from one file, or write to it.

use clap::Args as ClapArgs;
use dap_protocol::ElementType;
use dist_io::{Direction, FileLayout, IoPlan};
use dist_maps::Distribution;

use super::dist::Extents;
use super::error::CliError;
use super::source::Source;

/// A file instead of another distribution.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "One file instead of another distribution")]
pub(super) struct Transfer {
    /// Show what the ranks read from one file, or dataset, that holds the array
    #[arg(long, conflicts_with_all = ["write", "from", "from_grid", "from_ranks", "padding"])]
    read: bool,
    /// Show what the ranks write to one file, or dataset
    #[arg(long, conflicts_with_all = ["from", "from_grid", "from_ranks", "padding"])]
    write: bool,
    /// Chunks of that file, elements along each dimension, as in 64x64 [default: those of FILE]
    #[arg(long)]
    chunk: Option<Extents>,
}

impl Transfer {
    /// Whether it is asked for, and in which direction.
    pub(super) fn direction(&self) -> Result<Option<Direction>, CliError> {
        match (self.read, self.write, &self.chunk) {
            (true, ..) => Ok(Some(Direction::Read)),
            (_, true, _) => Ok(Some(Direction::Write)),
            (false, false, None) => Ok(None),
            (false, false, Some(_)) => Err(CliError::Alone {
                option: "--chunk",
                with: "--read or --write",
            }),
        }
    }

    /// The plan in words: of an array that is distributed so, in a file that is laid out as the options or the source say.
    pub(super) fn explain(
        &self,
        direction: Direction,
        distribution: &Distribution,
        element: ElementType,
        source: Option<&Source>,
    ) -> Result<String, CliError> {
        let of_source = source.and_then(Source::chunk_extents);
        let chunk = self.chunk.as_ref().map(|chunk| chunk.values().to_vec());
        let layout = match chunk.or(of_source) {
            Some(chunk) => FileLayout::Chunked { chunk },
            None => FileLayout::Contiguous,
        };
        let plan = IoPlan::new(distribution, element.size(), layout, direction)?;
        Ok(plan.explain()?.to_string())
    }
}
