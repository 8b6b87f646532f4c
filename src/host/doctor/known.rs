//! What is known of NVIDIA's drivers and devices, read from `nvidia.toml`: which compute capability a model
//! has, and which driver a device needs. What is not in the table is not known; nothing is guessed from similar names.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::base::capability::ComputeCapability;
use crate::formats::driver::DriverVersion;

const TABLE: &str = include_str!("nvidia.toml");

/// The tables.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    #[serde(default)]
    device: Since,
    #[serde(default)]
    model: Vec<Model>,
    #[serde(default)]
    board: Vec<Board>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    since: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    capability: ComputeCapability,
    names: Vec<String>,
}

/// An embedded board.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// What the device tree says.
    pub compatible: String,
    /// What people call it.
    pub name: String,
    /// Capability of its GPU.
    pub capability: ComputeCapability,
    /// Which libraries its system has.
    pub abi: Abi,
}

/// Which libraries of NVIDIA's a 64-bit Arm machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Abi {
    /// Those made for servers, as on PyPI.
    Sbsa,
    /// Only those of its own JetPack.
    Tegra,
}

impl Known {
    /// The tables that are built in.
    pub fn built_in() -> &'static Self {
        static KNOWN: OnceLock<Known> = OnceLock::new();
        // A table that cannot be read fails the unit test below; a program without tables knows nothing.
        KNOWN.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
    }

    /// The first driver that knows a device, for devices that came after the drivers that matter here.
    pub fn first_driver(&self, device: ComputeCapability) -> Option<DriverVersion> {
        let rows = self.device.since.iter();
        let wanted = device.to_string();
        rows.filter(|(capability, _)| *capability == wanted)
            .find_map(|(_, since)| since.parse().ok())
    }

    /// The capability of a device by the name its driver gives.
    pub fn capability_of(&self, name: &str) -> Option<ComputeCapability> {
        let given = words(name);
        let mut best: Option<(usize, ComputeCapability)> = None;
        for model in &self.model {
            for candidate in &model.names {
                let wanted: Vec<String> = words(candidate);
                let fits = given
                    .windows(wanted.len().max(1))
                    .any(|part| part == wanted);
                if fits && best.is_none_or(|(len, _)| wanted.len() > len) {
                    best = Some((wanted.len(), model.capability));
                }
            }
        }
        best.map(|(_, capability)| capability)
    }

    /// The board whose device tree says one of these names.
    pub fn board(&self, compatible: &[&str]) -> Option<&Board> {
        self.board
            .iter()
            .find(|board| compatible.contains(&board.compatible.as_str()))
    }
}

/// Lower-case words between blanks, dashes and the like.
fn words(name: &str) -> Vec<String> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let known: Known = toml::from_str(TABLE).unwrap();
        assert!(known.model.len() > 5 && known.board.len() > 1);
    }

    #[test]
    fn models_are_told_by_whole_words() {
        let known = Known::built_in();
        for (name, capability) in [
            ("NVIDIA A100-SXM4-80GB", Some("8.0")),
            ("NVIDIA A10", Some("8.6")),
            ("NVIDIA A10G", Some("8.6")),
            ("NVIDIA H100 80GB HBM3", Some("9.0")),
            ("NVIDIA H200", Some("9.0")),
            ("NVIDIA GH200 480GB", Some("9.0")),
            ("NVIDIA L4", Some("8.9")),
            ("NVIDIA B300 SXM6 AC", Some("10.3")),
            ("NVIDIA GB10", Some("12.1")),
            ("Tesla T4", Some("7.5")),
            ("Quadro RTX 6000", Some("7.5")),
            ("NVIDIA RTX 6000 Ada Generation", Some("8.9")),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", Some("12.0")),
            ("NVIDIA GeForce RTX 4090", Some("8.9")),
            ("Orin (nvgpu)", Some("8.7")),
            ("NVIDIA Thor", Some("11.0")),
            ("NVIDIA X1000", None),
            ("NVIDIA A1000", None),
            ("", None),
        ] {
            let want = capability.map(|c| c.parse().unwrap());
            assert_eq!(known.capability_of(name), want, "{name}");
        }
    }
}
