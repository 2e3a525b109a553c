//! Requests on their way, from when they are whole until the guest has seen what became of them.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::DynPollable;

use super::error::error_code;
use super::incoming::Response;
use super::outgoing::Buffer;
use super::outgoing_handler;
use super::request::{Options, Request};
use super::types::{ErrorCode, HostFutureIncomingResponse};
use crate::egress::{self, Code, Failure, Incoming, Outgoing};
use crate::journal::{Call, EventKind, Record, Recorded, Turn};
use crate::sandbox::guest::Guest;
use crate::sandbox::meter::Held;
use crate::sandbox::run::Interrupted;
use crate::sandbox::wasi::Source;

/// By this a peer knows a request that it was sent before.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Characters of a URL that its entry in the journal has, at most.
const URL_SHOWN: usize = 2_000;

/// The response that a guest waits for: the number of the exchange.
#[derive(Debug)]
pub struct Awaited(u32);

/// A request that is handed over to be sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub request: Outgoing,
    /// An instance before this one was about to send it, so it may have.
    pub again: bool,
    pub done: oneshot::Sender<Outcome>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub result: Result<Incoming, Failure>,
    /// How long it took.
    pub millis: u64,
}

/// The exchanges of this segment, by number, for as long as the guest has a handle on them.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    open: HashMap<u32, Exchange>,
    /// How many there were.
    begun: u32,
    /// The keys of those that were answered.
    answered: HashSet<String>,
    /// Those that a replay has brought back and that are to be sent again.
    unsent: Vec<u32>,
}

#[derive(Debug)]
struct Exchange {
    /// What its entry in the journal says of the request.
    method: String,
    url: String,
    bytes: u64,
    /// The key that the host has put in.
    key: Option<String>,
    /// The guest was told that there is an outcome.
    told: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Its body is not finished.
    Unfinished(Box<Outgoing>, Held),
    /// Recorded as about to be sent, by an instance before this one.
    Recorded(Box<Outgoing>),
    Travelling(oneshot::Receiver<Outcome>),
    Arrived(Box<Outcome>),
    /// The guest has seen the outcome.
    Over,
}

/// What a guest that waits for an exchange can expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Ready,
    /// It comes by itself.
    Comes,
    /// Only the guest can do something about it.
    Never,
}

impl Exchanges {
    fn get(&mut self, number: u32) -> Option<&mut Exchange> {
        self.open.get_mut(&number)
    }

    /// What there is to wait for.
    pub fn look(&mut self, number: u32) -> Result<Waited, Interrupted> {
        let Some(exchange) = self.get(number) else { return Ok(Waited::Ready) };
        if let State::Travelling(outcome) = &mut exchange.state {
            match outcome.try_recv() {
                Ok(outcome) => exchange.state = State::Arrived(Box::new(outcome)),
                Err(TryRecvError::Empty) => return Ok(Waited::Comes),
                Err(TryRecvError::Closed) => return Err(Interrupted::Abandoned),
            }
        }
        Ok(match exchange.state {
            State::Unfinished(..) => Waited::Never,
            State::Recorded(_) | State::Travelling(_) => Waited::Comes,
            State::Arrived(_) | State::Over => Waited::Ready,
        })
    }

    /// Ready when one of them has arrived.
    pub fn poll_arrival(&mut self, numbers: &[u32], cx: &mut Context<'_>) -> Poll<Result<(), Interrupted>> {
        let mut arrived = Poll::Pending;
        for number in numbers {
            let Some(exchange) = self.get(*number) else { continue };
            if let State::Travelling(outcome) = &mut exchange.state {
                match Pin::new(outcome).poll(cx) {
                    Poll::Ready(Ok(outcome)) => {
                        exchange.state = State::Arrived(Box::new(outcome));
                        arrived = Poll::Ready(Ok(()));
                    }
                    Poll::Ready(Err(_)) => return Poll::Ready(Err(Interrupted::Abandoned)),
                    Poll::Pending => {}
                }
            }
        }
        arrived
    }

    /// The guest is told that there is an outcome, so there must be one when it looks.
    pub fn tell(&mut self, number: u32) {
        if let Some(exchange) = self.get(number) {
            exchange.told = true;
        }
    }

    /// The guest waits for nothing but responses to requests that it has not finished.
    pub fn give_up(&mut self, number: u32) {
        let why = "it waits for the response before it has finished the request; call `outgoing-body.finish` first";
        self.fail(number, Failure::unsent(Code::Internal, why));
    }

    fn fail(&mut self, number: u32, failure: Failure) {
        if let Some(exchange) = self.get(number) {
            exchange.state = unsent(failure);
        }
    }

