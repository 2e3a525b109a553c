//! One instance: calling an export, stopping it, and telling how it ended.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::{I32Exit, WasiCtx};

use super::bindings::PluginPre;
use super::bindings::longhaul::tool::types::Call;
use super::contract::{Returned, returned};
use super::guest::{self, Guest};
use super::load::{Loaded, chain};
use super::meter::{MachineRefused, Refused};
use super::run::{Interrupted, Run};
use crate::limits::{HostLimit, Limit};
use crate::task::Broke;

/// The export to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Export {
    Execute,
    AwaitTask(Vec<u8>),
    CancelTask(Vec<u8>),
}

/// How a call of an export ended.
#[derive(Debug)]
pub(crate) enum How {
    Returned(Returned),
    /// An import ended it.
    Interrupted(Interrupted),
    /// It was stopped from outside.
    Stopped(Stop),
    /// It broke.
    Broke(Broke, String),
    /// There are too many instances at once: it can run when others have ended.
    NoInstance,
}

/// Why a guest is stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stop {
    /// It had its grace after it was asked to stop.
    Cancel = 1,
    /// It computed for longer than it may.
    RunTime = 2,
    /// The task's deadline has passed.
    Deadline = 3,
    /// The host shuts down.
    Shutdown = 4,
    /// What it did could not be written down.
    Unwritten = 5,
}

/// How long a guest that is to stop may avoid the places where its fuel is known.
const BACKSTOP: Duration = Duration::from_secs(1);

/// The outside's hold on a call. Shared with whoever runs it.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stop: AtomicU8,
    /// The last yield was by epoch, where the fuel that was used is not known.
    by_epoch: AtomicBool,
    /// Nanoseconds that the guest computed live.
    computed: AtomicU64,
    /// How often the guest has burned as much fuel as lies between two yields.
    yields: AtomicU64,
}

impl Control {
    /// Stops the call at the next place where its fuel is known.
    pub fn stop(&self, why: Stop) {
        // The first reason counts.
        let _ = self.stop.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How long the guest has computed so far, replay apart.
    pub fn computed(&self) -> Duration {
        Duration::from_nanos(self.computed.load(Ordering::Relaxed))
    }

    /// Fuel that the call has burned, replay included, but for what it burned since its last yield.
    pub fn burned(&self) -> u64 {
        self.yields.load(Ordering::Relaxed).saturating_mul(guest::YIELD)
    }

    fn stopped(&self) -> Option<Stop> {
        [Stop::Cancel, Stop::RunTime, Stop::Deadline, Stop::Shutdown, Stop::Unwritten]
            .into_iter()
            .find(|stop| *stop as u8 == self.stop.load(Ordering::Relaxed))
    }
}

/// An instance and its store.
pub(crate) struct Instance {
    store: Store<Guest>,
    pre: PluginPre<Guest>,
    fuel: u64,
    control: Arc<Control>,
    /// Bytes of its stack, to be named where they were not enough.
    wasm_stack: u64,
}

impl Instance {
    /// An instance to be, that may use `fuel`. It is made by the first call: a guest may compute and wait
    /// while it is instantiated.
    pub fn new(loaded: &Loaded, run: Arc<Run>, wasi: WasiCtx, fuel: u64) -> Result<Self, (Broke, String)> {
        let fault = |error: wasmtime::Error| (Broke::Host, chain(&error));
        let control = Arc::new(Control::default());
        let mut store = guest::store(&loaded.engine, run, wasi, fuel).map_err(fault)?;
        let shared = control.clone();
        store.epoch_deadline_callback(move |_| {
            shared.by_epoch.store(true, Ordering::Relaxed);
            Ok(UpdateDeadline::Yield(1))
        });
        store.set_epoch_deadline(1);
        Ok(Self { store, pre: loaded.pre.clone(), fuel, control, wasm_stack: loaded.wasm_stack })
    }

    /// Makes the instance, and nothing more.
    pub async fn instantiate(&mut self) -> Result<(), How> {
        self.held(async |store, pre| pre.instantiate_async(store).await.map(drop)).await
    }

    /// The outside's hold on this instance.
    pub fn control(&self) -> Arc<Control> {
        self.control.clone()
    }

    /// Fuel used so far.
    pub fn fuel_used(&self) -> u64 {
        self.fuel - self.store.get_fuel().unwrap_or(0).min(self.fuel)
    }

    /// `describe`.
    pub async fn describe(&mut self) -> Result<String, How> {
        self.held(async |store, pre| {
            let plugin = pre.instantiate_async(&mut *store).await?;
            plugin.longhaul_tool_background_tool().call_describe(store).await
        })
        .await
    }

    /// Calls an export, to its end or until it is stopped.
    pub async fn call(&mut self, export: &Export, call: &Call) -> How {
        let limits = self.store.data().run.limits;
        let called = self.held(async |store, pre| {
            let plugin = pre.instantiate_async(&mut *store).await?;
            let interface = plugin.longhaul_tool_background_tool();
            match export {
                Export::Execute => interface.call_execute(store, call).await.map(|result| returned(result, &limits)),
                Export::AwaitTask(ticket) => {
                    interface.call_await_task(store, call, ticket).await.map(|result| returned(result, &limits))
                }
                Export::CancelTask(ticket) => {
                    let cancelled = interface.call_cancel_task(store, call, ticket).await;
                    cancelled.map(|result| match result {
                        Ok(()) => Returned::Done(crate::Output::default()),
                        Err(error) => returned(Err(error), &limits),
                    })
                }
            }
        });
        called.await.map_or_else(|how| how, How::Returned)
    }

