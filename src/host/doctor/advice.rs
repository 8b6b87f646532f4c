//! Ways out in the words of the host's own distribution: which package brings a library, how packages are installed.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::system::System;

const TABLE: &str = include_str!("packages.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packages {
    install: BTreeMap<String, String>,
    library: Vec<Library>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Library {
    soname: String,
    package: BTreeMap<String, String>,
}

fn packages() -> &'static Packages {
    static PACKAGES: OnceLock<Packages> = OnceLock::new();
    // A table that cannot be read fails the unit test below.
    PACKAGES.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
}

/// The family whose packages a host takes.
fn family(system: &System) -> Option<&'static str> {
    let is = |names: &[&str]| system.family.iter().any(|id| names.contains(&id.as_str()));
    match () {
        () if is(&["debian", "ubuntu"]) => Some("debian"),
        () if is(&["rhel", "fedora", "centos", "amzn"]) => Some("rhel"),
        () if is(&["suse", "opensuse", "sles"]) => Some("suse"),
        () if is(&["arch"]) => Some("arch"),
        () => None,
    }
}

/// How a host gets a library it lacks.
pub(super) fn library(system: &System, soname: &str) -> String {
    let table = packages();
    let row = table.library.iter().find(|row| row.soname == soname);
    let command = family(system).and_then(|family| {
        let package = row?.package.get(family)?;
        Some(format!("{} {package}", table.install.get(family)?))
    });
    match command {
        Some(command) => format!("as root: {command}"),
        None => format!("install the package of this system that brings {soname}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::doctor::Platform;

    #[test]
    fn names_the_package_of_the_distribution() {
        let packages: Packages = toml::from_str(TABLE).unwrap();
        assert!(packages.library.len() > 5);
        let system = |ids: &[&str]| System {
            arch: None,
            kernel: None,
            distribution: None,
            family: ids.iter().map(ToString::to_string).collect(),
            platform: Platform::Plain,
            container: false,
        };
        let name = "libstdc++.so.6";
        assert_eq!(
            library(&system(&["linuxmint", "ubuntu", "debian"]), name),
            "as root: apt-get install libstdc++6"
        );
        assert_eq!(
            library(&system(&["rocky", "rhel", "centos", "fedora"]), name),
            "as root: dnf install libstdc++"
        );
        let other = "install the package of this system that brings libstdc++.so.6";
        assert_eq!(library(&system(&["nixos"]), name), other);
        assert_eq!(library(&system(&[]), name), other);
    }
}
