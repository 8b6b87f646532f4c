//! One file per subcommand; the only place that prints.
