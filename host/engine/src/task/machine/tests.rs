//! Every pair of a state and an event, and any sequence of events.

use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const LATER: Timestamp = Timestamp::from_millis(1_060_000);

fn step(life: &Life, event: LifeEvent) -> Result<(Life, Vec<Effect>), Misfit> {
    life.apply(event, &Given { now: NOW, jitter: 0.0, retry: &RetryPolicy::default() })
}

fn after(events: &[LifeEvent]) -> Life {
    events.iter().fold(Life::new(), |life, event| step(&life, event.clone()).unwrap().0)
}

fn wait(on: WaitingOn) -> LifeEvent {
    LifeEvent::Wait { on, until: Some(LATER) }
}

fn error(kind: ErrorKind) -> LifeEvent {
    LifeEvent::Returned(Verdict::ToolError { kind, retry_after: None })
}

const DONE: LifeEvent = LifeEvent::Returned(Verdict::Done);
const CHECKPOINT: LifeEvent = LifeEvent::Returned(Verdict::Checkpoint { until: LATER });

/// A life for every state, and for every fact that changes what may follow. The names are used in the table.
fn lives() -> Vec<(&'static str, Life)> {
    use LifeEvent::{Begin, CancelRequested, Wake};
    vec![
        ("fresh", Life::new()),
        ("queued", after(&[Begin, wait(WaitingOn::Human), Wake])),
        ("queued, asked to stop", after(&[Begin, wait(WaitingOn::Human), CancelRequested])),
        ("queued for its ticket", after(&[Begin, CHECKPOINT, Wake])),
        ("running", after(&[Begin])),
        ("running, asked to stop", after(&[Begin, CancelRequested])),
        ("running on a ticket", after(&[Begin, CHECKPOINT, Wake, Begin])),
        ("running on a ticket, asked to stop", after(&[Begin, CHECKPOINT, Wake, Begin, CancelRequested])),
        ("on its last try", last_try()),
        ("waiting", after(&[Begin, wait(WaitingOn::Human)])),
        ("waiting for a child", after(&[Begin, wait(WaitingOn::Child)])),
        ("waiting for a time", after(&[Begin, wait(WaitingOn::Timer)])),
        ("waiting for its ticket", after(&[Begin, CHECKPOINT])),
        ("waiting for another try", after(&[Begin, error(ErrorKind::Unavailable)])),
        ("completed", after(&[Begin, DONE])),
        ("failed", after(&[Begin, error(ErrorKind::Failed)])),
        ("cancelled", after(&[CancelRequested])),
        ("cancelled with its ticket", after(&[Begin, CHECKPOINT, CancelRequested])),
    ]
}

fn last_try() -> Life {
    use LifeEvent::{Begin, Wake};
    let unavailable = error(ErrorKind::Unavailable);
    after(&[Begin, unavailable.clone(), Wake, Begin, unavailable, Wake, Begin])
}

fn events() -> Vec<(&'static str, LifeEvent)> {
    vec![
        ("begin", LifeEvent::Begin),
        ("wait", wait(WaitingOn::Timer)),
        ("wait for ever", LifeEvent::Wait { on: WaitingOn::Human, until: None }),
        ("wait for a child", wait(WaitingOn::Child)),
        ("wait for a ticket", wait(WaitingOn::Ticket)),
        ("wait for a retry", wait(WaitingOn::Retry)),
        ("wake", LifeEvent::Wake),
        ("child ended", LifeEvent::ChildEnded),
        ("done", DONE),
        ("invalid input", error(ErrorKind::InvalidInput)),
        ("failed", error(ErrorKind::Failed)),
        ("unavailable", error(ErrorKind::Unavailable)),
        ("cancelled", error(ErrorKind::Cancelled)),
        ("checkpoint", CHECKPOINT),
        ("trap", LifeEvent::Broke(Broke::Trap)),
        ("host fault", LifeEvent::Broke(Broke::Host)),
        ("deadline in the guest", LifeEvent::Broke(Broke::Deadline)),
        ("dropped", LifeEvent::Dropped),
        ("cancel", LifeEvent::CancelRequested),
        ("stopped", LifeEvent::StoppedByCancel),
        ("deadline", LifeEvent::DeadlinePassed),
        ("poisoned", LifeEvent::Poisoned),
        ("ticket cancelled", LifeEvent::TicketCancelled),
    ]
}

