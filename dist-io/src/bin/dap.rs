//! `dap`: what distributed arrays in files are, whether they keep to the protocol, and from one form to another.
#![forbid(unsafe_code)]

#[path = "../cli/mod.rs"]
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
