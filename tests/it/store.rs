//! The store of a host, as a user of the program sees it: made-up bundles, the real program.

mod fetching;
mod forge;
mod hostile;
mod installing;
mod kills;
mod layers;
mod places;
mod repairing;
mod using;
mod verifying;
pub mod world;
