//! The command `dap`: one subcommand a file. Each makes its whole answer before a byte of it is printed.

mod boxes;
mod check;
mod convert;
mod dist;
mod draw;
mod error;
mod mapping;
mod pieces;
mod place;
mod plan;
mod progress;
mod repack;
mod shell;
mod show;
mod source;
mod storage;
mod text;
mod transfer;
mod write;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Exit status of a command that failed; `dap check` has statuses of its own.
const FAILED: u8 = 1;
/// Exit status of a command line that is none: that of `sysexits.h`, which `dap check` never gives.
const USAGE: u8 = 64;
/// Exit status where the answer could not be written: that of `sysexits.h` too.
const UNWRITTEN: u8 = 74;
/// Exit status of a command that the user has ended: that of shells.
const INTERRUPTED: u8 = 130;

/// Distributed arrays in files: what they are, whether they keep to the Distributed Array Protocol, and from one form to another.
#[derive(Debug, Parser)]
#[command(name = "dap", version, after_help = FILES, propagate_version = true)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

const FILES: &str = "\
Files:
  whole.npy           an array in one piece
  part_0.dnpy ...     the parts of an array, one a rank; those with one prefix are one set
  run/part            a set by its prefix: run/part.manifest.json, or run/part_0.dnpy and so on
  all.h5:/heat        an HDF5 dataset, virtual ones too (a dap built with the feature hdf5)
  all.h5              the one under the key `buffer`, or the only one; for show and check all of them

Distributions (--dist), a letter for each dimension, commas between; missing ones mean n:
  n                   not distributed
  b                   blocks of ceil(size / ranks)
  be  bf              blocks as even as can be; or with bounds at floor(size * rank / ranks)
  b@3:7               blocks that end at 3, at 7, and at the size
  c  c:64  bc64       single elements, or blocks of 64, dealt to the ranks in turn
  b+1  b+1p           blocks that store one element of each neighbour too; p wraps around

Exit status: 0, or 1 on failure, 64 for a wrong command line, 74 where the answer cannot be written,
130 when interrupted; dap check has its own.";

#[derive(Debug, Subcommand)]
enum Verb {
    Show(show::Args),
    Check(check::Args),
    Draw(draw::Args),
    Convert(convert::Args),
    Repack(repack::Args),
    Plan(plan::Args),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

/// What a command says, and its exit status.
struct Outcome {
    text: Vec<u8>,
    status: u8,
}

impl From<String> for Outcome {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<Vec<u8>> for Outcome {
    fn from(text: Vec<u8>) -> Self {
        Self { text, status: 0 }
    }
}

pub(crate) fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) => {
            // nobody is left to tell when this fails
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    let outcome = match command.verb {
        Verb::Show(args) => Ok(show::run(&args)),
        Verb::Check(args) => Ok(check::run(&args)),
        Verb::Draw(args) => draw::run(&args),
        Verb::Convert(args) => convert::run(&args),
        Verb::Repack(args) => repack::run(&args),
        Verb::Plan(args) => plan::run(&args),
        Verb::Completions(args) => Ok(shell::completions(&args)),
        Verb::Man(args) => shell::man(&args),
    };
    match outcome {
        Ok(outcome) => match print(&outcome.text) {
            Ok(()) => ExitCode::from(outcome.status),
            Err(error) => {
                progress::note(format_args!("write the standard output: {error}"));
                ExitCode::from(UNWRITTEN)
            }
        },
        Err(error) => {
            progress::note(&error);
            if let Some(step) = error.next_step() {
                progress::note(format_args!("next: {step}"));
            }
            ExitCode::from(error.status())
        }
    }
}

/// Prints; a reader that has had enough, `head` for instance, is no error.
fn print(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Command::command().debug_assert();
    }
}
