//! Wheels, hostile and honest: what the gate and the planner take and what they refuse, and how they say so.

mod forge;
mod honest;
mod hostile;
mod hostile_members;
mod hostile_metadata;
mod hostile_names;
mod hostile_places;
mod large;
mod launchers;
mod planning;

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use bundler::base::archive::{ArchiveError, Zip};
use bundler::base::digest::Digest;
use bundler::build::ingest::Plan;
use bundler::build::ingest::wheel::{WheelError, WheelRequest, WheelWaiver, plan};

/// A refusal as the tests look at it: the fault's variant and the whole message.
#[derive(Debug)]
struct Refusal {
    fault: String,
    text: String,
}

impl From<ArchiveError> for Refusal {
    fn from(error: ArchiveError) -> Self {
        let fault = match &error {
            ArchiveError::Container { source, .. } => format!("{source:?}"),
            ArchiveError::Member { source, .. } => format!("{source:?}"),
            ArchiveError::File { source, .. } => format!("{source:?}"),
        };
        let text = chain(&error);
        Self { fault, text }
    }
}

impl From<WheelError> for Refusal {
    fn from(error: WheelError) -> Self {
        Self {
            fault: format!("{:?}", error.source),
            text: chain(&error),
        }
    }
}

/// An error as `main` prints it.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

fn request<'a>(file_name: &'a str, waivers: &'a [WheelWaiver]) -> WheelRequest<'a> {
    WheelRequest {
        file_name,
        sha256: Digest::of(file_name.as_bytes()),
        python: "3.12".parse().unwrap(),
        arch: "amd64".parse().unwrap(),
        glibc_minor: 28,
        waivers,
    }
}

/// The gate, all bytes of all members, and the plan with the digests it expects.
fn judge(file_name: &str, bytes: Vec<u8>) -> Result<Plan, Refusal> {
    let zip = Arc::new(Zip::from_bytes(file_name, bytes)?);
    for (index, member) in zip.members().iter().enumerate() {
        let mut data = Vec::new();
        let read = zip.reader(index).read_to_end(&mut data);
        read.map_err(|e| zip.read_error(index, e))?;
        assert_eq!(data.len() as u64, member.unpacked, "{}", member.name);
        assert_eq!(zip.read_whole(index, member.unpacked)?, data);
    }
    Ok(plan(zip, &request(file_name, &[]))?)
}
