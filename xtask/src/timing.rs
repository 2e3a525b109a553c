//! How long each part took, printed at the end.

use std::time::{Duration, Instant};

use anyhow::Result;

#[derive(Default)]
pub struct Timings {
    parts: Vec<(String, Duration)>,
}

impl Timings {
    /// Runs one part under a heading and remembers its time, also when it fails.
    pub fn time<T>(&mut self, name: &str, part: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("== {name}");
        let start = Instant::now();
        let result = part();
        self.parts.push((name.to_owned(), start.elapsed()));
        result
    }

    pub fn print(&self) {
        println!("\ntime by part:");
        for (name, time) in &self.parts {
            println!("{:>8.1} s  {name}", time.as_secs_f64());
        }
        let sum: Duration = self.parts.iter().map(|(_, time)| *time).sum();
        println!("{:>8.1} s  in all", sum.as_secs_f64());
    }
}
