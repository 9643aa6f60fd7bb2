//! `dap check`: whether files keep to the protocol, each by itself and all together.

#[cfg(feature = "hdf5")]
mod hdf5;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use dap_protocol::check::{self, Strictness};
use dap_protocol::{Code, ProtocolError, ProtocolVersion, Violation};
use dnpy_format::set::{Note, Set, SetError};
use dnpy_format::{DnpyError, PartInfo, inspect, npy};
use serde_json::{Value, json};

use super::Outcome;
use super::error::CliError;
use super::place::{Place, inputs};
use super::progress::Work;
use super::text::count;

/// Check that files keep to the protocol, each by itself and all together.
///
/// The rules have stable names (B4, S1 and so on), those of the crate dap-protocol. Of a set with a manifest the contents are
/// compared with its hashes; otherwise only headers are read.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exit status, the worst of all files:
  0  conformant
  1  readable with repairs
  2  a rule is broken
  3  unreadable: also a virtual dataset whose parts are missing, or of another save
  64 the command line is wrong; 74 the answer cannot be written

Examples:
  dap check their_part_*.dnpy
  dap check --format json run/part | jq .verdict")]
pub(super) struct Args {
    /// Files, parts of sets, prefixes of sets, datasets
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// Compare the elements of HDF5 datasets with the checksums that were saved with them
    #[arg(long)]
    contents: bool,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// The worst that can be said; its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Conformant = 0,
    Repaired = 1,
    Violations = 2,
    Unreadable = 3,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::Repaired => "readable with repairs",
            Self::Violations => "violations",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What was found in one file, or in a set as a whole.
#[derive(Debug, Default)]
struct Finding {
    name: String,
    is_set: bool,
    violations: Vec<Violation>,
    repairs: Vec<String>,
    notes: Vec<String>,
    /// What is broken and has no code.
    broken: Option<String>,
    /// Why it cannot be read.
    unreadable: Option<String>,
}

impl Finding {
    fn file(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    fn set(name: String) -> Self {
        Self {
            name,
            is_set: true,
            ..Self::default()
        }
    }

    fn verdict(&self) -> Verdict {
        if self.unreadable.is_some() {
            Verdict::Unreadable
        } else if !self.violations.is_empty() || self.broken.is_some() {
            Verdict::Violations
        } else if !self.repairs.is_empty() {
            Verdict::Repaired
        } else {
            Verdict::Conformant
        }
    }

    /// Broken rules, those without a code included.
    fn broken_rules(&self) -> usize {
        self.violations.len() + usize::from(self.broken.is_some())
    }

    /// Takes an error apart: rules with their codes, other faults of the metadata, and what cannot be read at all.
    fn fail(mut self, error: &DnpyError) -> Self {
        match cause(error) {
            DnpyError::Protocol {
                source: ProtocolError::Violations(violations),
                ..
            }
            | DnpyError::Set(SetError::Inconsistent { violations, .. }) => {
                self.violations.extend_from_slice(violations);
            }
            // the only header of which the protocol says what its keys are
            DnpyError::Keys { given, allowed, .. } if allowed.contains("__version__") => {
                self.violations
                    .push(Violation::new(Code::T1, given.as_str(), *allowed));
            }
            DnpyError::Protocol { .. }
            | DnpyError::Map(_)
            | DnpyError::Set(
                SetError::Places { .. }
                | SetError::Surplus { .. }
                | SetError::ElementType { .. }
                | SetError::Missing { .. }
                | SetError::Mixed { .. }
                | SetError::Unfinished { .. },
            ) => self.broken = Some(error.to_string()),
            _ => self.unreadable = Some(error.to_string()),
        }
        self
    }
}

/// The error of a file without its name.
fn cause(error: &DnpyError) -> &DnpyError {
    match error {
        DnpyError::InFile { source, .. } => cause(source),
        other => other,
    }
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut findings = Vec::new();
    for place in inputs(&args.files) {
        match place {
            Place::Npy(path) => findings.push(npy_file(&path)),
            Place::Parts(paths) => parts(&paths, &mut findings),
            Place::Set(prefix) => prefixed(&prefix, &mut findings),
            Place::Hdf5 { path, key } => hdf5::file(&path, key, args.contents, &mut findings),
            Place::Unknown(path) => {
                let name = path.display().to_string();
                let error = CliError::UnknownFile { path };
                findings.push(Finding {
                    unreadable: Some(error.to_string()),
                    ..Finding::file(name)
                });
            }
        }
    }
    let worst = findings.iter().map(Finding::verdict).max();
    let worst = worst.unwrap_or(Verdict::Conformant);
    let text = match args.format {
        Format::Text => text(&findings, worst),
        Format::Json => json_text(&findings, worst),
    };
    Outcome {
        text: text.into_bytes(),
        status: worst as u8,
    }
}

fn npy_file(path: &Path) -> Finding {
    let finding = Finding::file(path.display().to_string());
    let header = match npy::header(path) {
        Ok(header) => header,
        Err(error) => return finding.fail(&error),
    };
    let end = header
        .data_offset()
        .saturating_add(header.byte_len() as u64);
    let found = std::fs::metadata(path).map_or(0, |meta| meta.len());
    if found < end {
        return finding.fail(&DnpyError::Truncated {
            what: "the array",
            offset: header.data_offset(),
            expected: header.byte_len() as u64,
            found: found.saturating_sub(header.data_offset()),
        });
    }
    Finding {
        repairs: header.repairs().iter().map(ToString::to_string).collect(),
        ..finding
    }
}

/// Each part by itself; its headers, where they can be read.
fn one_part(path: &Path, findings: &mut Vec<Finding>) -> Option<PartInfo> {
    let finding = Finding::file(path.display().to_string());
    match inspect(path) {
        Ok(info) => {
            findings.push(Finding {
                repairs: info.repairs().iter().map(ToString::to_string).collect(),
                ..finding
            });
            Some(info)
        }
        Err(error) => {
            findings.push(finding.fail(&error));
            None
        }
    }
}

fn parts(paths: &[PathBuf], findings: &mut Vec<Finding>) {
    let infos: Vec<Option<PartInfo>> = paths.iter().map(|path| one_part(path, findings)).collect();
    let Some(infos) = infos.into_iter().collect::<Option<Vec<_>>>() else {
        if paths.len() > 1
            && let Some(last) = findings.last_mut()
        {
            last.notes
                .push("not all parts can be used, so they were not checked together".to_owned());
        }
        return;
    };
    if let [info] = &infos[..]
        && let Ok(grid) = info.dim_data().grid()
        && grid.len() > 1
    {
        if let Some(last) = findings.last_mut() {
            let others = format!("one part of {}: the others were not given", grid.len());
            last.notes.push(others);
        }
        return;
    }
    if infos.len() == 1 {
        return; // it is all there is
    }
    let finding = Finding::set(Place::Parts(paths.to_vec()).name());
    findings.push(match Set::of_files(paths.to_vec()) {
        Ok(set) => of_notes(finding, &set),
        Err(error) => {
            let mut finding = finding.fail(&error);
            if finding.violations.is_empty() {
                let versioned = |info: &PartInfo| (info.version(), info.dim_data().clone());
                let all: Vec<_> = infos.iter().map(versioned).collect();
                finding.violations = check::set_report(&all, Strictness::Lenient).violations;
            }
            finding
        }
    });
}

/// What the reader of a set should know; repairs of single parts have been told.
fn of_notes(mut finding: Finding, set: &Set) -> Finding {
    for note in set.notes() {
        match note {
            Note::Repaired { path, repairs } => {
                let known = inspect(path).map(|info| info.repairs().to_vec());
                let known = known.unwrap_or_default();
                let new = repairs.iter().filter(|repair| !known.contains(repair));
                finding
                    .repairs
                    .extend(new.map(|repair| format!("{}: {repair}", path.display())));
            }
            note => finding.notes.push(note.to_string()),
        }
    }
    finding
}

fn prefixed(prefix: &Path, findings: &mut Vec<Finding>) {
    let finding = Finding::set(prefix.display().to_string());
    let set = match Set::open(prefix) {
        Ok(set) => set,
        Err(error) => {
            findings.push(finding.fail(&error));
            return;
        }
    };
    for rank in 0..set.ranks() {
        if let Some((path, _)) = set.part(rank) {
            one_part(path, findings);
        }
    }
    let finding = of_notes(finding, &set);
    let _work = set
        .manifest()
        .map(|_| Work::unknown("comparing the parts with their hashes"));
    findings.push(match set.verify() {
        Ok(()) => finding,
        Err(error) => finding.fail(&error),
    });
}

#[cfg(not(feature = "hdf5"))]
mod hdf5 {
    use super::{CliError, Finding, Path};

