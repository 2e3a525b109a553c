//! Bars, as rows.

use console::strip_ansi_codes;
use longhaul::Level;
use serde_json::json;

use super::*;

fn id(name: &str) -> TaskId {
    serde_json::from_value(json!(name)).unwrap()
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn progress(message: &str, done: Option<f64>, total: Option<f64>) -> Progress {
    Progress { message: message.into(), done, total, level: Level::Info }
}

fn rows(bars: &Bars, size: (usize, usize), seconds: u64) -> Vec<String> {
    let rows = bars.rows(size, at(seconds)).into_iter();
    rows.map(|row| strip_ansi_codes(&row).into_owned()).collect()
}

/// A root with two children, of which the first has one too.
fn family() -> Bars {
    let mut bars = Bars::new(at(0));
    bars.started(None, &id("a"), "profile_csv #1", at(0));
    bars.started(None, &id("b"), "ask #2", at(0));
    bars.started(Some(&id("a")), &id("c"), "noop #1", at(0));
    bars
}

#[test]
fn without_a_total_there_is_a_spinner_and_with_one_a_bar_a_rate_and_the_rest() {
    let mut bars = Bars::new(at(0));
    assert_eq!(rows(&bars, (24, 80), 0), ["⠋ 0s"]);
    bars.progress(None, &progress("reading", None, None), at(1));
    assert_eq!(rows(&bars, (24, 80), 3), ["⠋ 3s reading"]);
    bars.progress(None, &progress("reading", Some(3.0), None), at(1));
    assert_eq!(rows(&bars, (24, 80), 3), ["⠋ 3s 3 reading"]);
    bars.progress(None, &progress("writing", Some(3.0), Some(25.0)), at(1));
    bars.progress(None, &progress("writing", Some(13.0), Some(25.0)), at(11));
    assert_eq!(rows(&bars, (24, 80), 11), ["⠋ 11s ██████████░░░░░░░░░░  52% 13/25 · 1.0/s · 12s left writing"]);
    bars.progress(None, &progress("half", Some(0.5), Some(1.0)), at(31));
    assert_eq!(rows(&bars, (24, 80), 31), ["⠋ 31s ██████████░░░░░░░░░░  50% half"]);
}

#[test]
fn children_have_their_bars_below_their_parent_until_they_end() {
    let mut bars = family();
    bars.progress(Some(&id("a")), &progress("january", Some(1.0), Some(4.0)), at(1));
    bars.asked(Some(&id("b")));
    assert_eq!(
        rows(&bars, (24, 80), 0),
        [
            "⠋ 0s",
            "  ⠋ profile_csv #1 ██░░░░░░░░  25% 1/4 january",
            "    ⠋ noop #1",
            "  ⠋ ask #2         ? waits for an answer",
        ]
    );
    bars.settled(Some(&id("b")));
    bars.ended(&id("a"));
    assert_eq!(rows(&bars, (24, 80), 0), ["⠋ 0s", "  ⠋ ask #2"]);
    // Of a child that is gone nothing is shown any more.
    bars.progress(Some(&id("c")), &progress("late", None, None), at(2));
    bars.ended(&id("c"));
    assert_eq!(rows(&bars, (24, 80), 0).len(), 2);
}

#[test]
fn more_children_than_rows_are_counted() {
    let mut bars = Bars::new(at(0));
    (0..10).for_each(|n| bars.started(None, &id(&n.to_string()), &format!("work #{n}"), at(0)));
    let shown = rows(&bars, (6, 80), 0);
    assert_eq!(shown, ["⠋ 0s", "  ⠋ work #0", "  ⠋ work #1", "  ⠋ work #2", "  … and 7 more"]);
    assert_eq!(rows(&bars, (2, 80), 0), ["⠋ 0s"]);
    assert_eq!(rows(&bars, (0, 0), 0).len(), 1);
}

#[test]
fn in_a_narrow_terminal_the_message_has_the_room_and_no_row_is_too_wide() {
    let mut bars = family();
    let long = "寸法寸法 \u{1b}[2J and a long message that goes on and on ".repeat(3);
    bars.progress(None, &progress(&long, Some(3.0), Some(4.0)), at(0));
    bars.progress(Some(&id("a")), &progress(&long, Some(1.0), Some(4.0)), at(0));
    let narrow = rows(&bars, (24, 40), 0);
    assert!(narrow[0].starts_with("⠋  75% 寸法寸法 ␛[2J"), "{narrow:?}");
    for width in [0, 1, 2, 10, 40, 59, 60, 61, 80] {
        for row in rows(&bars, (24, width), 0) {
            assert!(measure_text_width(&row) < width.max(2), "{width}: {row}");
            assert!(!row.chars().any(char::is_control), "{row:?}");
        }
    }
}
