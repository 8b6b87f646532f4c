//! Recipes as a user writes them: what is accepted, what is refused, with the line and the nearest key.

use std::path::Path;

use bundler::build::recipe::{self, Origin, Recipe};

const SMALL: &str = r#"name = "small"
version = "1"
python = "3.12"

[[interpreter]]
kind = "pbs"
version = "3.12.14"
release = "20260814"
sha256.amd64 = "5acfa3e9ba26b51ae161c83aff278da915b590d22373a424b2ba55b8afe91fcc"

[index.pypi]
kind = "simple"
default = true

[index.wheelhouse]
kind = "wheelhouse"
url = "wheels-{arch}-{accel}-torch{torch}-cp{cp}"

[[packages]]
index = "pypi"
layer = "base"
require = ["torch=={torch}"]

[[packages]]
index = "wheelhouse"
require = ["spconv-{accel}", "Point_Ops; platform_machine == 'x86_64'"]

[target.amd64-cu130]
torch = "2.9.1"
cuda_arch = ["8.0", "9.0"]
driver_floor = "580.65.06"
"#;

fn parse(text: &str) -> Result<Recipe, String> {
    Recipe::parse(text, "small", Origin::File("small.toml".into())).map_err(|e| e.to_string())
}

/// The error of the small recipe with `from` written as `to`.
fn refused(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from:?} is not in the recipe");
    parse(&SMALL.replacen(from, to, 1)).expect_err(to)
}

#[test]
fn names_are_put_in_and_packages_sorted() {
    let wanted = parse(SMALL)
        .unwrap()
        .wanted("amd64-cu130".parse().unwrap())
        .unwrap();
    let rows: Vec<_> = wanted
        .requirements
        .iter()
        .map(|w| (w.name.as_str(), w.requirement.as_str(), w.index.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            (
                "point-ops",
                "Point_Ops; platform_machine == 'x86_64'",
                "wheelhouse"
            ),
            ("spconv-cu130", "spconv-cu130", "wheelhouse"),
            ("torch", "torch==2.9.1", "pypi"),
        ]
    );
    let url = wanted.indexes["wheelhouse"].url.as_deref();
    assert_eq!(url, Some("wheels-amd64-cu130-torch2.9.1-cp312"));
    assert_eq!(wanted.default_alias(), Some("pypi"));
}

/// Each fault made alone in the small recipe, with what is said of it.
const FAULTS: &[(&str, &str)] = &[
    ("version = \"1\"", "version = \"1\"\nbytecod = \"none\""),
    ("driver_floor", "driver_flor"),
    ("release =", "relase ="),
    ("default = true", "zzzzzzzz = true"),
    ("\"3.12\"", "\"3.12.1\""),
    ("\"3.12\"", "\"3.13\""),
    ("kind = \"pbs\"", "kind = \"conda\""),
    ("release = \"20260814\"\n", ""),
    (
        "release = \"20260814\"",
        "release = \"20260814\"\nartifact = \"a:b:c\"",
    ),
    ("5acfa3e9", "5ACFA3E9"),
    ("sha256.amd64", "sha256.arm64"),
    ("torch = \"2.9.1\"", "torch = \"2.8.0\""),
    ("torch = \"2.9.1\"", "torch = \"2.9.1+cu130\""),
    ("torch = \"2.9.1\"\n", ""),
    ("[\"8.0\", \"9.0\"]", "[\"7.0\", \"9.0\"]"),
    ("[\"8.0\", \"9.0\"]", "[\"9.0\", \"8.0\"]"),
    ("[\"8.0\", \"9.0\"]", "[\"sm_90\"]"),
    ("amd64-cu130", "amd64-cu1300"),
    ("index = \"wheelhouse\"", "index = \"wheelhuose\""),
    ("[index.wheelhouse]", "[index.Wheel_house]"),
    ("[index.wheelhouse]", "[index.pbs]"),
    ("default = true", ""),
    (
        "url = \"wheels",
        "url = \"https://me:secret@example.org/wheels",
    ),
    ("torch{torch}", "torch{toch}"),
    ("spconv-{accel}", "spconv @ https://example.org/a.whl"),
    ("spconv-{accel}", "spconv =="),
    ("spconv-{accel}", "torch==2.9.1"),
    (
        "driver_floor = \"580",
        "without = [\"scipy\"]\ndriver_floor = \"580",
    ),
    ("name = \"small\"", "name = \"../small\""),
];

#[test]
fn each_fault_is_named_with_its_line() {
    let said: String = FAULTS
        .iter()
        .map(|(from, to)| format!("{from:?} as {to:?}\n  {}\n", refused(from, to)))
        .collect();
    insta::assert_snapshot!("recipe_faults", said);
}

