//! For the benchmark: parts of a task's way, by themselves.

use std::time::{Duration, Instant};

use super::Host;
use crate::Error;

impl Host {
    pub(crate) async fn measure_instances(&self, digest: &str, n: usize) -> Result<Duration, Error> {
        let ready = self.runner().ready(digest).await?;
        let mut each = Vec::with_capacity(n);
        for _ in 0..n {
            let start = Instant::now();
            let mut instance = self.runner().library.instance(&ready.loaded)?;
            instance.instantiate().await.map_err(|how| Error::Fault(format!("there is no instance: {how:?}")))?;
            each.push(start.elapsed());
            drop(instance);
        }
        Ok(median(each))
    }

    pub(crate) fn warm_bytes(&self) -> u64 {
        self.runner().warm.used()
    }

    pub(crate) async fn measure_loads(&self, digest: &str, n: usize) -> Result<Duration, Error> {
        let mut each = Vec::with_capacity(n);
        for _ in 0..n {
            self.runner().library.let_go(digest);
            let start = Instant::now();
            self.runner().ready(digest).await?;
            each.push(start.elapsed());
        }
        Ok(median(each))
    }
}

fn median(mut each: Vec<Duration>) -> Duration {
    each.sort_unstable();
    each.get(each.len() / 2).copied().unwrap_or_default()
}
