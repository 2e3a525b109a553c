//! Nothing is lost. `docs/durability.md` lists each fault with the promise that holds under it and its test here.

mod children;
mod replay;
