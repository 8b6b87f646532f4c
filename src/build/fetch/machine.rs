//! What this machine says of its package index: the settings of pip and uv, and at last what the programs themselves
//! have built in. No address stands here.
//!
//! Order: command line, `POINTCEPT_BUNDLER_DEFAULT_INDEX`, `UV_DEFAULT_INDEX`, `UV_INDEX_URL`, `PIP_INDEX_URL`, pip.conf,
//! uv.toml, the default of pip, the default of uv.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::address::{Address, AddressError, address};
use super::error::FetchError;
use crate::base::fs::{self, FsResult};
use crate::base::http::Credentials;

/// Settings are smaller than this.
const LIMIT: u64 = 1 << 20;
/// How long a program may take to say its default: shims on a busy machine take many seconds.
const ASKING: Duration = Duration::from_mins(1);

/// What this machine says of its package index.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// The default index that settings name.
    pub named: Option<Address>,
    /// Programs that may be asked: a Python with pip, then uv.
    pub python: Option<PathBuf>,
    /// The uv program.
    pub uv: Option<PathBuf>,
    /// Other settings of pip's that we follow.
    pub pip: PipSettings,
}

/// Settings of pip.conf.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PipSettings {
    /// `index-url`.
    pub index_url: Option<String>,
    /// `cert`.
    pub cert: Option<PathBuf>,
    /// `proxy`.
    pub proxy: Option<String>,
    /// `trusted-host`.
    pub trusted_hosts: Vec<String>,
}

impl Machine {
    /// Reads the settings. `explicit` is the address of the command line; a user name and password in an address go
    /// into `credentials`.
    pub fn from_env(
        explicit: Option<&str>,
        var: &dyn Fn(&str) -> Option<String>,
        home: Option<&Path>,
        credentials: &mut Credentials,
    ) -> Result<Self, FetchError> {
        let var = |name: &str| var(name).filter(|v| !v.is_empty());
        let config_home = var("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| home.map(|h| h.join(".config")));
        let pip = pip_settings(&pip_files(&var, home, config_home.as_deref()))?;
        let mut named = explicit.map(ToOwned::to_owned);
        for name in [
            "POINTCEPT_BUNDLER_DEFAULT_INDEX",
            "UV_DEFAULT_INDEX",
            "UV_INDEX_URL",
            "PIP_INDEX_URL",
        ] {
            named = named.or_else(|| var(name));
        }
        named = named.or_else(|| pip.index_url.clone());
        if named.is_none() {
            let file = var("UV_CONFIG_FILE").map(PathBuf::from);
            let user = config_home.map(|c| c.join("uv/uv.toml"));
            let files = [file, user, Some(PathBuf::from("/etc/uv/uv.toml"))];
            for file in files.into_iter().flatten() {
                if let Some(bytes) = fs::read_if_exists(&file, LIMIT)? {
                    named = named.or_else(|| uv_index(&String::from_utf8_lossy(&bytes)));
                }
            }
        }
        let named = match named {
            None => None,
            // uv allows `name=address`.
            Some(text) => {
                let bare = text
                    .split_once('=')
                    .filter(|(n, _)| !n.contains([':', '/']));
                let text = bare.map_or(text.as_str(), |(_, url)| url);
                let found = address(text, None, credentials);
                Some(found.ok_or_else(|| AddressError::Address {
                    alias: "default".to_owned(),
                })?)
            }
        };
        Ok(Self {
            named,
            python: Some(PathBuf::from("python3")),
            uv: Some(PathBuf::from("uv")),
            pip,
        })
    }

    /// The address of the default index; asks pip and uv where no setting names one.
    pub fn default_index(&self) -> Result<Address, FetchError> {
        if let Some(address) = &self.named {
            return Ok(address.clone());
        }
        let of_pip = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)";
        let asked = [
            (self.python.as_deref(), vec!["-c", of_pip], true),
            (self.uv.as_deref(), vec!["pip", "compile", "--help"], false),
        ];
        for (program, arguments, bare) in asked {
            let Some(said) = program.and_then(|p| ask(p, &arguments)) else {
                continue;
            };
            let text = if bare {
                Some(said.trim())
            } else {
                uv_default(&said)
            };
            let found = text.and_then(|t| address(t, None, &mut Credentials::default()));
            if let Some(found @ Address::Simple(_)) = found {
                return Ok(found);
            }
        }
        Err(FetchError::NoDefaultIndex)
    }
}

/// pip's files, the strongest first.
fn pip_files(
    var: &dyn Fn(&str) -> Option<String>,
    home: Option<&Path>,
    config_home: Option<&Path>,
) -> Vec<PathBuf> {
    match var("PIP_CONFIG_FILE") {
        Some(file) if file == "/dev/null" => return Vec::new(),
        Some(file) => return vec![PathBuf::from(file)],
        None => {}
    }
    let site = var("VIRTUAL_ENV").map(|v| Path::new(&v).join("pip.conf"));
    let user = config_home.map(|c| c.join("pip/pip.conf"));
    let old = home.map(|h| h.join(".pip/pip.conf"));
    let system = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf"].map(PathBuf::from);
    site.into_iter()
        .chain(user)
        .chain(old)
        .chain(system)
        .collect()
}

fn pip_settings(files: &[PathBuf]) -> FsResult<PipSettings> {
    let mut out = PipSettings::default();
    for file in files {
        let Some(bytes) = fs::read_if_exists(file, LIMIT)? else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let value = |key| ini_value(&text, &["download", "install", "global"], key);
        out.index_url = out.index_url.or_else(|| value("index-url"));
        out.cert = out.cert.or_else(|| value("cert").map(PathBuf::from));
        out.proxy = out.proxy.or_else(|| value("proxy"));
        if out.trusted_hosts.is_empty() {
            let hosts = value("trusted-host").unwrap_or_default();
            out.trusted_hosts = hosts.split_whitespace().map(ToOwned::to_owned).collect();
        }
    }
    Ok(out)
}