/// `state: effects`, in short.
fn shown((life, effects): &(Life, Vec<Effect>)) -> String {
    let effects: Vec<_> = effects
        .iter()
        .map(|effect| match effect {
            Effect::BeginAttempt(attempt) => format!("attempt {attempt}"),
            Effect::RequestCancel => "flag".into(),
            Effect::CloseQuestions => "close".into(),
            Effect::CancelChildren => "stop children".into(),
            Effect::Checkpoint { .. } => "checkpoint".into(),
            Effect::Retry { attempt, until } => format!("retry {attempt} in {:?}", until.since(NOW)),
            Effect::End(ending) => match ending.code() {
                Some(code) => format!("end {code}"),
                None => "end".into(),
            },
            Effect::RunAt(_) => "timer".into(),
            Effect::Queue => "queue".into(),
            Effect::WakeGuest => "tell".into(),
            Effect::CancelTicket => "cancel-task".into(),
        })
        .collect();
    format!("{}: {}", life.state, effects.join(", "))
}

/// What fits. Every other pair is refused.
const FITS: &[(&str, &str, &str)] = &[
    ("fresh", "begin", "running: attempt 1"),
    ("fresh", "cancel", "cancelled: flag, close, stop children, end cancelled"),
    ("fresh", "deadline", "failed: close, stop children, end deadline"),
    ("fresh", "poisoned", "failed: close, stop children, end host"),
    ("queued", "begin", "running: "),
    ("queued", "cancel", "queued: flag, stop children"),
    ("queued", "deadline", "failed: close, stop children, end deadline"),
    ("queued", "poisoned", "failed: close, stop children, end host"),
    ("queued, asked to stop", "begin", "running: "),
    ("queued, asked to stop", "cancel", "queued: "),
    ("queued, asked to stop", "deadline", "cancelled: close, stop children, end cancelled"),
    ("queued, asked to stop", "poisoned", "cancelled: close, stop children, end cancelled"),
    ("queued for its ticket", "begin", "running: "),
    ("queued for its ticket", "cancel", "cancelled: flag, close, stop children, end cancelled, cancel-task"),
    ("queued for its ticket", "deadline", "failed: close, stop children, end deadline, cancel-task"),
    ("queued for its ticket", "poisoned", "failed: close, stop children, end host, cancel-task"),
    ("running", "wait", "waiting: timer"),
    ("running", "wait for ever", "waiting: "),
    ("running", "done", "completed: close, stop children, end"),
    ("running", "invalid input", "failed: close, stop children, end invalid-input"),
    ("running", "failed", "failed: close, stop children, end failed"),
    ("running", "unavailable", "waiting: close, stop children, retry 2 in 1s, timer"),
    ("running", "cancelled", "failed: close, stop children, end cancelled"),
    ("running", "checkpoint", "waiting: close, stop children, checkpoint, timer"),
    ("running", "trap", "failed: close, stop children, end trap"),
    ("running", "host fault", "waiting: close, stop children, retry 2 in 1s, timer"),
    ("running", "deadline in the guest", "failed: close, stop children, end deadline"),
    ("running", "dropped", "queued: queue"),
    ("running", "cancel", "running: flag, stop children, tell"),
    ("running", "deadline", "failed: close, stop children, end deadline"),
    ("running", "poisoned", "failed: close, stop children, end host"),
    ("running, asked to stop", "done", "completed: close, stop children, end"),
    ("running, asked to stop", "invalid input", "failed: close, stop children, end invalid-input"),
    ("running, asked to stop", "failed", "failed: close, stop children, end failed"),
    ("running, asked to stop", "unavailable", "cancelled: close, stop children, end cancelled"),
    ("running, asked to stop", "cancelled", "cancelled: close, stop children, end cancelled"),
    ("running, asked to stop", "checkpoint", "cancelled: close, stop children, end cancelled, cancel-task"),
    ("running, asked to stop", "trap", "failed: close, stop children, end trap"),
    ("running, asked to stop", "host fault", "cancelled: close, stop children, end cancelled"),
    ("running, asked to stop", "deadline in the guest", "cancelled: close, stop children, end cancelled"),
    ("running, asked to stop", "dropped", "queued: queue"),
    ("running, asked to stop", "cancel", "running: "),
    ("running, asked to stop", "stopped", "cancelled: close, stop children, end cancelled"),
    ("running, asked to stop", "deadline", "cancelled: close, stop children, end cancelled"),
    ("running, asked to stop", "poisoned", "cancelled: close, stop children, end cancelled"),
    ("running on a ticket", "wait", "waiting: timer"),
    ("running on a ticket", "wait for ever", "waiting: "),
    ("running on a ticket", "done", "completed: close, stop children, end"),
    ("running on a ticket", "invalid input", "failed: close, stop children, end invalid-input"),
    ("running on a ticket", "failed", "failed: close, stop children, end failed"),
    ("running on a ticket", "unavailable", "waiting: close, stop children, retry 2 in 1s, timer"),
    ("running on a ticket", "cancelled", "failed: close, stop children, end cancelled, cancel-task"),
    ("running on a ticket", "checkpoint", "waiting: close, stop children, checkpoint, timer"),
    ("running on a ticket", "trap", "failed: close, stop children, end trap, cancel-task"),
    ("running on a ticket", "host fault", "waiting: close, stop children, retry 2 in 1s, timer"),
    ("running on a ticket", "deadline in the guest", "failed: close, stop children, end deadline, cancel-task"),
    ("running on a ticket", "dropped", "queued: queue"),
    ("running on a ticket", "cancel", "running: flag, stop children, tell"),
    ("running on a ticket", "deadline", "failed: close, stop children, end deadline, cancel-task"),
    ("running on a ticket", "poisoned", "failed: close, stop children, end host, cancel-task"),
    ("running on a ticket, asked to stop", "done", "completed: close, stop children, end"),
    ("running on a ticket, asked to stop", "invalid input", "failed: close, stop children, end invalid-input"),
    ("running on a ticket, asked to stop", "failed", "failed: close, stop children, end failed"),
    (
        "running on a ticket, asked to stop",
        "unavailable",
        "cancelled: close, stop children, end cancelled, cancel-task",
    ),
    ("running on a ticket, asked to stop", "cancelled", "cancelled: close, stop children, end cancelled, cancel-task"),
    ("running on a ticket, asked to stop", "checkpoint", "cancelled: close, stop children, end cancelled, cancel-task"),
    ("running on a ticket, asked to stop", "trap", "failed: close, stop children, end trap, cancel-task"),
    ("running on a ticket, asked to stop", "host fault", "cancelled: close, stop children, end cancelled, cancel-task"),
    (
        "running on a ticket, asked to stop",
        "deadline in the guest",
        "cancelled: close, stop children, end cancelled, cancel-task",
    ),
    ("running on a ticket, asked to stop", "dropped", "queued: queue"),
    ("running on a ticket, asked to stop", "cancel", "running: "),
    ("running on a ticket, asked to stop", "stopped", "cancelled: close, stop children, end cancelled, cancel-task"),
    ("running on a ticket, asked to stop", "deadline", "cancelled: close, stop children, end cancelled, cancel-task"),
    ("running on a ticket, asked to stop", "poisoned", "cancelled: close, stop children, end cancelled, cancel-task"),
    ("on its last try", "wait", "waiting: timer"),
    ("on its last try", "wait for ever", "waiting: "),
    ("on its last try", "done", "completed: close, stop children, end"),
    ("on its last try", "invalid input", "failed: close, stop children, end invalid-input"),
    ("on its last try", "failed", "failed: close, stop children, end failed"),
    ("on its last try", "unavailable", "failed: close, stop children, end unavailable"),
    ("on its last try", "cancelled", "failed: close, stop children, end cancelled"),
    ("on its last try", "checkpoint", "waiting: close, stop children, checkpoint, timer"),
    ("on its last try", "trap", "failed: close, stop children, end trap"),
    ("on its last try", "host fault", "failed: close, stop children, end host"),
    ("on its last try", "deadline in the guest", "failed: close, stop children, end deadline"),
    ("on its last try", "dropped", "queued: queue"),
    ("on its last try", "cancel", "running: flag, stop children, tell"),
    ("on its last try", "deadline", "failed: close, stop children, end deadline"),
    ("on its last try", "poisoned", "failed: close, stop children, end host"),
    ("waiting", "wake", "queued: queue"),
    ("waiting", "cancel", "queued: flag, stop children, queue"),
    ("waiting", "deadline", "failed: close, stop children, end deadline"),
    ("waiting", "poisoned", "failed: close, stop children, end host"),
    ("waiting for its ticket", "wake", "queued: queue"),
    ("waiting for its ticket", "cancel", "cancelled: flag, close, stop children, end cancelled, cancel-task"),
    ("waiting for its ticket", "deadline", "failed: close, stop children, end deadline, cancel-task"),
    ("waiting for its ticket", "poisoned", "failed: close, stop children, end host, cancel-task"),
    ("waiting for another try", "wake", "queued: queue"),
    ("waiting for another try", "cancel", "cancelled: flag, close, stop children, end cancelled"),
    ("waiting for another try", "deadline", "failed: close, stop children, end deadline"),
    ("waiting for another try", "poisoned", "failed: close, stop children, end host"),
    ("completed", "cancel", "completed: "),
    ("failed", "cancel", "failed: "),
    ("cancelled", "cancel", "cancelled: "),
    ("cancelled with its ticket", "cancel", "cancelled: "),
    ("cancelled with its ticket", "ticket cancelled", "cancelled: "),
    ("fresh", "child ended", "queued: "),
    ("queued", "child ended", "queued: "),
    ("queued, asked to stop", "child ended", "queued: "),
    ("queued for its ticket", "child ended", "queued: "),
    ("running", "wait for a child", "waiting: timer"),
    ("running", "child ended", "running: "),
    ("running, asked to stop", "child ended", "running: "),
    ("running on a ticket", "wait for a child", "waiting: timer"),
    ("running on a ticket", "child ended", "running: "),
    ("running on a ticket, asked to stop", "child ended", "running: "),
    ("on its last try", "wait for a child", "waiting: timer"),
    ("on its last try", "child ended", "running: "),
    ("waiting", "child ended", "queued: queue"),
    ("waiting for a child", "wake", "queued: queue"),
    ("waiting for a child", "child ended", "queued: queue"),
    ("waiting for a child", "cancel", "queued: flag, stop children, queue"),
    ("waiting for a child", "deadline", "failed: close, stop children, end deadline"),
    ("waiting for a child", "poisoned", "failed: close, stop children, end host"),
    ("waiting for a time", "wake", "queued: queue"),
    ("waiting for a time", "child ended", "waiting: "),
    ("waiting for a time", "cancel", "queued: flag, stop children, queue"),
    ("waiting for a time", "deadline", "failed: close, stop children, end deadline"),
    ("waiting for a time", "poisoned", "failed: close, stop children, end host"),
    ("waiting for its ticket", "child ended", "waiting: "),
    ("waiting for another try", "child ended", "waiting: "),
];

