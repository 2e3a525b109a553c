//! Nothing is lost. `docs/durability.md` lists each fault with the promise that holds under it and its test here.

mod children;
mod clock;
mod diverge;
#[cfg(unix)]
mod freeze;
mod kills;
mod many;
#[cfg(unix)]
mod poison;
mod replay;
mod starts;
#[cfg(unix)]
mod stop;
mod versions;
