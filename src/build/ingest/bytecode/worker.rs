//! A Python process that compiles: kept for many files, replaced after a while (interned names are never freed), by
//! another one when a file kills it.

use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::BytecodeError;
use crate::base::fs::File;

const SCRIPT: &str = include_str!("compile.py");

/// Files after which a process is replaced.
const FILES: u32 = 1000;

/// No answer is longer.
const MAX_ANSWER: u32 = 1 << 30;

/// It may complain of no more.
const MAX_WORDS: u64 = 64 << 10;

/// What a process said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    /// `3.12`
    pub version: String,
    /// `cpython-312`
    pub cache_tag: String,
    /// First four bytes of its bytecode.
    pub magic: [u8; 4],
}

/// One process.
pub(super) struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    files: u32,
    pub greeting: Greeting,
}

impl Worker {
    /// Starts `program` with nothing of the surroundings: no environment but a fixed hash seed, no site, no user site,
    /// no path of its own.
    pub fn start(program: &Path) -> Result<Self, BytecodeError> {
        let failed = |source| BytecodeError::Start {
            program: program.to_owned(),
            source,
        };
        let mut said = words().map_err(failed)?;
        let heard = said.try_clone().map_err(failed)?;
        let mut child = Command::new(program)
            .args(["-S", "-s", "-B", "-X", "utf8", "-W", "ignore", "-c", SCRIPT])
            .env_clear()
            .env("PYTHONHASHSEED", "0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(heard)
            .spawn()
            .map_err(failed)?;
        limit(&child);
        let missing = || failed(io::ErrorKind::BrokenPipe.into());
        let input = Some(child.stdin.take().ok_or_else(missing)?);
        let mut output = child.stdout.take().ok_or_else(missing)?;
        let greeting = match answer(&mut output) {
            Ok((0, text)) => greeting(&text),
            _ => None,
        };
        let Some(greeting) = greeting else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(BytecodeError::NotPython {
                program: program.to_owned(),
                said: last_words(&mut said, program),
            });
        };
        Ok(Self {
            child,
            input,
            output,
            files: 0,
            greeting,
        })
    }

    /// Compiles one file: code, or why it does not compile. An error means that the process is gone.
    pub fn compile(&mut self, path: &str, source: &[u8]) -> io::Result<Result<Vec<u8>, String>> {
        self.files += 1;
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut request = Vec::with_capacity(8 + path.len());
        request.extend_from_slice(&(path.len() as u32).to_le_bytes());
        request.extend_from_slice(&(source.len() as u32).to_le_bytes());
        request.extend_from_slice(path.as_bytes());
        input.write_all(&request)?;
        input.write_all(source)?;
        input.flush()?;
        let (status, bytes) = answer(&mut self.output)?;
        Ok(match status {
            0 => Ok(bytes),
            _ => Err(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// It has done its share.
    pub fn is_worn(&self) -> bool {
        self.files >= FILES
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a process writes what it has to complain of: memory, so that nobody has to listen.
fn words() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("words", MemfdFlags::CLOEXEC)?.into())
}

/// The last line it wrote, where it wrote any.
fn last_words(said: &mut File, program: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    said.rewind().ok()?;
    said.take(MAX_WORDS).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.next_back()?;
    // The loader begins with the program, which the error names anyway.
    let named = format!("{}: ", program.display());
    Some(last.strip_prefix(&named).unwrap_or(last).to_owned())
}

/// A file that takes more than this to compile does not compile.
fn limit(child: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let at_most = |bytes| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    let child = Pid::from_raw(child.id().cast_signed());
    let _ = prlimit(child, Resource::As, at_most(2 << 30));
    let _ = prlimit(child, Resource::Fsize, at_most(MAX_WORDS));
}

fn answer(output: &mut ChildStdout) -> io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 8];
    output.read_exact(&mut head)?;
    let [a, b, c, d, e, f, g, h] = head;
    let status = u32::from_le_bytes([a, b, c, d]);
    let len = u32::from_le_bytes([e, f, g, h]);
    if len > MAX_ANSWER {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    output.take(u64::from(len)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == u64::from(len) {
        Ok((status, bytes))
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn greeting(text: &[u8]) -> Option<Greeting> {
    let mut words = std::str::from_utf8(text).ok()?.split(' ');
    let (version, cache_tag, magic) = (words.next()?, words.next()?, words.next()?);
    let magic = u32::from_str_radix(magic, 16).ok()?.to_be_bytes();
    (words.next()? == "fixed").then(|| Greeting {
        version: version.to_owned(),
        cache_tag: cache_tag.to_owned(),
        magic,
    })
}
