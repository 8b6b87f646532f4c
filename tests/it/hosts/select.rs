//! `bundler select` on every shape, from a file and from a server.

use super::doctor::{bundler, index, json, short};
use super::shape::all;

#[test]
fn every_shape_gets_the_bundle_that_fits_best() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index.json");
    std::fs::write(&path, index().to_bytes().unwrap()).unwrap();
    let mut wrong = Vec::new();
    let mut none = 0;
    for (name, shape) in all() {
        let root = dir.path().join(&name);
        shape.make(&root);
        let mut arguments = vec![
            "select",
            path.to_str().unwrap(),
            "--sysroot",
            root.to_str().unwrap(),
        ];
        arguments.extend(["--output-format", "json"]);
        arguments.extend(shape.arguments.iter().map(String::as_str));
        let out = bundler(&arguments);
        let told = json(&out);
        let best = told["best"].as_str().map(short);
        if best != shape.expect.select {
            wrong.push(format!(
                "{name}: {best:?} instead of {:?}",
                shape.expect.select
            ));
        }
        let unknown = shape.expect.verdicts.values().any(|v| v == "unknown");
        let code = match (&best, unknown) {
            (Some(_), _) => 0,
            (None, true) => 2,
            (None, false) => 1,
        };
        assert_eq!(out.status.code(), Some(code), "{name}");
        none += usize::from(best.is_none());
        let offers = told["offers"].as_array().unwrap();
        assert_eq!(offers.len(), index().bundles.len());
        for (number, offer) in offers.iter().enumerate() {
            let refused = offer["reasons"]
                .as_array()
                .unwrap()
                .iter()
                .any(|r| r["severity"] != "note");
            let said = offer["why"].as_str().is_some() || refused;
            assert!(
                said,
                "{name}: nothing says why {number} was not taken: {offer}"
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(none > 10, "shapes that nothing fits are among them");
}
