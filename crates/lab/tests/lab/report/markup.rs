//! The validity of a page, by the HTML standard's rules for errors.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// Elements without an end tag.
const VOID: [&str; 4] = ["meta", "link", "input", "br"];

/// Attributes that must be numbers.
const NUMBERS: [&str; 9] = ["x", "y", "x1", "x2", "y1", "y2", "width", "height", "cx"];

/// Panics if the page has an error that a browser would have to correct, or NaN.
pub(crate) fn check(page: &str) {
    let mut open: Vec<String> = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut emitter = DefaultEmitter::<()>::default();
    // Scripts and styles are not parsed.
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(page, emitter) {
        match token.unwrap() {
            Token::Error(error) => panic!("not good HTML: {error:?} in {open:?}"),
            Token::StartTag(tag) => {
                let name = text(&tag.name);
                for (key, value) in &tag.attributes {
                    let (key, value) = (text(key), text(value));
                    let is_number = !NUMBERS.contains(&key.as_str())
                        || value.parse::<f64>().is_ok_and(f64::is_finite);
                    assert!(is_number, "{name} {key}={value}");
                    let is_path = matches!(key.as_str(), "d" | "data-p" | "viewBox" | "transform");
                    assert!(
                        !is_path || !value.contains("NaN") && !value.contains("inf"),
                        "{name} {key}={value}"
                    );
                }
                if !VOID.contains(&name.as_str()) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => assert_eq!(open.pop(), Some(text(&tag.name))),
            _ => {}
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

/// Panics if the picture is not SVG.
pub(crate) fn check_picture(picture: &str) {
    check(picture);
    let tree = resvg::usvg::Tree::from_str(picture, &resvg::usvg::Options::default());
    tree.unwrap_or_else(|error| panic!("{error}: {picture}"));
}
