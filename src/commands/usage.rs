//! What is said of a command line that cannot be parsed: clap's words, and which command has an option that was given to
//! another one.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Command, CommandFactory};

use crate::cli::Cli;

/// Parses the command line of this process; ends it with code 2 and a message where it cannot.
pub fn parse() -> Result<Cli, Error> {
    <Cli as clap::Parser>::try_parse()
}

/// The sentence that is said behind clap's own: which commands have the option. `None` where none has.
pub fn owners_of_option(error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let name = given.split('=').next()?;
    let mut owners = Vec::new();
    collect(&Cli::command(), "", name, &mut owners);
    let (last, others) = owners.split_last()?;
    let list = match others {
        [] => last.clone(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("hint: {name} is an option of {list}\n"))
}

/// Names of the commands below `command` that have the option, in the order of the help.
fn collect(command: &Command, path: &str, option: &str, owners: &mut Vec<String>) {
    for below in command.get_subcommands() {
        let path = format!("{path} {}", below.get_name());
        let has = below.get_arguments().any(|argument| {
            !argument.is_global_set()
                && (argument
                    .get_long()
                    .is_some_and(|long| option.strip_prefix("--") == Some(long))
                    || argument.get_short().is_some_and(|short| {
                        option.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]))
                    }))
        });
        if has {
            owners.push(format!("`bundler{path}`"));
        }
        collect(below, &path, option, owners);
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn said(line: &[&str]) -> Option<String> {
        let error = Cli::try_parse_from(line).unwrap_err();
        owners_of_option(&error)
    }

    #[test]
    fn an_option_of_another_command_is_told() {
        assert_eq!(
            said(&["bundler", "install", "--upgrade", "x"]).unwrap(),
            "hint: --upgrade is an option of `bundler lock`\n"
        );
        let several = said(&["bundler", "make", "amd64-cu130", "--prefix=x"]).unwrap();
        assert!(
            several.starts_with("hint: --prefix is an option of `bundler unpack`"),
            "{several}"
        );
        assert_eq!(said(&["bundler", "make", "amd64-cu130", "--nowhere"]), None);
        assert_eq!(said(&["bundler", "make"]), None);
    }
}