    /// Runs what can be stopped.
    async fn held<T>(
        &mut self,
        call: impl AsyncFnOnce(&mut Store<Guest>, &PluginPre<Guest>) -> wasmtime::Result<T>,
    ) -> Result<T, How> {
        let (control, run) = (self.control.clone(), self.store.data().run.clone());
        let ended = {
            let call = pin!(call(&mut self.store, &self.pre));
            Held { call, control, run, since: None }.await
        };
        match ended {
            Ok(Ok(value)) => Ok(value),
            Err(stop) => Err(How::Stopped(stop)),
            Ok(Err(error)) => Err(match error.downcast::<Interrupted>() {
                Ok(interrupted) => How::Interrupted(interrupted),
                Err(error) if error.is::<wasmtime::PoolConcurrencyLimitError>() => How::NoInstance,
                Err(error) => {
                    let (broke, message) = broke(&self.store, self.wasm_stack, &error);
                    How::Broke(broke, message)
                }
            }),
        }
    }
}

/// A call that can be stopped between two polls.
struct Held<'a, F> {
    call: Pin<&'a mut F>,
    control: Arc<Control>,
    run: Arc<Run>,
    since: Option<Instant>,
}

impl<F: Future> Future for Held<'_, F> {
    type Output = Result<F::Output, Stop>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(stop) = this.control.stopped() {
            let since = *this.since.get_or_insert_with(Instant::now);
            let unknown = this.control.by_epoch.load(Ordering::Relaxed);
            if !unknown || since.elapsed() > BACKSTOP {
                return Poll::Ready(Err(stop));
            }
        }
        this.control.by_epoch.store(false, Ordering::Relaxed);
        let live = this.run.recorder().is_live();
        let began = Instant::now();
        let polled = this.call.as_mut().poll(cx);
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        this.run.spent.fetch_add(nanos, Ordering::Relaxed);
        if live {
            this.control.computed.fetch_add(nanos, Ordering::Relaxed);
        }
        // Whatever does not return, waits for nothing outside and was not stopped by an epoch has yielded for its fuel.
        if polled.is_pending() && !this.run.waits_outside() && !this.control.by_epoch.load(Ordering::Relaxed) {
            this.control.yields.fetch_add(1, Ordering::Relaxed);
        }
        polled.map(Ok)
    }
}

/// What a trap, or another end that nobody asked for, is to be called.
fn broke(store: &Store<Guest>, wasm_stack: u64, error: &wasmtime::Error) -> (Broke, String) {
    let words = store.data().run.recorder().last_words();
    let said = |what: String| if words.is_empty() { what } else { format!("{what}; it said: {words}") };
    let (meter, limits) = (&store.data().meter, &store.data().run.limits);
    let limit = |limit: Limit| limits.said(limit);
    if error.is::<MachineRefused>() {
        return (Broke::Host, error.root_cause().to_string());
    }
    let too_much = |refused: Refused| match refused {
        Refused::Memory => {
            (Broke::Memory, format!("it wanted more memory than it may have ({})", limit(Limit::memory)))
        }
        Refused::Elements => {
            (Broke::Limit, format!("it wanted larger tables than it may have ({})", limit(Limit::table_elements)))
        }
    };
    // A guest that was refused something and dies next died of that.
    let after = |refused| {
        let (broke, what) = too_much(refused);
        (broke, said(what))
    };
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => (Broke::Fuel, format!("it used up its fuel ({})", limit(Limit::fuel))),
        Some(trap) => match (meter.refused(), trap) {
            (Some(refused), _) => after(refused),
            (None, Trap::StackOverflow) => {
                (Broke::Trap, said(format!("it crashed: {trap} ({})", HostLimit::wasm_stack.said(wasm_stack))))
            }
            (None, trap) => (Broke::Trap, said(format!("it crashed: {trap}"))),
        },
        None => match (error.downcast_ref::<I32Exit>(), meter.refused()) {
            (Some(_), Some(refused)) => after(refused),
            (Some(exit), None) => (Broke::Trap, said(format!("it called exit({})", exit.0))),
            // It could not even begin.
            (None, Some(refused)) => {
                let (broke, what) = too_much(refused);
                (broke, format!("{what}: {error}"))
            }
            (None, None) => {
                // The last cause: the others are where in the guest it happened.
                let cause = error.root_cause().to_string();
                let named = reached(&cause).map_or_else(String::new, |reached| format!(" ({})", limit(reached)));
                (Broke::Limit, said(format!("the host refused what it asked for: {cause}{named}")))
            }
        },
    }
}

/// The limit that the engine says was reached. It has no types for these, so a test for each holds its words.
fn reached(cause: &str) -> Option<Limit> {
    const WORDS: &[(&str, Limit)] = &[
        ("store handle limit exceeded", Limit::resources),
        ("resource table has no free keys", Limit::resources),
        ("fuel allocated for hostcalls", Limit::host_call),
        ("requested len", Limit::random),
    ];
    WORDS.iter().find(|(words, _)| cause.contains(words)).map(|(_, limit)| *limit)
}
