//! What stays behind of a source folder: version control, caches, bytecode. And what stops the build: weights.

/// Folders (or files) of these names stay behind wherever they are.
const NAMES: [&str; 14] = [
    ".git",
    ".hg",
    ".svn",
    ".bzr",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".venv",
    ".ipynb_checkpoints",
    ".idea",
    ".DS_Store",
];

/// Whether a path of a source stays behind.
pub(super) fn is_left_out(path: &str) -> bool {
    path.split('/').any(|part| NAMES.contains(&part)) || has_ending(path, &[".pyc", ".pyo"])
}

/// Whether a file is a checkpoint. Small ones of these endings may be something else.
pub(super) fn is_weights(path: &str, size: u64) -> bool {
    size >= 1 << 20 && has_ending(path, &[".pth", ".pt", ".ckpt", ".safetensors"])
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    let lower = path.to_ascii_lowercase();
    endings.iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_behind_at_any_depth_and_only_whole() {
        for path in [
            ".git",
            "a/.git/config",
            "libs/x/.git",
            "a/__pycache__/b.cpython-312.pyc",
            "a/b.pyc",
        ] {
            assert!(is_left_out(path), "{path}");
        }
        for path in [
            ".gitignore",
            ".github/x.yml",
            "git",
            "a/.gitattributes",
            "pyc",
        ] {
            assert!(!is_left_out(path), "{path}");
        }
        assert!(is_weights("exp/model_best.pth", 1 << 20));
        assert!(!is_weights("a.pth", 100) && !is_weights("a.npy", 1 << 30));
    }
}