#[test]
fn every_pair_of_state_and_event() {
    let mut fitting = 0;
    for (name, life) in lives() {
        for (event_name, event) in events() {
            let expected = FITS.iter().find(|(n, e, _)| (*n, *e) == (name, event_name)).map(|(_, _, what)| *what);
            fitting += usize::from(expected.is_some());
            let got = step(&life, event).ok().as_ref().map(shown);
            assert_eq!(got.as_deref(), expected, "{name} × {event_name}");
        }
    }
    assert_eq!(fitting, FITS.len(), "the table names a pair that does not exist");
}

#[test]
fn a_refusal_says_why() {
    let refused = |life: &Life, event| step(life, event).unwrap_err().to_string();
    let completed = after(&[LifeEvent::Begin, DONE]);
    assert_eq!(refused(&completed, DONE), "the task is completed already, and `returned` comes too late");
    assert_eq!(refused(&Life::new(), LifeEvent::Wake), "`wake` cannot happen to a task that is queued");
    let stopping = after(&[LifeEvent::Begin, LifeEvent::CancelRequested]);
    assert_eq!(step(&stopping, wait(WaitingOn::Human)), Err(Misfit::Cancelled));
}

#[test]
fn an_end_has_the_contracts_words() {
    assert_eq!(Ending::Completed.code(), None);
    assert_eq!(Ending::Tool(ErrorKind::InvalidInput).code(), Some("invalid-input"));
    assert_eq!(Ending::Tool(ErrorKind::Cancelled).state(), TaskState::Failed);
    assert_eq!(Ending::Run(Broke::RunTime).code(), Some("run-time"));
    assert_eq!(Ending::Run(Broke::Trap).class(), Some(ErrorClass::Run));
    assert_eq!(Ending::Cancelled.class(), Some(ErrorClass::Tool));
}

