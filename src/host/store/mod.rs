//! The store on a host: installed bundles side by side, made of components that they share, one of them current.
