//! The `uv` program: found by the caller, run as a child with an environment of our making, so that a lock does not
//! depend on the user's uv settings. Network settings (proxies, certificates, netrc, cache folder) are handed through.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::base::digest::Digest;
use crate::base::fs;

/// The oldest uv whose `pip compile` writes what is read here.
const OLDEST: (u32, u32) = (0, 8);

/// uv's own variables that say how the network is used, and nothing of what is resolved.
const NETWORK: &[&str] = &[
    "UV_CACHE_DIR",
    "UV_CONCURRENT_DOWNLOADS",
    "UV_CREDENTIALS_DIR",
    "UV_HTTP_CONNECT_TIMEOUT",
    "UV_HTTP_RETRIES",
    "UV_HTTP_TIMEOUT",
    "UV_INSECURE_HOST",
    "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS",
    "UV_PYTHON_INSTALL_DIR",
    "UV_REQUEST_TIMEOUT",
    "UV_SYSTEM_CERTS",
];

/// A uv program that answers.
#[derive(Debug, Clone)]
pub struct Uv {
    program: PathBuf,
    version: String,
    env: BTreeMap<OsString, OsString>,
    python: OnceLock<Option<PathBuf>>,
}

/// Why uv could not be used.
#[derive(Debug, thiserror::Error)]
pub enum UvError {
    /// It cannot be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is no uv, or too old.
    #[error("{} is uv {found}: at least {}.{}.0 is needed", program.display(), OLDEST.0, OLDEST.1)]
    TooOld {
        /// The program.
        program: PathBuf,
        /// What it said.
        found: String,
    },
    /// It did not answer with its version.
    #[error("{} does not answer as uv does: {said:?}", program.display())]
    NotUv {
        /// The program.
        program: PathBuf,
        /// What it said.
        said: String,
    },
}

impl UvError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "install uv (`pip install uv`), or name it with --uv PROGRAM or UV=PROGRAM".to_owned()
    }
}

/// What a run of uv gave.
#[derive(Debug)]
pub struct Ran {
    /// Whether it ended well.
    pub ok: bool,
    /// What it said to people.
    pub stderr: String,
}

impl Uv {
    /// Takes a program as uv after asking its version. `env` is the environment of this process.
    pub fn new(
        program: &Path,
        env: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, UvError> {
        let env = env.into_iter().filter(|(name, _)| is_kept(name)).collect();
        let mut uv = Self {
            program: program.to_owned(),
            version: String::new(),
            env,
            python: OnceLock::new(),
        };
        let output = uv
            .command()
            .arg("--version")
            .output()
            .map_err(|source| UvError::Start {
                program: program.to_owned(),
                source,
            })?;
        let said: String = String::from_utf8_lossy(&output.stdout)
            .trim()
            .chars()
            .take(80)
            .collect();
        let version = said
            .strip_prefix("uv ")
            .and_then(|rest| rest.split_whitespace().next())
            .filter(|version| {
                output.status.success() && version.starts_with(|c: char| c.is_ascii_digit())
            });
        let Some(version) = version else {
            return Err(UvError::NotUv {
                program: program.to_owned(),
                said,
            });
        };
        let mut numbers = version
            .split('.')
            .map(|part| part.parse::<u32>().unwrap_or(0));
        let short = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if short < OLDEST {
            return Err(UvError::TooOld {
                program: program.to_owned(),
                found: version.to_owned(),
            });
        }
        version.clone_into(&mut uv.version);
        Ok(uv)
    }

    /// Its version, such as `0.13.9`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A Python uv can work with, asked for once and remembered in `memory`: looking for one takes longer than resolving
    /// where shims stand on PATH. Its version does not matter, since the target's is given.
    pub fn python(&self, memory: &Path) -> Option<&Path> {
        let file = self.memory_of_python(memory);
        let find = || {
            let known = fs::read_if_exists(&file, 4096).ok().flatten();
            if let Some(path) = known.and_then(|bytes| String::from_utf8(bytes).ok())
                && fs::metadata(Path::new(&path)).is_ok_and(|m| m.is_some_and(|m| m.is_file()))
            {
                return Some(PathBuf::from(path));
            }
            let output = self.command().args(["python", "find"]).output().ok()?;
            let said = String::from_utf8(output.stdout).ok()?;
            let path = PathBuf::from(said.trim());
            let found = (output.status.success() && path.is_absolute()).then_some(path)?;
            // A cache that cannot be written costs time only.
            let _ = fs::write(&file, found.to_string_lossy().as_bytes());
            Some(found)
        };
        self.python.get_or_init(find).as_deref()
    }

    /// Looks for a Python again next time: the remembered one may be why a run failed.
    pub fn forget_python(&self, memory: &Path) {
        let _ = fs::remove_file(&self.memory_of_python(memory));
    }

    /// Another program, or another PATH, may find another Python.
    fn memory_of_python(&self, memory: &Path) -> PathBuf {
        let path = self.env.get(std::ffi::OsStr::new("PATH"));
        let key = format!("{:?}\0{path:?}", self.program);
        memory.join(format!("python-{}", Digest::of(key.as_bytes())))
    }

    /// Runs it to its end. `secrets` are variables of this run alone: addresses and credentials stand in no command line.
    pub fn run(
        &self,
        args: &[OsString],
        secrets: &BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Ran, UvError> {
        let output = self
            .command()
            .args(args)
            .envs(secrets)
            .current_dir(dir)
            .output()
            .map_err(|source| UvError::Start {
                program: self.program.clone(),
                source,
            })?;
        Ok(Ran {
            ok: output.status.success(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(&self.env)
            .env("UV_NO_CONFIG", "1")
            .env("UV_NO_PROGRESS", "1")
            .env("UV_PYTHON_DOWNLOADS", "never")
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }
}

fn is_kept(name: &std::ffi::OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return true;
    };
    let python = name.starts_with("PYTHON") || name == "VIRTUAL_ENV" || name.starts_with("CONDA_");
    !python && (!name.starts_with("UV_") || NETWORK.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_change_a_resolution_are_not_handed_through() {
        for name in [
            "UV_INDEX",
            "UV_EXCLUDE_NEWER",
            "UV_PRERELEASE",
            "PYTHONPATH",
            "UV_TORCH_BACKEND",
        ] {
            assert!(!is_kept(name.as_ref()), "{name}");
        }
        for name in [
            "HTTPS_PROXY",
            "SSL_CERT_FILE",
            "UV_CACHE_DIR",
            "NETRC",
            "HOME",
            "PATH",
        ] {
            assert!(is_kept(name.as_ref()), "{name}");
        }
    }
}
