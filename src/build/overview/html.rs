//! The frame of the page, and tables. All text from outside is escaped.

use std::fmt::Write as _;

/// A page in the making.
pub(super) struct Html(String);

impl Html {
    pub(super) fn new(title: &str) -> Self {
        let title = escaped(title);
        Self(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
             <title>{title}</title><style>{}</style></head><body><main><h1>{title}</h1>\n",
            include_str!("style.css")
        ))
    }

    /// Adds HTML as it is.
    pub(super) fn raw(&mut self, html: &str) {
        self.0.push_str(html);
    }

    pub(super) fn heading(&mut self, text: &str) {
        let _ = write!(self.0, "\n<h2>{}</h2>", escaped(text));
    }

    /// Names and values, those without value left out.
    pub(super) fn facts(&mut self, all: &[(&str, String)]) {
        self.0.push_str("<dl>");
        for (name, value) in all.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(
                self.0,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                escaped(name),
                escaped(value)
            );
        }
        self.0.push_str("</dl>");
    }

    pub(super) fn table(&mut self, heads: &[&str], rows: &[Vec<String>]) {
        if rows.is_empty() {
            self.0.push_str("<p>Nothing.</p>");
            return;
        }
        self.0.push_str("<div class=\"wide\"><table><thead><tr>");
        for head in heads {
            let _ = write!(self.0, "<th>{}</th>", escaped(head));
        }
        self.0.push_str("</tr></thead><tbody>");
        for row in rows {
            self.0.push_str("<tr>");
            for cell in row {
                let _ = write!(self.0, "<td>{}</td>", escaped(cell));
            }
            self.0.push_str("</tr>\n");
        }
        self.0.push_str("</tbody></table></div>");
    }

    pub(super) fn finish(self) -> String {
        self.0 + "</main></body></html>\n"
    }
}

/// Text as it may stand in HTML, in attributes too.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let mut html = Html::new("<script>alert(1)</script>");
        html.table(&["a"], &[vec!["\" onload='x' &\u{1b}".to_owned()]]);
        let page = html.finish();
        assert!(!page.contains("<script") && !page.contains("onload='"));
        assert!(page.contains("&lt;script&gt;") && !page.contains('\u{1b}'));
    }
}