    /// Whether a request with that key was answered, or may yet be.
    fn uses(&self, key: &str) -> bool {
        let may_be = |state: &State| match state {
            State::Arrived(outcome) => outcome.result.is_ok(),
            State::Over => false,
            State::Unfinished(..) | State::Recorded(_) | State::Travelling(_) => true,
        };
        let under_way = |exchange: &Exchange| exchange.key.as_deref() == Some(key) && may_be(&exchange.state);
        self.answered.contains(key) || self.open.values().any(under_way)
    }
}

impl outgoing_handler::Host for Guest {
    fn handle(
        &mut self,
        request: Resource<Request>,
        options: Option<Resource<Options>>,
    ) -> wasmtime::Result<Result<Resource<Awaited>, ErrorCode>> {
        let request = self.table.delete(request)?;
        let options = options.map(|options| self.table.delete(options)).transpose()?.unwrap_or_default();
        let number = self.exchanges.begun;
        self.exchanges.begun += 1;
        let awaited = self.table.push(Awaited(number))?;
        let (method, url) = (request.method().to_owned(), request.target());
        let body = request.body.clone();
        let state = match request.outgoing(options) {
            Ok((outgoing, held)) => State::Unfinished(Box::new(outgoing), held),
            Err(failure) => unsent(failure),
        };
        let url = url.chars().take(URL_SHOWN).collect();
        self.exchanges.open.insert(number, Exchange { method, url, bytes: 0, key: None, told: false, state });
        match body {
            Some(buffer) => self.depart(number, &buffer)?,
            None => self.send_whole(number, Bytes::new(), None)?,
        }
        Ok(Ok(awaited))
    }
}

impl HostFutureIncomingResponse for Guest {
    fn subscribe(&mut self, this: Resource<Awaited>) -> wasmtime::Result<Resource<DynPollable>> {
        let Awaited(number) = *self.table.get(&this)?;
        self.pollable(Some(Source::Exchange(number)))
    }

    async fn get(
        &mut self,
        this: Resource<Awaited>,
    ) -> wasmtime::Result<Option<Result<Result<Resource<Response>, ErrorCode>, ()>>> {
        let Awaited(number) = *self.table.get(&this)?;
        if matches!(self.exchanges.get(number).map(|exchange| &exchange.state), None | Some(State::Over)) {
            return Ok(Some(Err(())));
        }
        let Some(result) = self.outcome(number).await? else { return Ok(None) };
        if let Some(exchange) = self.exchanges.get(number) {
            exchange.state = State::Over;
            let key = exchange.key.take().filter(|_| result.is_ok());
            self.exchanges.answered.extend(key);
        }
        self.exchanges.unsent.retain(|unsent| *unsent != number);
        Ok(Some(Ok(match result {
            Ok(response) => Ok(self.table.push(Response::from(response))?),
            Err(failure) => Err(error_code(&failure)),
        })))
    }

    fn drop(&mut self, this: Resource<Awaited>) -> wasmtime::Result<()> {
        let Awaited(number) = self.table.delete(this)?;
        self.exchanges.unsent.retain(|unsent| *unsent != number);
        // One that is under way is given up.
        self.exchanges.open.remove(&number);
        Ok(())
    }
}

impl Guest {
    /// Sends a request whose body is whole. If it is not, that is done when it is.
    pub(super) fn depart(&mut self, number: u32, buffer: &Buffer) -> Result<(), Interrupted> {
        match buffer.whole(number) {
            None => Ok(()),
            Some(Ok((body, trailers))) => self.send_whole(number, body, trailers),
            Some(Err(failure)) => {
                if let Some(Exchange { state: State::Unfinished(..), .. }) = self.exchanges.get(number) {
                    self.exchanges.fail(number, failure);
                }
                Ok(())
            }
        }
    }

