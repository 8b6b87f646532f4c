//! The bill of materials of a bundle as CycloneDX 1.6 JSON: every component with package URL, digest, licence and files. No time
//! and no random number stands in it: the same bundle has the same bill.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Known;
use super::spdx::is_expression;
use crate::base::digest::Digest;
use crate::build::assemble::Placed;
use crate::formats::component::{ComponentKind, Entry, EntryKind};

/// The bill.
pub fn sbom(known: &Known<'_>) -> Value {
    let bundle = known.bundle;
    let facts = &bundle.facts;
    let terms: BTreeMap<&str, &str> = known
        .report
        .licences
        .iter()
        .filter_map(|l| Some((l.distribution.as_str(), l.terms.as_deref()?)))
        .collect();
    let parts = known.tree.parts().iter();
    let parts = parts
        .filter(|p| p.component.kind != ComponentKind::Layout || !p.component.entries.is_empty());
    let components: Vec<Value> = parts
        .enumerate()
        .map(|(n, p)| component(n, p, &terms))
        .collect();
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial(&known.subject.identity),
        "version": 1,
        "metadata": {
            "tools": {"components": [{
                "type": "application", "name": "bundler", "version": env!("CARGO_PKG_VERSION"),
            }]},
            "component": {
                "type": "application",
                "bom-ref": "bundle",
                "name": facts.name,
                "version": facts.version,
                "hashes": hashes(Some(known.subject.sha256)),
                "properties": properties(&[
                    ("bundler:target", facts.target.target().to_string()),
                    ("bundler:identity", known.subject.identity.to_string()),
                    ("bundler:python", facts.python.clone()),
                ]),
            },
        },
        "components": components,
        "dependencies": [{
            "ref": "bundle",
            "dependsOn": components.iter().filter_map(|c| c.get("bom-ref")).collect::<Vec<_>>(),
        }],
    })
}

/// A name-based UUID: the first bytes of the identity, marked as version 8 (RFC 9562).
fn serial(identity: &Digest) -> String {
    let mut bytes = [0u8; 16];
    for (to, from) in bytes.iter_mut().zip(identity.bytes()) {
        *to = *from;
    }
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    )
}

fn component(number: usize, part: &Placed, terms: &BTreeMap<&str, &str>) -> Value {
    let component = &part.component;
    let name = component.name.as_str();
    let mut out = Map::new();
    let kind = match component.kind {
        ComponentKind::Interpreter => "platform",
        ComponentKind::Source => "application",
        ComponentKind::Layout => "data",
        _ => "library",
    };
    let reference = format!("component-{number}");
    out.insert("type".into(), kind.into());
    out.insert("bom-ref".into(), reference.clone().into());
    out.insert("name".into(), name.into());
    if let Some(version) = &component.version {
        out.insert("version".into(), version.as_str().into());
    }
    if let Some(url) = purl(part) {
        out.insert("purl".into(), url.into());
    }
    if component.artifact.is_some() {
        out.insert("hashes".into(), hashes(component.artifact));
    }
    let licences = licences(part, terms.get(name).copied());
    if !licences.is_empty() {
        out.insert("licenses".into(), licences.into());
    }
    let mut about = vec![
        ("bundler:layer", format!("{:?}", part.layer).to_lowercase()),
        ("bundler:component-id", component.id.to_string()),
    ];
    about.extend(part.source.clone().map(|alias| ("bundler:source", alias)));
    if let Some(facts) = &component.distribution {
        about.push(("bundler:file", facts.file_name.clone()));
    }
    out.insert("properties".into(), properties(&about));
    let files: Vec<Value> = component.entries.iter().filter_map(file).collect();
    if !files.is_empty() {
        out.insert("components".into(), files.into());
    }
    Value::Object(out)
}

/// `pkg:pypi/torch@2.11.0`, for what an index gave.
fn purl(part: &Placed) -> Option<String> {
    let component = &part.component;
    let version = component.version.as_deref()?;
    let plain = |text: &str| {
        let keep = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'~');
        let mut out = String::new();
        for byte in text.bytes() {
            if keep(byte) {
                out.push(byte.into());
            } else {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    };
    let kind = match component.kind {
        ComponentKind::Wheel => "pypi",
        ComponentKind::Interpreter => "generic",
        _ => return None,
    };
    Some(format!(
        "pkg:{kind}/{}@{}",
        plain(&component.name),
        plain(version)
    ))
}

fn licences(part: &Placed, terms: Option<&str>) -> Vec<Value> {
    let own = part
        .component
        .distribution
        .as_ref()
        .and_then(|d| d.license.as_deref());
    match (own.map(str::trim).filter(|t| !t.is_empty()), terms) {
        (Some(text), _) if is_expression(text) => vec![json!({"expression": text})],
        (Some(text), _) => vec![json!({"license": {"name": text}})],
        (None, Some(terms)) => vec![json!({"license": {"name": terms}})],
        (None, None) => Vec::new(),
    }
}

fn file(entry: &Entry) -> Option<Value> {
    let is_file = matches!(entry.kind, EntryKind::File);
    is_file.then(|| json!({"type": "file", "name": entry.path, "hashes": hashes(entry.sha256)}))
}

fn hashes(digest: Option<Digest>) -> Value {
    let all = digest.map(|d| json!({"alg": "SHA-256", "content": d.to_string()}));
    all.into_iter().collect::<Vec<_>>().into()
}

fn properties(all: &[(&str, String)]) -> Value {
    let property = |(name, value): &(&str, String)| json!({"name": name, "value": value});
    all.iter().map(property).collect::<Vec<_>>().into()
}