#[test]
fn a_source_with_a_password_is_refused_and_the_password_not_said() {
    let with = |key: &str, address: &str, pin: &str| {
        format!("{SMALL}\n[source]\nfolder = \"app\"\n{key} = \"{address}\"\n{pin}\n")
    };
    let (rev, sha256) = ("rev = \"v1\"", format!("sha256 = \"{}\"", "0".repeat(64)));
    for text in [
        with("git", "https://me:s3cret@h/x", rev),
        with("git", "https://s3cret@h/x", rev),
        with("git", "ssh://me:s3cret@h/x", rev),
        with("archive", "https://me:s3cret@h/x.zip", &sha256),
    ] {
        let said = parse(&text).unwrap_err();
        assert!(
            said.contains("the address of [source] holds a user or password"),
            "{said}"
        );
        assert!(!said.contains("s3cret"), "{said}");
    }
    parse(&with("git", "ssh://git@h/x", rev)).unwrap();
    parse(&with("git", "https://h/x", rev)).unwrap();
}

#[test]
fn a_gpu_list_its_toolkit_cannot_emit_is_refused() {
    let text = SMALL
        .replace("amd64-cu130", "amd64-cu128")
        .replace("\"9.0\"]", "\"10.3\"]");
    assert_eq!(
        parse(&text).unwrap_err(),
        "recipe small.toml, line 30 column 1: the compiler of cu128 emits no code for compute capability 10.3"
    );
}

#[test]
fn built_in_recipes_are_read_and_found_by_name() {
    let nowhere = tempfile::tempdir().unwrap();
    assert_eq!(recipe::embedded_names(), ["numpy", "pointcept", "registry"]);
    for name in recipe::embedded_names() {
        let recipe = Recipe::find(&name, nowhere.path()).unwrap();
        assert_eq!(recipe.origin(), &Origin::Embedded);
        for target in recipe.targets().collect::<Vec<_>>() {
            assert!(!recipe.wanted(target).unwrap().requirements.is_empty());
        }
    }
}

#[test]
fn a_recipe_in_the_working_folder_comes_before_the_built_in_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("recipes")).unwrap();
    std::fs::write(dir.path().join("recipes/numpy.toml"), SMALL).unwrap();
    let recipe = Recipe::find("numpy", dir.path()).unwrap();
    assert_eq!(recipe.keys().name, "small");
    assert_eq!(recipe.folder(), Some(dir.path().join("recipes").as_path()));
}

#[test]
fn the_committed_schema_is_the_one_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/recipe.schema.json");
    if std::env::var_os("BUNDLER_BLESS").is_some() {
        std::fs::write(&path, recipe::schema()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        recipe::schema(),
        "run the tests once with BUNDLER_BLESS=1 to write it anew"
    );
}

#[test]
fn every_key_of_the_schema_is_described_in_the_readme() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes/README.md"))
            .unwrap();
    let schema: serde_json::Value = serde_json::from_str(&recipe::schema()).unwrap();
    let mut keys = Vec::new();
    collect(&schema, &mut keys);
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys {
        let shown = [
            format!("`{key}`"),
            format!("`[{key}"),
            format!("`[[{key}"),
            format!(".{key}`"),
        ];
        assert!(
            shown.iter().any(|s| readme.contains(s)),
            "{key} is not described"
        );
    }
}

fn collect(value: &serde_json::Value, keys: &mut Vec<String>) {
    let Some(object) = value.as_object() else {
        return;
    };
    if let Some(properties) = object.get("properties").and_then(|p| p.as_object()) {
        keys.extend(properties.keys().cloned());
    }
    for inner in object.values() {
        collect(inner, keys);
    }
}

#[test]
fn the_pointcept_recipe_has_the_six_targets_of_its_wheelhouses() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recipe = Recipe::find("pointcept", dir).unwrap();
    let targets: Vec<String> = recipe.targets().map(|t| t.to_string()).collect();
    assert_eq!(
        targets,
        [
            "amd64-cu126",
            "amd64-cu128",
            "amd64-cu130",
            "arm64-cu126",
            "arm64-cu128",
            "arm64-cu130"
        ]
    );
    let wanted = recipe.wanted("arm64-cu130".parse().unwrap()).unwrap();
    assert_eq!(
        wanted.indexes["wheelhouse"].url.as_deref(),
        Some(
            "https://github.com/cvprun/Pointcept/releases/expanded_assets/v1.7.0-linux-arm64-cu130-torch2.9.1-cp312"
        )
    );
}
