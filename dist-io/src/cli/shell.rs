//! `dap completions` and `dap man`: what clap's generators make of the command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, CommandFactory as _};
use clap_complete::Shell;

use super::error::CliError;
use super::{Command, Outcome};

/// Print completions for a shell.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap completions bash > ~/.local/share/bash-completion/completions/dap
  dap completions fish > ~/.config/fish/completions/dap.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print the manual page, or write those of all commands.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap man | man -l -
  dap man --dir ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// A directory for a page of each command
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Command::command(), "dap", &mut script);
    script.into()
}

pub(super) fn man(args: &ManArgs) -> Result<Outcome, CliError> {
    let command = Command::command();
    if let Some(dir) = &args.dir {
        clap_mangen::generate_to(command, dir)
            .map_err(CliError::os("write manual pages to", dir))?;
        return Ok(Vec::new().into());
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(CliError::os("write", "the manual page"))?;
    Ok(page.into())
}
