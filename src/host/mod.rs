//! The target machine: facts, select, doctor, store, install, verify. Never imports `build`.
