//! What is read of a page. Not a parser: a look for tags, that takes any text for what it may be.

/// The text of `<title>`, in one line.
pub fn title(html: &str) -> Option<String> {
    let start = find_tag(html, "title")?;
    let text = &html[start..];
    let text = &text[text.find('>')? + 1..];
    let end = text.to_ascii_lowercase().find("</title").unwrap_or(text.len());
    let title = decode(&text[..end]).split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

/// The `href` of each `<a>`, in their order.
pub fn links(html: &str) -> Vec<String> {
    let html = without_comments(html);
    let mut links = Vec::new();
    let mut rest = html.as_str();
    while let Some(at) = find_tag(rest, "a") {
        rest = &rest[at..];
        let end = rest.find('>').unwrap_or(rest.len());
        links.extend(attribute(&rest[..end], "href"));
        rest = &rest[end..];
    }
    links
}

/// Where the tag begins.
fn find_tag(html: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = html[from..].find('<') {
        let tag = &html[from + at + 1..];
        let matches = tag.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if matches && tag[name.len()..].starts_with(|c: char| c.is_ascii_whitespace() || c == '>') {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        let at = rest.to_ascii_lowercase().find(name)?;
        let begins = rest[..at].ends_with(|c: char| c.is_ascii_whitespace());
        rest = &rest[at + name.len()..];
        let Some(value) = rest.trim_start().strip_prefix('=').filter(|_| begins) else { continue };
        let value = value.trim_start();
        let value = match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..].split(quote).next()?,
            _ => value.split(|c: char| c.is_ascii_whitespace()).next()?,
        };
        return Some(decode(value.trim()));
    }
}

fn without_comments(html: &str) -> String {
    let mut left = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find("<!--") {
        left.push_str(&rest[..start]);
        rest = rest[start..].find("-->").map_or("", |end| &rest[start + end + 3..]);
    }
    left + rest
}

/// The entities that are in nearly all pages.
fn decode(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_links_are_found_in_what_people_write() {
        let html = "<HTML><head><Title lang=en>\n Cats &amp;\n dogs </TITLE></head>
            <!-- <a href='/gone'> --> <abbr href='/no'>
            <a class=x href=\"/a?x=1&amp;y=2\">1</a><A HREF='b.html' >2</A><a href=c>3</a><a data-href='/no'>4</a> <a";
        assert_eq!(title(html).as_deref(), Some("Cats & dogs"));
        assert_eq!(links(html), ["/a?x=1&y=2", "b.html", "c"]);
        assert_eq!(title("<title></title>"), None);
        assert_eq!(title("<titles>x</titles>"), None);
    }

    #[test]
    fn any_text_is_taken_for_what_it_may_be() {
        for text in
            ["", "<", "<a", "<a href", "<a href=", "<a href='", "<!--", "<title", "<title>é", "é<a href=é>", "<é"]
        {
            let _ = (title(text), links(text));
        }
        assert_eq!(title("<title>é").as_deref(), Some("é"));
    }
}
