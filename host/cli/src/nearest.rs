//! The name that was probably meant by one that is none.

/// The nearest of these names, if it is near enough to be a slip of the pen.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Of 1: as alike as `secs` and `seconds`.
    const ALIKE: f64 = 0.8;
    let named = names.into_iter().filter(|name| *name != given);
    let given = given.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&given, &name.to_lowercase());
    let nearest = named.min_by_key(|name| distance(name))?;
    // A slip or two, but not most of it.
    let slips = (given.chars().count() / 3).max(1);
    let is_slip = distance(nearest) <= slips && nearest.chars().count() > 1;
    (is_slip || strsim::jaro_winkler(&given, nearest) >= ALIKE).then_some(nearest)
}

/// `; did you mean `seconds`?`, for the end of a message; or nothing.
pub fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let name = nearest(given, names).map(crate::text::line);
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_the_name_and_anything_else_finds_none() {
        let names = ["seconds", "csv", "delimiter", "n"];
        let meant = [
            ("secs", "seconds"),
            ("secnods", "seconds"),
            ("cvs", "csv"),
            ("delimeter", "delimiter"),
            ("CSV", "csv"),
            ("name", ""),
        ];
        for (given, name) in meant {
            assert_eq!(nearest(given, names).unwrap_or_default(), name, "{given}");
        }
        assert_eq!(nearest("m", names), None);
        assert_eq!(nearest("anything", []), None);
        assert_eq!(did_you_mean("secs", names), "; did you mean `seconds`?");
        assert_eq!(did_you_mean("other", names), "");
    }
}
