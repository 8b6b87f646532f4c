//! The little of HTML that index pages need: `<a>` and `<base>` tags with their attributes. Comments, scripts and styles
//! are passed over; character references in attributes are decoded.

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub struct Tag {
    /// `a` or `base`.
    pub name: String,
    /// Names in lower case, values decoded, in order.
    pub attributes: Vec<(String, String)>,
}

impl Tag {
    /// The value of the first attribute of this name; an attribute without value is the empty text.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// All `<a>` and `<base>` tags of a page.
pub fn tags(html: &str) -> Vec<Tag> {
    let mut out = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, r)| r);
            continue;
        }
        let end = after
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let name = name.to_ascii_lowercase();
        if name.is_empty() {
            rest = after;
            continue;
        }
        let (attributes, after) = attributes(after);
        rest = after;
        match name.as_str() {
            "a" | "base" => out.push(Tag { name, attributes }),
            "script" | "style" => rest = behind_end(rest, &name),
            _ => {}
        }
    }
    out
}

/// What follows `</name`.
fn behind_end<'t>(text: &'t str, name: &str) -> &'t str {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("</") {
        let found = after.get(..name.len());
        if found.is_some_and(|n| n.eq_ignore_ascii_case(name)) {
            return after;
        }
        rest = after;
    }
    ""
}

/// Reads attributes up to the `>` that ends the tag; gives what follows it.
fn attributes(text: &str) -> (Vec<(String, String)>, &str) {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return (out, rest);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (out, after);
        }
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/'))
            .map_or(rest.len(), |(i, _)| i);
        let (key, after) = rest.split_at(end);
        let key = key.to_ascii_lowercase();
        let Some(value) = after.trim_ascii_start().strip_prefix('=') else {
            out.push((key, String::new()));
            rest = after;
            continue;
        };
        let value = value.trim_ascii_start();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|q| Some((q, value.strip_prefix(q)?)));
        let (raw, after) = if let Some((quote, inner)) = quoted {
            inner.split_once(quote).unwrap_or((inner, ""))
        } else {
            let end = value.find(|c: char| c.is_ascii_whitespace() || c == '>');
            value.split_at(end.unwrap_or(value.len()))
        };
        out.push((key, decoded(raw)));
        rest = after;
    }
}

/// Decodes the character references that index pages use; an unknown one stays as it is.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(10).position(|b| b == b';');
        let reference = end.and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?)));
        let known = reference.and_then(|(name, tail)| Some((character(name)?, tail)));
        let (c, tail) = known.unwrap_or(('&', after));
        out.push(c);
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        "plus" => Some('+'),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_anchors_in_every_common_dress() {
        let html = r#"<!DOCTYPE html><html><HEAD><base href="/x/"></head><!-- <a href="no"> -->
            <script>if (a<b) "<a href='no'>"</script>
            <A HREF='a.whl#sha256=1' data-requires-python="&gt;=3.8,&lt;4" data-yanked>a</A>
            <a data-x=1 href=b.whl>b</a><a href="c&amp;d&#43;e&#x2b;f&bogus;g"/>"#;
        let hrefs: Vec<_> = tags(html)
            .iter()
            .map(|t| t.get("href").unwrap().to_owned())
            .collect();
        assert_eq!(hrefs, ["/x/", "a.whl#sha256=1", "b.whl", "c&d+e+f&bogus;g"]);
        let first = &tags(html)[1];
        assert_eq!(first.get("data-requires-python"), Some(">=3.8,<4"));
        assert_eq!(first.get("data-yanked"), Some(""));
    }

    #[test]
    fn survives_broken_pages() {
        for html in [
            "<",
            "<a",
            "<a href",
            "<a href=",
            "<a href=\"x",
            "<!--",
            "<script>",
            "<script></",
            "& <a b=&#xffffffff;>",
            "<a \u{e9}=\u{e9}&\u{e9}\u{e9}\u{e9}\u{e9}\u{e9};>",
            "<script></é",
            "<é>",
        ] {
            let _ = tags(html);
        }
    }
}
