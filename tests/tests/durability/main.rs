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

/// Lets a run die the first, the second … time that it comes to a point, until it no longer does. `killed` is given the
/// plan, and says whether the run died.
async fn killed_at_every<F: Future<Output = bool>>(point: &str, at_least: usize, killed: impl Fn(String) -> F) {
    let mut deaths = 0;
    while killed(format!("{point}:{}", deaths + 1)).await {
        deaths += 1;
    }
    assert!(deaths >= at_least, "only {deaths} deaths at {point}");
}