    fn send_whole(&mut self, number: u32, body: Bytes, trailers: Option<HeaderMap>) -> Result<(), Interrupted> {
        let Some(exchange) = self.exchanges.get(number) else { return Ok(()) };
        let mut request = match std::mem::replace(&mut exchange.state, State::Over) {
            State::Unfinished(request, held) => {
                // From here on the limits of HTTP bound it.
                drop(held);
                request
            }
            // It can't be sent.
            other => {
                exchange.state = other;
                return Ok(());
            }
        };
        exchange.bytes = body.len() as u64;
        (request.body, request.trailers) = (body, trailers);
        let arguments = arguments(&request);
        if !request.headers.contains_key(KEY)
            && let Some(key) = self.next_key(&request)
        {
            if let Ok(value) = HeaderValue::from_str(&key) {
                request.headers.insert(KEY, value);
            }
            if let Some(exchange) = self.exchanges.get(number) {
                exchange.key = Some(key);
            }
        }
        let run = self.run.clone();
        let state = {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::HttpSend, &arguments)? {
                Some(Recorded::Record(Record::HttpSent)) => {
                    self.exchanges.unsent.push(number);
                    State::Recorded(request)
                }
                Some(other) => return Err(recorder.mismatch(Call::HttpSend, &other).into()),
                None => {
                    recorder.record(&Record::HttpSent);
                    drop(recorder);
                    self.resume()?;
                    State::Travelling(run.send(*request, false)?)
                }
            }
        };
        if let Some(exchange) = self.exchanges.get(number) {
            exchange.state = state;
        }
        Ok(())
    }

    /// The key of a request that needs one: that of the last equal one, unless that was answered or is under way.
    fn next_key(&self, request: &Outgoing) -> Option<String> {
        let Outgoing { method, url, body, .. } = request;
        let free = |key: &String| !self.run.opened.keys.contains(key) && !self.exchanges.uses(key);
        (0..).map_while(|nth| egress::key(&self.run.task.0, method, url, body, nth)).find(free)
    }

    /// Sends what an instance before this one was about to send, or has sent without hearing more. It goes on live.
    pub(in crate::sandbox) fn resume(&mut self) -> Result<(), Interrupted> {
        for number in std::mem::take(&mut self.exchanges.unsent) {
            let Some(exchange) = self.exchanges.get(number) else { continue };
            if let State::Recorded(request) = &exchange.state {
                exchange.state = State::Travelling(self.run.send((**request).clone(), true)?);
            }
        }
        Ok(())
    }

    /// What became of a request; `None`: nothing yet.
    async fn outcome(&mut self, number: u32) -> Result<Option<Result<Incoming, Failure>>, Interrupted> {
        let run = self.run.clone();
        let told = self.exchanges.get(number).is_some_and(|exchange| exchange.told);
        let replayed = {
            let mut recorder = run.recorder();
            let arguments = number.to_le_bytes();
            let turn = match told {
                // There is an outcome, whatever it turns out to be.
                true => run.expect(&mut recorder, Call::HttpResponse, &arguments)?.map_or(Turn::Live, Turn::Recorded),
                false => run.next(&mut recorder, Call::HttpResponse, &arguments)?,
            };
            match turn {
                Turn::Live => None,
                Turn::Silent => return Ok(None),
                Turn::Recorded(Recorded::Event(EventKind::Http { .. })) => Some(recorder.replayed()),
                Turn::Recorded(other) => return Err(recorder.mismatch(Call::HttpResponse, &other).into()),
            }
        };
        if let Some(seq) = replayed {
            let kept = run.kept(seq).await?;
            return egress::read_kept(kept).map(Some).ok_or(Interrupted::Abandoned);
        }
        self.resume()?;
        while self.exchanges.look(number)? != Waited::Ready {
            if !told {
                return Ok(None);
            }
            std::future::poll_fn(|cx| self.exchanges.poll_arrival(&[number], cx)).await?;
        }
        let Some(exchange) = self.exchanges.get(number) else { return Ok(None) };
        let State::Arrived(outcome) = std::mem::replace(&mut exchange.state, State::Over) else { return Ok(None) };
        let Outcome { result, millis } = *outcome;
        let (status, error) = match &result {
            Ok(response) => (Some(response.status.as_u16()), None),
            Err(failure) => (None, Some(failure.to_string())),
        };
        let event = EventKind::Http {
            method: exchange.method.clone(),
            url: exchange.url.clone(),
            status,
            error,
            sent: exchange.bytes,
            received: result.as_ref().map_or(0, |response| response.body.len() as u64),
            millis,
            key: exchange.key.clone(),
        };
        run.recorder().event_with(run.now(), event, egress::keep(&result));
        Ok(Some(result))
    }
}

/// What becomes of a request that can't be sent.
fn unsent(failure: Failure) -> State {
    State::Arrived(Box::new(Outcome { result: Err(failure), millis: 0 }))
}

/// What makes a request, for the fingerprint: in words what a person would ask for, the rest as a hash.
fn arguments(request: &Outgoing) -> Vec<u8> {
    let Outgoing { method, url, headers, body, trailers, .. } = request;
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(body);
    for (name, value) in headers.iter().chain(trailers.iter().flatten()) {
        part(name.as_str().as_bytes());
        part(value.as_bytes());
    }
    [format!("{method} {url}\0").as_bytes(), &hash.finalize()].concat()
}