#[test]
fn a_retry_waits_for_what_the_tool_asked() {
    let in_a_minute = Some(Duration::from_secs(60));
    let event = LifeEvent::Returned(Verdict::ToolError { kind: ErrorKind::Unavailable, retry_after: in_a_minute });
    let (life, effects) = step(&after(&[LifeEvent::Begin]), event).unwrap();
    assert_eq!(life.waiting, Some(Waiting { on: WaitingOn::Retry, until: Some(LATER) }));
    assert!(effects.contains(&Effect::Retry { attempt: 2, until: LATER }));
}

#[test]
fn another_try_goes_on_from_the_ticket() {
    let life = after(&[
        LifeEvent::Begin,
        CHECKPOINT,
        LifeEvent::Wake,
        LifeEvent::Begin,
        error(ErrorKind::Unavailable),
        LifeEvent::Wake,
        LifeEvent::Begin,
    ]);
    assert!(life.ticket);
    assert_eq!((life.attempt, life.failures), (2, 1));
}

#[test]
fn a_checkpoint_renews_the_tries() {
    let mut life = after(&[LifeEvent::Begin, CHECKPOINT]);
    for _ in 0..10 {
        for event in [
            LifeEvent::Wake,
            LifeEvent::Begin,
            error(ErrorKind::Unavailable),
            LifeEvent::Wake,
            LifeEvent::Begin,
            CHECKPOINT,
        ] {
            life = step(&life, event).unwrap().0;
        }
    }
    assert_eq!((life.attempt, life.failures), (11, 0));
    assert_eq!(life.state, TaskState::Waiting);
}

