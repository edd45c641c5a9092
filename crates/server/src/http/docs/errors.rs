//! `/docs/errors`: every error code with its meaning and its status.

use std::fmt::Write;
use std::sync::LazyLock;

use godwit_protocol::ErrorCode;

use crate::problem::{is_temporary, meaning, status};

/// The page. It contains only text of the server. Rendered once, because anyone may request it.
pub fn page() -> &'static str {
    static PAGE: LazyLock<String> = LazyLock::new(rendered);
    &PAGE
}

fn rendered() -> String {
    let mut rows = String::new();
    for (code, _) in ErrorCode::ALL {
        let temporary = if is_temporary(*code) { "yes" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            r##"<tr id="{code}"><td><a href="#{code}"><code>{code}</code></a></td><td>{}</td><td>{}</td><td>{temporary}</td></tr>"##,
            status(*code).as_u16(),
            with_code_marks(meaning(*code)),
        );
    }
    include_str!("errors.html").replace("{{rows}}", &rows)
}

/// Marks text between backticks as code. The texts come from the source and contain no HTML, which a test checks.
fn with_code_marks(text: &str) -> String {
    let mut html = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            html.push_str(part);
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_on_the_page() {
        let page = page();
        for (code, meaning) in ErrorCode::ALL {
            assert!(page.contains(&format!(r#"<tr id="{code}">"#)), "{code} is not on the page");
            assert!(!meaning.contains(['<', '>', '&']), "the meaning of {code} would have to be escaped");
        }
        assert!(!page.contains("{{"));
    }
}