/// A value of an INI file: of the first of `sections` that has the key. Indented lines continue a value.
fn ini_value(text: &str, sections: &[&str], key: &str) -> Option<String> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut section = String::new();
    let mut in_value = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t']) && in_value {
            if let Some((_, value)) = found.last_mut() {
                value.push(' ');
                value.push_str(bare);
            }
            continue;
        }
        in_value = false;
        if let Some(name) = bare.strip_prefix('[').and_then(|b| b.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
        } else if let Some((k, v)) = bare.split_once(['=', ':'])
            && k.trim().replace('_', "-").eq_ignore_ascii_case(key)
        {
            found.push((section.clone(), v.trim().to_owned()));
            in_value = true;
        }
    }
    sections.iter().find_map(|section| {
        let of_section = found.iter().find(|(s, _)| s == section);
        of_section.map(|(_, value)| value.trim().to_owned())
    })
}

/// The default index of a uv.toml: `[[index]]` with `default = true`, `index-url`, or `[pip] index-url`.
fn uv_index(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    let indexes = table.get("index").and_then(toml::Value::as_array);
    let default = indexes
        .into_iter()
        .flatten()
        .find(|index| index.get("default").and_then(toml::Value::as_bool) == Some(true));
    let text = |value: Option<&toml::Value>| value?.as_str().map(ToOwned::to_owned);
    text(default.and_then(|index| index.get("url")))
        .or_else(|| text(table.get("index-url")))
        .or_else(|| text(table.get("pip").and_then(|pip| pip.get("index-url"))))
}

/// The address in uv's help text, which says of `--default-index`: "(by default: <…>)".
fn uv_default(help: &str) -> Option<&str> {
    let (_, after) = help.split_once("--default-index")?;
    let (_, after) = after.split_once("default:")?;
    let (_, after) = after.split_once('<')?;
    Some(after.split_once('>')?.0.trim())
}

/// What a program prints, if it ends well in time. It runs in the root folder, so that nothing of the current folder is
/// taken for one of its modules.
fn ask(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut out = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut out, &mut text);
        text
    });
    let begin = Instant::now();
    while begin.elapsed() < ASKING {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return reader.join().ok(),
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pip_conf() {
        let text = "[global]\nindex_url = https://g.example/simple\n# x\ntrusted-host =\n    a.example\n    b.example\n\
                    [install]\nindex-url: https://i.example/simple\n";
        let value = |key| ini_value(text, &["install", "global"], key);
        assert_eq!(
            value("index-url").as_deref(),
            Some("https://i.example/simple")
        );
        assert_eq!(
            value("trusted-host").as_deref(),
            Some("a.example b.example")
        );
        assert_eq!(value("cert"), None);
    }

    #[test]
    fn reads_uv_toml() {
        let text = "index-url = \"https://o.example\"\n[[index]]\nurl = \"https://n.example\"\n\
                    [[index]]\nurl = \"https://d.example\"\ndefault = true\n";
        assert_eq!(uv_index(text).as_deref(), Some("https://d.example"));
        assert_eq!(
            uv_index("[pip]\nindex-url = \"https://p.example\"").as_deref(),
            Some("https://p.example")
        );
        assert_eq!(uv_index("not toml ="), None);
    }

    #[test]
    fn reads_the_default_out_of_help() {
        let help = "      --default-index <DEFAULT_INDEX>\n          The default package index (by default:\n          <https://d.example/simple>) [env: X]";
        assert_eq!(
            uv_default(help.split_once("<DEFAULT_INDEX>").map_or(help, |_| help)),
            Some("https://d.example/simple")
        );
        assert_eq!(uv_default("nothing"), None);
    }

    #[test]
    fn settings_are_asked_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let conf = dir.path().join("pip.conf");
        fs::write(
            &conf,
            b"[global]\nindex-url = https://pipconf.example/simple\n",
        )
        .unwrap();
        let uv = dir.path().join("uv.toml");
        fs::write(&uv, b"index-url = 'https://uvtoml.example/simple'\n").unwrap();
        let mut vars = vec![
            ("UV_CONFIG_FILE", uv.to_str().unwrap()),
            ("PIP_CONFIG_FILE", conf.to_str().unwrap()),
            ("PIP_INDEX_URL", "https://pipenv.example/simple"),
            ("UV_INDEX_URL", "https://uvold.example/simple"),
            ("UV_DEFAULT_INDEX", "name=https://uvenv.example/simple"),
            (
                "POINTCEPT_BUNDLER_DEFAULT_INDEX",
                "https://own.example/simple",
            ),
        ];
        let find = |vars: &[(&str, &str)], explicit| {
            let var = |name: &str| {
                let found = vars.iter().find(|(n, _)| *n == name);
                found.map(|(_, v)| (*v).to_owned())
            };
            let machine = Machine::from_env(explicit, &var, None, &mut Credentials::default());
            machine.unwrap().named.map(|a| a.to_string())
        };
        let explicit = Some("https://cli.example/simple");
        assert_eq!(
            find(&vars, explicit).as_deref(),
            Some("https://cli.example/simple")
        );
        for host in ["own", "uvenv", "uvold", "pipenv", "pipconf", "uvtoml"] {
            let wanted = format!("https://{host}.example/simple");
            assert_eq!(find(&vars, None), Some(wanted));
            if host == "pipconf" {
                vars[1].1 = "/dev/null";
            } else {
                vars.pop();
            }
        }
    }
}
