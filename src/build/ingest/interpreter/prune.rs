//! What an interpreter brings along that a bundle has no use for, as rules; each that applies is a note of the plan.

use super::tree::Tree;
use super::{Subject, note};
use crate::base::finding::Finding;

struct Rule {
    code: &'static str,
    /// For people: where it was.
    place: String,
    why: &'static str,
    picks: Box<dyn Fn(&str) -> bool>,
}

/// Leaves out what the rules pick.
pub(super) fn leave_out(tree: &mut Tree, subject: &Subject<'_>, notes: &mut Vec<Finding>) {
    for rule in rules(tree, subject) {
        let (files, bytes) = tree.remove_all(&rule.picks);
        if files > 0 {
            let message = format!("left out {files} files, {bytes} bytes: {}", rule.why);
            notes.push(note(rule.code, &rule.place, message));
        }
    }
}

fn ends_in(path: &str, ending: &str) -> bool {
    path.ends_with(ending)
}

#[expect(clippy::too_many_lines, reason = "a table: one rule after the other")]
fn rules(tree: &Tree, subject: &Subject<'_>) -> Vec<Rule> {
    let stdlib = subject.stdlib();
    let inside = |folders: &[&str]| -> Box<dyn Fn(&str) -> bool> {
        let folders: Vec<String> = folders.iter().map(|f| format!("{stdlib}/{f}/")).collect();
        Box::new(move |path| folders.iter().any(|f| path.starts_with(f)))
    };
    let mut rules = vec![
        Rule {
            code: "interpreter-bytecode-left-out",
            place: stdlib.clone(),
            why: "bytecode is made anew, the same on every machine",
            picks: Box::new(|path| ends_in(path, ".pyc") || path.contains("/__pycache__/")),
        },
        Rule {
            code: "interpreter-tests-left-out",
            place: format!("{stdlib}/test"),
            why: "the interpreter's own test suites, which nothing but they themselves uses",
            picks: {
                let suites = inside(&[
                    "test",
                    "idlelib/idle_test",
                    "lib2to3/tests",
                    "ctypes/test",
                    "distutils/tests",
                    "sqlite3/test",
                    "tkinter/test",
                    "unittest/test",
                ]);
                let dynload = format!("{stdlib}/lib-dynload/");
                Box::new(move |path| {
                    suites(path)
                        || path.strip_prefix(&dynload).is_some_and(|module| {
                            [
                                "_test",
                                "_ctypes_test",
                                "_xxtestfuzz",
                                "xxlimited",
                                "xxsubtype",
                            ]
                            .iter()
                            .any(|name| module.starts_with(name))
                        })
                })
            },
        },
        Rule {
            code: "interpreter-static-libraries-left-out",
            place: "lib".to_owned(),
            why: "static libraries and object files are for building another interpreter",
            picks: Box::new(|path| ends_in(path, ".a") || path.ends_with("/python.o")),
        },
        Rule {
            code: "interpreter-distributions-left-out",
            place: format!("{stdlib}/site-packages"),
            why: "pip and setuptools come as locked wheels where a recipe wants them",
            picks: {
                let packages = inside(&["site-packages"]);
                Box::new(move |path| packages(path) || path.starts_with("bin/pip"))
            },
        },
        Rule {
            code: "interpreter-openssl-left-out",
            place: "lib".to_owned(),
            why: "OpenSSL is inside the modules; its loadable modules are looked for where it was built",
            picks: Box::new(|path| {
                path.starts_with("lib/engines-")
                    || path.starts_with("lib/ossl-modules/")
                    || ["libcrypto.pc", "libssl.pc", "openssl.pc"]
                        .iter()
                        .any(|name| path.strip_prefix("lib/pkgconfig/") == Some(name))
                    || path == "bin/c_rehash"
            }),
        },
        Rule {
            code: "interpreter-config-left-out",
            place: "lib".to_owned(),
            why: "shell files that name the place Tcl and Tk were built in",
            picks: Box::new(|path| path.starts_with("lib/") && path.ends_with("Config.sh")),
        },
        Rule {
            code: "interpreter-hook-left-out",
            place: stdlib.clone(),
            why: "start-up modules give way to the bundle's own",
            picks: {
                let stdlib = stdlib.clone();
                Box::new(move |path| {
                    ["sitecustomize.py", "usercustomize.py", "EXTERNALLY-MANAGED"]
                        .iter()
                        .any(|name| path.strip_prefix(&format!("{stdlib}/")) == Some(name))
                })
            },
        },
    ];
    let dynload = format!("{stdlib}/lib-dynload/_tkinter.");
    if tree.paths(|path| path.starts_with(&dynload)).is_empty() {
        let folders = inside(&["tkinter", "idlelib", "turtledemo"]);
        let turtle = format!("{stdlib}/turtle.py");
        rules.push(Rule {
            code: "interpreter-tkinter-left-out",
            place: format!("{stdlib}/tkinter"),
            why: "this interpreter was built without Tcl/Tk, so tkinter, IDLE and turtle cannot work",
            picks: Box::new(move |path| folders(path) || path == turtle || path.starts_with("bin/idle")),
        });
    }
    rules
}