    pub(super) fn file(path: &Path, _: Option<String>, _: bool, findings: &mut Vec<Finding>) {
        let error = CliError::NeedsHdf5 {
            path: path.to_owned(),
        };
        findings.push(Finding {
            unreadable: Some(error.to_string()),
            ..Finding::file(path.display().to_string())
        });
    }
}

fn text(findings: &[Finding], worst: Verdict) -> String {
    let mut text = String::new();
    for finding in findings {
        let what = if finding.is_set { ", as a whole" } else { "" };
        // writing to a string cannot fail
        let _ = match finding.verdict() {
            Verdict::Conformant => writeln!(text, "{}{what}: conformant", finding.name),
            Verdict::Repaired => writeln!(
                text,
                "{}{what}: readable, {}",
                finding.name,
                count(finding.repairs.len(), "repair")
            ),
            Verdict::Violations => writeln!(
                text,
                "{}{what}: {}",
                finding.name,
                count(finding.broken_rules(), "violation")
            ),
            Verdict::Unreadable => writeln!(text, "{}{what}: unreadable", finding.name),
        };
        let violations = finding.violations.iter().map(ToString::to_string);
        let lines = violations.chain(finding.broken.iter().chain(&finding.unreadable).cloned());
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
        for repair in &finding.repairs {
            let _ = writeln!(text, "  repaired: {repair}");
        }
        for note in &finding.notes {
            let _ = writeln!(text, "  note: {note}");
        }
    }
    let violations: usize = findings.iter().map(Finding::broken_rules).sum();
    let of = match worst {
        Verdict::Violations => format!(": {}", count(violations, "violation")),
        _ => format!(": {}", worst.name()),
    };
    let _ = writeln!(text, "DAP {}{of}", ProtocolVersion::CURRENT);
    text
}

fn json_text(findings: &[Finding], worst: Verdict) -> String {
    let findings: Vec<Value> = findings.iter().map(to_json).collect();
    let all = json!({
        "protocol": ProtocolVersion::CURRENT.to_string(),
        "verdict": worst.name(),
        "status": worst as u8,
        "findings": findings,
    });
    format!("{all:#}\n")
}

fn to_json(finding: &Finding) -> Value {
    let violation = |v: &Violation| {
        json!({
            "code": v.code.as_str(),
            "axis": v.axis,
            "rank": v.rank,
            "key": v.key,
            "given": v.given,
            "allowed": v.allowed,
            "text": v.to_string(),
        })
    };
    json!({
        "name": finding.name,
        "of": if finding.is_set { "set" } else { "file" },
        "verdict": finding.verdict().name(),
        "violations": finding.violations.iter().map(violation).collect::<Vec<_>>(),
        "broken": finding.broken,
        "unreadable": finding.unreadable,
        "repairs": finding.repairs,
        "notes": finding.notes,
    })
}
