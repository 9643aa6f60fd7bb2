//! [`Work`]: long work, with a bar on the terminal, which the user can end.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use super::INTERRUPTED;
use super::error::CliError;

/// Long work. Its bar is drawn on the standard error where that is a terminal, and goes when it is dropped.
pub(super) struct Work {
    bar: ProgressBar,
    /// Whether the user has asked for an end; only where something would be left behind by one.
    stop: Option<Arc<AtomicBool>>,
}

impl Work {
    /// Reads so many bytes; it may be ended anywhere.
    pub(super) fn reading(bytes: u64) -> Self {
        let bar = ProgressBar::new(bytes);
        if let Ok(style) = ProgressStyle::with_template(
            "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ) {
            bar.set_style(style);
        }
        Self { bar, stop: None }
    }

    /// Reads what takes a while; nobody says how much of it is done.
    pub(super) fn unknown(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, stop: None }
    }

    /// Writes so many bytes. From here on a signal to end is only noted, and [`done`](Self::done) says so; a second one ends the
    /// program at once.
    pub(super) fn writing(bytes: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // in this order: the first one finds nothing noted; where it cannot be had, a signal ends the program as ever
            let second =
                flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop));
            if second.is_ok() {
                let _ = flag::register(signal, Arc::clone(&stop));
            }
        }
        // a limit to the size of files is an error then, as a full disk is, and no end
        let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let mut work = Self::reading(bytes);
        work.stop = Some(stop);
        work
    }

    /// How many bytes there are, once that is known.
    #[cfg(feature = "hdf5")]
    pub(super) fn of(&self, bytes: u64) {
        self.bar.set_length(bytes);
    }

    /// So many bytes more are done.
    ///
    /// # Errors
    /// [`CliError::Interrupted`] when the user has asked for an end.
    pub(super) fn done(&self, bytes: u64) -> Result<(), CliError> {
        self.bar.inc(bytes);
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(CliError::Interrupted),
            _ => Ok(()),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Tells the user what is no error. Where nobody reads it, nobody is told.
pub(super) fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "dap: {text}");
}
