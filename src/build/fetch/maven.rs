//! Maven artifacts through the `mvn` program, which knows the machine's repositories and mirrors. What it brings is copied
//! into the cache only after its digest was seen to match. The local repository is looked into first, without any program.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::MavenArtifact;
use super::error::FetchError;
use crate::base::fs;

/// How long `mvn` may go without bringing or saying anything.
const SILENCE: Duration = Duration::from_secs(45);
/// How long a connection may take, in milliseconds, as Maven's transports read it.
const CONNECT_MS: &str = "5000";

impl MavenArtifact {
    /// `artifact-version[-classifier].extension`.
    pub fn file(&self) -> String {
        let classifier = self.classifier.as_deref();
        let classifier = classifier.map(|c| format!("-{c}")).unwrap_or_default();
        format!(
            "{}-{}{classifier}.{}",
            self.artifact, self.version, self.extension
        )
    }

    /// Path in a repository of the default layout.
    pub fn path(&self) -> String {
        format!(
            "{}/{}/{}/{}",
            self.group.replace('.', "/"),
            self.artifact,
            self.version,
            self.file()
        )
    }

    /// `group:artifact:version:extension[:classifier]`, as `mvn` takes it.
    pub fn coordinates(&self) -> String {
        let classifier = self.classifier.as_deref();
        let classifier = classifier.map(|c| format!(":{c}")).unwrap_or_default();
        format!(
            "{}:{}:{}:{}{classifier}",
            self.group, self.artifact, self.version, self.extension
        )
    }

    /// Whether every part is a plain word: nothing that a path or a program could read as something else.
    pub fn is_plain(&self) -> bool {
        let parts = [&self.group, &self.artifact, &self.version, &self.extension];
        let parts = parts.into_iter().chain(self.classifier.as_ref());
        parts.into_iter().all(|part| {
            !part.is_empty()
                && !part.starts_with(['.', '-'])
                && !part.contains("..")
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b))
        })
    }
}

/// The artifact's file in a local repository, if it is there.
pub(super) fn in_repository(repository: &Path, artifact: &MavenArtifact) -> Option<PathBuf> {
    let path = repository.join(artifact.path());
    fs::metadata(&path).ok().flatten().map(|_| path)
}

/// Lets `mvn` bring the artifact into the local repository and copy it into `folder`; gives the copy's path.
pub(super) fn get(
    mvn: &Path,
    repository: &Path,
    artifact: &MavenArtifact,
    folder: &Path,
) -> Result<PathBuf, FetchError> {
    let failed = |what: String| FetchError::Maven {
        artifact: artifact.coordinates(),
        what,
    };
    if !artifact.is_plain() {
        return Err(failed("its coordinates are not plain words".to_owned()));
    }
    let said = run(
        Command::new(mvn)
            .arg("-B")
            .arg("dependency:copy")
            .arg(format!("-Dartifact={}", artifact.coordinates()))
            .arg(format!("-DoutputDirectory={}", folder.display()))
            .arg("-Dmdep.useBaseVersion=true")
            .arg(format!("-Daether.connector.connectTimeout={CONNECT_MS}"))
            .arg(format!(
                "-Daether.transport.http.connectTimeout={CONNECT_MS}"
            ))
            .arg(format!("-Dmaven.wagon.http.connectionTimeout={CONNECT_MS}"))
            .current_dir(folder),
        &[folder, fs::parent(&repository.join(artifact.path()))],
    );
    said.map_err(failed)?;
    let path = folder.join(artifact.file());
    if fs::metadata(&path)?.is_none() {
        return Err(failed("it ended well but brought nothing".to_owned()));
    }
    Ok(path)
}

/// Runs a program to its end, or stops it when it is silent and nothing in `growing` grows for too long. On failure gives the first line in which it
/// says what is wrong.
fn run(command: &mut Command, growing: &[&Path]) -> Result<(), String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("it could not be started: {e}"))?;
    let (send, lines) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
    }
    let mut wrong = None;
    let mut alive = Instant::now();
    let mut size: u64 = 0;
    loop {
        match lines.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => {
                alive = Instant::now();
                if wrong.is_none() && line.starts_with("[ERROR]") {
                    wrong = Some(line.trim_start_matches("[ERROR]").trim().to_owned());
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let now = growing.iter().map(|folder| weight(folder)).sum();
                if now != size {
                    size = now;
                    alive = Instant::now();
                }
                if alive.elapsed() > SILENCE {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("it was silent for {} s", SILENCE.as_secs()));
                }
            }
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(wrong.unwrap_or_else(|| format!("it ended with {status}"))),
        Err(e) => Err(format!("it was lost: {e}")),
    }
}

/// Bytes of the files in a folder.
fn weight(folder: &Path) -> u64 {
    let files = fs::list(folder).unwrap_or_default();
    let sizes = files.iter().filter_map(|f| fs::metadata(f).ok().flatten());
    sizes.map(|m| m.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(version: &str) -> MavenArtifact {
        MavenArtifact {
            group: "org.example.a".to_owned(),
            artifact: "cpython".to_owned(),
            version: version.to_owned(),
            classifier: Some("linux-x86_64".to_owned()),
            extension: "jar".to_owned(),
        }
    }

    #[test]
    fn knows_the_repository_layout() {
        let artifact = artifact("3.12.1-1.5");
        assert_eq!(
            artifact.path(),
            "org/example/a/cpython/3.12.1-1.5/cpython-3.12.1-1.5-linux-x86_64.jar"
        );
        assert_eq!(
            artifact.coordinates(),
            "org.example.a:cpython:3.12.1-1.5:jar:linux-x86_64"
        );
    }

    #[test]
    fn refuses_coordinates_that_are_not_words() {
        assert!(artifact("1.0+x").is_plain());
        for bad in ["", "..", "1/2", "-Dx", "1:2", "1 2", "a/../b", "1..2"] {
            assert!(!artifact(bad).is_plain(), "{bad}");
        }
    }

    #[test]
    fn says_what_a_program_said() {
        let dir = tempfile::tempdir().unwrap();
        let sh = |script: &str| run(Command::new("sh").args(["-c", script]), &[dir.path()]);
        assert_eq!(sh("exit 0"), Ok(()));
        assert_eq!(
            sh("echo '[ERROR] no such thing'; echo '[ERROR] more'; exit 1"),
            Err("no such thing".to_owned())
        );
        assert!(run(&mut Command::new("/nonexistent/mvn"), &[dir.path()]).is_err());
    }
}
