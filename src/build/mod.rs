//! The pipeline, in order: recipe → lock → fetch → ingest → assemble → audit → pack. A value passes from stage to stage;
//! only the owner stage can construct its output, so a value is a proof.

pub mod assemble;
pub mod audit;
pub mod evidence;
pub mod fetch;
pub mod ingest;
pub mod lock;
pub mod overview;
pub mod pack;
pub mod recipe;
pub mod self_extract;
pub mod wheelhouse;
