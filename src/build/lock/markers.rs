//! Environment markers (PEP 508) as they are on the target, whatever machine this runs on.

use pep508_rs::{MarkerEnvironment, MarkerEnvironmentBuilder, Requirement, VerbatimUrl};

use crate::base::python::PythonMinor;
use crate::base::target::Arch;

/// The marker environment of a CPython on Linux.
pub fn environment(arch: Arch, python: PythonMinor) -> Option<MarkerEnvironment> {
    let minor = python.to_string();
    let full = format!("{minor}.0");
    MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
        implementation_name: "cpython",
        implementation_version: &full,
        os_name: "posix",
        platform_machine: arch.machine(),
        platform_python_implementation: "CPython",
        platform_release: "",
        platform_system: "Linux",
        platform_version: "",
        python_full_version: &full,
        python_version: &minor,
        sys_platform: "linux",
    })
    .ok()
}

/// Whether a requirement without extras applies on the target.
pub fn apply(requirement: &Requirement<VerbatimUrl>, arch: Arch, python: PythonMinor) -> bool {
    environment(arch, python).is_none_or(|env| requirement.evaluate_markers(&env, &[]))
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn markers_are_those_of_the_target() {
        let python: PythonMinor = "3.12".parse().unwrap();
        let holds = |text: &str, arch| {
            let requirement = Requirement::<VerbatimUrl>::from_str(text).unwrap();
            apply(&requirement, arch, python)
        };
        assert!(holds("a; platform_machine == 'aarch64'", Arch::Arm64));
        assert!(!holds("a; platform_machine == 'aarch64'", Arch::Amd64));
        assert!(holds(
            "a; sys_platform == 'linux' and python_version >= '3.9'",
            Arch::Amd64
        ));
        assert!(!holds(
            "a; os_name == 'nt' or implementation_name == 'pypy'",
            Arch::Amd64
        ));
        assert!(!holds("a; extra == 'dev'", Arch::Amd64));
    }
}
