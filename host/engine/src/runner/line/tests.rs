use super::*;

const WIDE: QueueLimits = QueueLimits { running: 1_000, queued: 1_000_000, starts_per_second: 1_000_000 };
const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn line(places: usize, namespaces: QueueLimits, plugins: QueueLimits) -> Line {
    Line::new(Caps { places, queued: 1_000_000, namespaces, plugins })
}

fn stands(task: i64, lane: &Lane) -> Entrant {
    Entrant { task, lane: lane.clone(), deadline: Some(NOW.after(Duration::from_secs(task.unsigned_abs()))) }
}

/// Those that are given a place now.
fn next(line: &mut Line) -> Vec<i64> {
    std::iter::from_fn(|| line.next()).map(|next| next.task).collect()
}

#[test]
fn one_namespaces_long_line_does_not_delay_anothers_first_task() {
    let mut line = line(1, WIDE, WIDE);
    let (long, short) = (Lane::new("long", "p"), Lane::new("short", "p"));
    for task in 0..10_000 {
        line.enter(stands(task, &long));
    }
    assert_eq!(next(&mut line), [0]);
    line.enter(stands(10_000, &short));
    line.enter(stands(10_001, &short));
    // In turns, and within each in the order in which they came.
    let mut runs = long;
    for expected in [1, 10_000, 2, 10_001, 3, 4] {
        line.done(&runs);
        let Entrant { task, lane, .. } = line.next().unwrap();
        assert_eq!(task, expected);
        runs = lane;
    }
}

#[test]
fn one_that_left_the_line_is_not_counted_and_not_run() {
    let mut line = line(1, QueueLimits { queued: 3, ..WIDE }, WIDE);
    let lane = Lane::new("a", "p");
    for task in 0..3 {
        line.enter(stands(task, &lane));
    }
    assert!(line.admit(&lane, NOW).is_err());
    assert!(line.remove(0, &lane));
    assert!(!line.remove(0, &lane), "it is gone");
    line.admit(&lane, NOW).unwrap();
    assert!(line.remove(2, &lane));
    assert_eq!(next(&mut line), [1]);
    assert!(!line.remove(1, &lane), "it has a place");
    line.done(&lane);
    line.enter(stands(3, &lane));
    assert!(line.remove(3, &lane));
    line.enter(stands(4, &lane));
    assert_eq!(next(&mut line), [4]);
}

#[test]
fn a_cap_on_a_namespace_holds_back_its_tasks_and_no_others() {
    let mut line = line(100, QueueLimits { running: 2, ..WIDE }, WIDE);
    let (a, b) = (Lane::new("a", "p"), Lane::new("b", "p"));
    for task in 0..10 {
        line.enter(stands(task, &a));
    }
    line.enter(stands(10, &b));
    assert_eq!(next(&mut line), [0, 10, 1]);
    line.done(&b);
    assert_eq!(next(&mut line), [0; 0], "the place that is free is another namespace's");
    line.done(&a);
    assert_eq!(next(&mut line), [2]);
}

#[test]
fn a_cap_on_a_plugin_holds_back_its_tasks_and_no_others() {
    let mut line = line(100, WIDE, QueueLimits { running: 1, ..WIDE });
    let lane = Lane::new;
    for (task, lane) in [(0, lane("a", "p")), (1, lane("a", "p")), (2, lane("b", "p")), (3, lane("a", "q"))] {
        line.enter(stands(task, &lane));
    }
    assert_eq!(next(&mut line), [0, 3]);
    line.done(&lane("a", "p"));
    assert_eq!(next(&mut line).len(), 1);
    assert_eq!((line.running(), line.queued()), (2, 1));
    line.done(&lane("a", "q"));
    assert_eq!(next(&mut line), [0; 0]);
}

#[test]
fn a_task_without_an_instance_goes_first_when_another_has_ended() {
    let mut line = line(10, WIDE, WIDE);
    let a = Lane::new("a", "p");
    for task in 0..6 {
        line.enter(stands(task, &a));
    }
    for _ in 0..3 {
        line.next().unwrap();
    }
    // The third found none: two run, and no more are tried.
    assert!(line.exhausted());
    line.done(&a);
    line.enter_in_front(stands(2, &a));
    assert_eq!(next(&mut line), [0; 0]);
    line.done(&a);
    // One has ended, and there may be room for one more than that.
    assert_eq!(next(&mut line), [2, 3]);
    for _ in 0..3 {
        line.done(&a);
    }
    assert_eq!(next(&mut line), [4, 5]);
    line.done(&a);
    assert!(!line.exhausted(), "it was the only one");
    line.done(&a);
    line.enter(stands(6, &a));
    assert_eq!(next(&mut line), [6]);
}

