//! The two text files of a wheelhouse: `manifest.txt`, to which every build run is appended and of which the last run counts,
//! and `requirements-pypi.txt`, what its wheels need from elsewhere. Text in, types out.

use serde::{Deserialize, Serialize};

/// One build run as `manifest.txt` tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// When it began, as written; none where the file has no run line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The command that was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Compute capabilities of `# cuda arch list: …`, as written.
    pub cuda_arch: Vec<String>,
    /// Packages of `FAILED …` lines.
    pub failed: Vec<String>,
    /// Every other line: what was compiled, and how.
    pub lines: Vec<String>,
}

/// The last run of a `manifest.txt`; runs before it are counted only.
pub fn last_run(text: &str) -> (Run, usize) {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let starts: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| run_line(line).is_some())
        .map(|(number, _)| number)
        .collect();
    let mut run = Run::default();
    let begin = starts.last().copied().unwrap_or(0);
    for line in lines.iter().skip(begin) {
        if let Some((started, command)) = run_line(line) {
            run.started = Some(started.to_owned());
            run.command = Some(command.to_owned());
        } else if let Some(list) = comment(line).and_then(|c| c.strip_prefix("cuda arch list:")) {
            run.cuda_arch = list
                .split([' ', ';', ','])
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
        } else if let Some(package) = line.strip_prefix("FAILED ") {
            run.failed.push(package.trim().to_owned());
        } else if !line.is_empty() {
            run.lines.push((*line).to_owned());
        }
    }
    (run, starts.len().saturating_sub(1))
}

fn comment(line: &str) -> Option<&str> {
    line.strip_prefix('#').map(str::trim_start)
}

/// `# 2026-01-31 12:00:00Z build_wheels.sh …` → its time and command.
fn run_line(line: &str) -> Option<(&str, &str)> {
    let rest = comment(line)?;
    let (date, rest) = rest.split_once(' ')?;
    let (time, command) = rest.split_once("Z ")?;
    let digits = |text: &str, separator: char, parts: usize| {
        let all: Vec<&str> = text.split(separator).collect();
        all.len() == parts
            && all
                .iter()
                .all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
    };
    let is_run =
        digits(date, '-', 3) && digits(time, ':', 3) && command.starts_with("build_wheels.sh");
    let started = line.get(..line.find("Z ")? + 1)?;
    is_run.then(|| (comment(started).unwrap_or(started), command))
}

/// The requirements of a `requirements-pypi.txt`, without comments and options.
pub fn requirements(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split(" #").next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '-']))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_run_counts() {
        let text = "# 2026-01-01 10:00:00Z build_wheels.sh all\nFAILED swin3d\n\
                    # 2026-01-02 11:30:00Z build_wheels.sh pointops --jobs 4\n# cuda arch list: 8.0;9.0 12.0\n\
                    pointops: python setup.py bdist_wheel\nFAILED  pointrope \n";
        let (run, earlier) = last_run(text);
        assert_eq!(earlier, 1);
        assert_eq!(run.started.as_deref(), Some("2026-01-02 11:30:00Z"));
        assert_eq!(
            run.command.as_deref(),
            Some("build_wheels.sh pointops --jobs 4")
        );
        assert_eq!(run.cuda_arch, ["8.0", "9.0", "12.0"]);
        assert_eq!(run.failed, ["pointrope"]);
        assert_eq!(run.lines, ["pointops: python setup.py bdist_wheel"]);
    }

    #[test]
    fn a_file_without_runs_is_one_run() {
        let (run, earlier) = last_run("FAILED a\n# note\n\n");
        assert_eq!(
            (run.failed, run.lines, earlier),
            (vec!["a".to_owned()], vec!["# note".to_owned()], 0)
        );
        assert_eq!(last_run(""), (Run::default(), 0));
        assert!(run_line("# 2026-01-01 10:00Z build_wheels.sh").is_none());
    }

    #[test]
    fn requirements_are_read_without_comments() {
        let text = "# made by\n--index-url x\nnumpy>=2 # why\n\nscipy\n";
        assert_eq!(requirements(text), ["numpy>=2", "scipy"]);
    }
}