#[test]
fn delays_grow_and_stay_bounded() {
    let policy = RetryPolicy::default();
    let seconds: Vec<_> = (1..=10).map(|failures| policy.delay(failures, 0.0).as_secs()).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    assert_eq!(policy.delay(u32::MAX, 1.0), Duration::from_secs(450));
    assert_eq!(policy.delay(0, 0.0), Duration::from_secs(1));
    for no_number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 7.0] {
        let delay = policy.delay(1, no_number);
        assert!((Duration::from_secs(1)..=Duration::from_millis(1500)).contains(&delay), "{no_number}: {delay:?}");
    }
    let endless = RetryPolicy { first: Duration::MAX, cap: Duration::MAX, ..policy };
    assert_eq!(endless.delay(1, 1.0), Duration::MAX);

    let looks: Vec<_> = (0..8).map(|unchanged| ticket_delay(unchanged).as_secs()).collect();
    assert_eq!(looks, [1, 2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(ticket_delay(u32::MAX), Duration::from_secs(30));
}

fn any_event() -> impl Strategy<Value = LifeEvent> {
    let kind = prop::sample::select(vec![
        ErrorKind::InvalidInput,
        ErrorKind::Failed,
        ErrorKind::Unavailable,
        ErrorKind::Cancelled,
    ]);
    let broke = prop::sample::select(vec![
        Broke::Trap,
        Broke::Fuel,
        Broke::Memory,
        Broke::RunTime,
        Broke::Deadline,
        Broke::Limit,
        Broke::ReplayDiverged,
        Broke::Host,
    ]);
    let on = prop::sample::select(vec![
        WaitingOn::Human,
        WaitingOn::Timer,
        WaitingOn::Child,
        WaitingOn::Ticket,
        WaitingOn::Retry,
    ]);
    let time = any::<u64>().prop_map(Timestamp::from_millis);
    prop_oneof![
        6 => Just(LifeEvent::Begin),
        6 => Just(LifeEvent::Wake),
        2 => Just(LifeEvent::ChildEnded),
        3 => (on, prop::option::of(time.clone())).prop_map(|(on, until)| LifeEvent::Wait { on, until }),
        1 => Just(DONE),
        2 => (kind, prop::option::of(any::<Duration>()))
            .prop_map(|(kind, retry_after)| LifeEvent::Returned(Verdict::ToolError { kind, retry_after })),
        3 => time.prop_map(|until| LifeEvent::Returned(Verdict::Checkpoint { until })),
        1 => broke.prop_map(LifeEvent::Broke),
        2 => Just(LifeEvent::Dropped),
        1 => Just(LifeEvent::CancelRequested),
        1 => Just(LifeEvent::StoppedByCancel),
        1 => Just(LifeEvent::DeadlinePassed),
        1 => Just(LifeEvent::TicketCancelled),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_sequence_loses_a_result_or_leaves_an_end(
        steps in prop::collection::vec((any_event(), any::<u64>(), any::<f64>()), 0..60),
        attempts in 0u32..5,
    ) {
        let retry = RetryPolicy { attempts, ..RetryPolicy::default() };
        let mut life = Life::new();
        let mut ended: Option<Ending> = None;
        let mut owed = false;
        for (event, now, jitter) in steps {
            let given = Given { now: Timestamp::from_millis(now), jitter, retry: &retry };
            let Ok((next, effects)) = life.apply(event.clone(), &given) else {
                // Never refused: a request to stop, and what a running guest returns.
                prop_assert_ne!(&event, &LifeEvent::CancelRequested);
                prop_assert!(life.state != TaskState::Running || !matches!(event, LifeEvent::Returned(_)));
                continue;
            };
            let ends: Vec<_> = effects.iter().filter_map(|effect| match effect {
                Effect::End(ending) => Some(*ending),
                _ => None,
            }).collect();

            prop_assert_eq!(next.state == TaskState::Waiting, next.waiting.is_some());
            prop_assert!(next.attempt >= life.attempt);
            prop_assert!(next.cancel_requested || !life.cancel_requested, "a request to stop was taken back");
            prop_assert_eq!(next.state == TaskState::Queued && life.state != next.state, effects.contains(&Effect::Queue));
            prop_assert_eq!(
                next.cancel_requested && !life.cancel_requested,
                effects.contains(&Effect::RequestCancel)
            );
            // No child outlives the segment that started it, nor a request to stop.
            let segment_over = life.begun && !next.begun;
            let told_to_stop = next.cancel_requested && !life.cancel_requested;
            if segment_over || told_to_stop {
                prop_assert!(effects.contains(&Effect::CancelChildren));
            }
            if event == LifeEvent::ChildEnded {
                let on = life.waiting.as_ref().map(|waiting| waiting.on);
                let woken = matches!(on, Some(WaitingOn::Child | WaitingOn::Human));
                prop_assert_eq!(woken, next.state != life.state, "woken exactly if it may wait for the child");
            }
            if let Some(Waiting { until: Some(until), .. }) = &next.waiting && next.waiting != life.waiting {
                prop_assert!(effects.contains(&Effect::RunAt(*until)), "nothing wakes it");
            }
            if life.state.is_terminal() {
                prop_assert_eq!(next.state, life.state, "an end was overwritten");
                prop_assert!(effects.is_empty());
            }
            if next.state.is_terminal() && !life.state.is_terminal() {
                prop_assert_eq!(ends.len(), 1);
                prop_assert_eq!(ends[0].state(), next.state);
                let close = effects.iter().position(|effect| *effect == Effect::CloseQuestions);
                let end = effects.iter().position(|effect| matches!(effect, Effect::End(_)));
                prop_assert!(close.is_some() && close < end, "questions are closed before the end");
                prop_assert!(ended.is_none());
                ended = Some(ends[0]);
                prop_assert_eq!(next.ticket, effects.contains(&Effect::CancelTicket));
                owed = next.ticket;
            } else {
                prop_assert!(ends.is_empty());
                prop_assert!(!effects.contains(&Effect::CancelTicket));
            }
            if life.state == TaskState::Running && event == DONE {
                prop_assert_eq!(next.state, TaskState::Completed, "a result was lost");
            }
            if next.state == TaskState::Cancelled {
                prop_assert!(next.cancel_requested, "cancelled, and nobody asked");
            }
            if event == LifeEvent::TicketCancelled {
                prop_assert!(owed);
                owed = false;
            }
            life = next;
        }
        prop_assert_eq!(ended.map(Ending::state), life.state.is_terminal().then_some(life.state));
        prop_assert_eq!(owed, life.state.is_terminal() && life.ticket);
    }
}