#[test]
fn starts_beyond_a_limit_are_refused_with_its_name_and_the_time_to_come_again() {
    let lane = Lane::new("a", "p");
    let mut full = line(1, QueueLimits { queued: 2, ..WIDE }, WIDE);
    full.admit(&lane, NOW).unwrap();
    full.enter(stands(1, &lane));
    full.leave(&lane);
    // One that is about to stand in line counts.
    full.admit(&lane, NOW).unwrap();
    let refused = full.admit(&lane, NOW).unwrap_err();
    assert_eq!((refused.whose, refused.limit, refused.value), (Whose::Namespace, "queued", 2));
    full.admit(&Lane::new("b", "p"), NOW).unwrap();
    // Who has a place stands in line no more.
    full.next().unwrap();
    full.admit(&lane, NOW).unwrap();

    let mut fast = line(1, WIDE, QueueLimits { starts_per_second: 10, ..WIDE });
    for _ in 0..10 {
        fast.admit(&lane, NOW).unwrap();
    }
    let refused = fast.admit(&lane, NOW).unwrap_err();
    assert_eq!((refused.whose, refused.limit, refused.value), (Whose::Plugin, "starts_per_second", 10));
    assert_eq!(refused.retry_after, Duration::from_millis(100));
    assert!(fast.admit(&lane, NOW.after(Duration::from_millis(99))).is_err());
    fast.admit(&lane, NOW.after(Duration::from_millis(100))).unwrap();
    assert!(fast.admit(&lane, NOW.after(Duration::from_millis(100))).is_err());

    let mut all = Line::new(Caps { places: 1, queued: 1, namespaces: WIDE, plugins: WIDE });
    all.admit(&lane, NOW).unwrap();
    let refused = all.admit(&Lane::new("b", "q"), NOW).unwrap_err();
    assert_eq!((refused.whose, refused.limit, refused.value), (Whose::Host, "queued", 1));
}

#[test]
fn names_that_nothing_is_known_of_are_forgotten() {
    let mut line = line(10, WIDE, WIDE);
    for n in 0..5_000u64 {
        let lane = Lane::new(&format!("namespace {n}"), "p");
        line.admit(&lane, NOW.after(Duration::from_millis(n))).unwrap();
        line.enter(stands(1, &lane));
        line.leave(&lane);
        line.next().unwrap();
        line.done(&lane);
    }
    assert!(line.namespaces.len() < 2_000, "{}", line.namespaces.len());
}

#[test]
fn only_those_whose_places_are_needed_are_crowded() {
    let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
    let lane = Lane::new;
    let mut line = line(4, QueueLimits { running: 2, ..WIDE }, QueueLimits { running: 3, ..WIDE });
    for (task, lane) in [(0, lane("a", "p")), (1, lane("a", "q")), (2, lane("b", "p"))] {
        line.enter(stands(task, &lane));
    }
    assert_eq!(next(&mut line).len(), 3);
    assert_eq!(line.crowd(), Crowd::default(), "nobody stands in line");
    line.enter(stands(3, &lane("a", "p")));
    assert_eq!(next(&mut line), [0; 0]);
    assert_eq!(line.crowd(), Crowd { namespaces: names(&["a"]), ..Crowd::default() });
    assert!(line.remove(3, &lane("a", "p")));
    line.done(&lane("a", "q"));
    line.enter(stands(4, &lane("c", "p")));
    line.enter(stands(5, &lane("d", "p")));
    assert_eq!(next(&mut line), [4]);
    assert_eq!(line.crowd(), Crowd { plugins: names(&["p"]), ..Crowd::default() });
    line.enter(stands(6, &lane("d", "q")));
    line.enter(stands(7, &lane("e", "q")));
    assert_eq!(next(&mut line), [6]);
    assert_eq!(line.crowd(), Crowd { all: true, ..Crowd::default() });
}

#[test]
fn the_deadlines_of_those_in_line_are_known_and_of_nobody_else() {
    let mut line = line(1, WIDE, WIDE);
    let lane = Lane::new("a", "p");
    let at = |seconds| NOW.after(Duration::from_secs(seconds));
    for task in [3, 2, 1, 4] {
        line.enter(stands(task, &lane));
    }
    line.enter(Entrant { task: 9, lane: lane.clone(), deadline: None });
    assert_eq!(line.first_deadline(), Some(at(1)));
    assert_eq!(next(&mut line), [3]);
    assert_eq!(line.expired(at(2), 10), [(1, lane.clone()), (2, lane.clone())]);
    assert_eq!(line.expired(at(2), 1), [(1, lane.clone())]);
    assert!(line.remove(1, &lane));
    assert_eq!(line.expired(at(4), 10), [(2, lane.clone()), (4, lane.clone())]);
    line.done(&lane);
    line.enter_in_front(stands(3, &lane));
    assert_eq!(line.expired(at(9), 10).len(), 3);
}
