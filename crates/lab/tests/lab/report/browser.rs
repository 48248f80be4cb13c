//! The page in a real browser, with clicks and typing.

use std::path::Path;

use isthmus_lab::{figures::results::Quantity, report};
use serde_json::{Value, json};

use super::{
    devtools::{Page, chromium},
    laboratory::laboratory,
    large::large,
    made_up::MadeUp,
};

/// The names of the subjects in the comparison, in their order.
const NAMES: &str =
    "[...document.querySelectorAll('#compare tbody tr:not([hidden]) th')].map(e => e.textContent)";

/// Returns the values by which a column of the comparison is sorted.
fn column(quantity: &str) -> String {
    format!(
        "(() => {{ const table = document.querySelector('#compare');
            const heads = [...table.tHead.rows[0].cells];
            const place = heads.findIndex(h => !h.hidden && h.textContent.startsWith({}));
            return [...table.tBodies[0].rows].filter(r => !r.hidden)
                .map(r => r.cells[place].dataset.sort).filter(v => v !== undefined).map(Number); }})()",
        json!(quantity)
    )
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_f64().unwrap())
        .collect()
}

fn names(value: &Value) -> Vec<String> {
    let values = value.as_array().unwrap().iter();
    values.map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// One browser for everything, as it takes seconds to start.
#[test]
fn the_page_works_in_a_browser() {
    let Some(program) = chromium() else {
        println!("skipped: no Chromium is installed; Debian package: chromium");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let made_up = laboratory();
    let written = report::write(&made_up.summary(), place.path()).unwrap();
    let mut page = Page::open(&program);
    page.resize(1600, 1000);
    page.prefer("prefers-color-scheme", "light");
    page.visit(&written.index);

    plots_are_there(&mut page);
    applications(&mut page);
    sorting(&mut page);
    filtering(&mut page);
    columns(&mut page);
    values_under_pointer_and_keys(&mut page);
    series_and_legend(&mut page);
    engines(&mut page);
    dark_and_light(&mut page, &written.index);
    narrow(&mut page);
    first_screen(&mut page);
    values_on_a_phone(&mut page);
    pictures(&mut page);
    on_paper(&mut page, "paper.pdf");

    assert_eq!(page.complaints(), Vec::<Value>::new());
    let page_itself = format!("file://{}", written.index.display());
    for request in page.requests() {
        assert!(
            request == page_itself || request.starts_with("data:"),
            "{request}"
        );
    }
    columns_of_bars(&mut page);
    a_large_run(&mut page);
}

/// Checks paper and phone with as many subjects and experiments as the laboratory has.
fn a_large_run(page: &mut Page) {
    let made_up = large();
    let place = tempfile::tempdir().unwrap();
    let written = report::write(&made_up.summary(), place.path()).unwrap();
    page.visit(&written.index);
    narrow(page);
    values_on_a_phone(page);
    on_paper(page, "paper-large.pdf");
}

/// Checks that the bar under the pointer is meant, and not one at the same height in another column.
fn columns_of_bars(page: &mut Page) {
    let mut made_up = MadeUp::new();
    made_up.experiment("one", Quantity::Loss, None);
    for number in 0..13 {
        made_up.line("one", &format!("nat64-{number}"), "udp", &[(0.0, 0.5)]);
    }
    let place = tempfile::tempdir().unwrap();
    let written = report::write(&made_up.summary(), place.path()).unwrap();
    page.visit(&written.index);
    // Three, three, three, three and one.
    page.hover(".card svg:nth-of-type(3) .line:nth-of-type(2) .bar");
    let text = page.eval("document.querySelector('#tip').innerText");
    assert!(text.as_str().unwrap().starts_with("nat64-7, udp"), "{text}");
}

fn plots_are_there(page: &mut Page) {
    let plots = page.eval(
        "[...document.querySelectorAll('.card:has(svg.plot)')].map(card => {
            const box = card.querySelector('.panel:not(.away) svg').getBoundingClientRect();
            return [box.width, box.height, card.querySelectorAll('[data-value]').length]; })",
    );
    let plots = plots.as_array().unwrap();
    assert!(plots.len() >= 20);
    let cards = page
        .eval("document.querySelectorAll('article.card').length")
        .as_u64()
        .unwrap() as usize;
    assert_eq!(plots.len(), cards - 1, "all but the table of applications");
    for plot in plots {
        let [width, height, points] = [0, 1, 2].map(|place| plot[place].as_f64().unwrap());
        assert!(width > 240.0 && height > 60.0 && points >= 1.0, "{plot}");
    }
    let ids = page.eval("[...document.querySelectorAll('[id]')].map(e => e.id)");
    let mut ids = names(&ids);
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "each id is there once");
    let broken = page.eval(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1)).filter(id => !document.getElementById(id))",
    );
    assert_eq!(broken, json!([]));
}

/// Checks the row of each mechanism and the column of each application, in words, and the reasons of failures.
fn applications(page: &mut Page) {
    let table = |name: &str| {
        format!(
            "[...document.querySelectorAll('table.{name} tr')].map(r => [...r.cells].map(c => c.textContent.trim()))"
        )
    };
    let matrix = page.eval(&table("matrix"));
    let (works, fails, badly) = ("✓ works", "✗ fails", "~ badly");
    let expected = json!([
        [
            "mechanism",
            "web",
            "mail",
            "video",
            "voice",
            "bittorrent",
            "ipsec"
        ],
        ["native IPv4", works, works, works, works, works, works],
        ["ds-lite", works, works, works, works, fails, "~ 1 of 2"],
        ["map-e", works, works, works, works, fails, fails],
        ["map-t", works, works, works, works, fails, fails],
        ["464xlat", works, works, works, badly, fails, fails],
    ]);
    assert_eq!(matrix, expected);
    let reasons = page.eval(&table("reasons"));
    let row = |cells: [&str; 3]| reasons.as_array().unwrap().contains(&json!(cells));
    assert!(row(["map-e", "bittorrent", "bittorrent: nobody answers"]));
    // Where implementations differ, the reason names the implementation.
    let ds_lite = "ipsec: nobody answers ds-lite-isthmus-user";
    assert!(row(["ds-lite", "ipsec", ds_lite]), "{reasons}");
}

fn sorting(page: &mut Page) {
    let head = |page: &mut Page| {
        let place = page.eval(
            "[...document.querySelectorAll('#compare thead th')].findIndex(h => !h.hidden && h.textContent.startsWith('Packet rate')) + 1",
        );
        format!("#compare thead th:nth-child({place})")
    };
    let head = head(page);
    page.click(&format!("{head} button"));
    let rising = numbers(&page.eval(&column("Packet rate")));
    assert!(rising.len() > 2 && rising.is_sorted(), "{rising:?}");
    page.click(&format!("{head} button"));
    let falling = numbers(&page.eval(&column("Packet rate")));
    assert!(
        falling.is_sorted_by(|one, other| one >= other),
        "{falling:?}"
    );
    let sort = format!("document.querySelector('{head}').getAttribute('aria-sort')");
    assert_eq!(page.eval(&sort), "descending");
    // Rows without a value are below those with one.
    let last = page.eval(
        "(() => { const rows = document.querySelector('#compare').tBodies[0].rows;
            return rows[rows.length - 1].cells[document.querySelector('[aria-sort=descending]').cellIndex].dataset.sort ?? null; })()",
    );
    assert_eq!(last, Value::Null);
    // The keyboard works as well.
    page.eval("document.querySelector('#compare thead button').focus()");
    page.call(
        "Input.dispatchKeyEvent",
        json!({"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}),
    );
    let sorted = names(&page.eval(NAMES));
    assert!(sorted.is_sorted(), "{sorted:?}");
}

fn filtering(page: &mut Page) {
    let all = names(&page.eval(NAMES));
    page.click("#find");
    page.write("NAT64 user");
    let found = names(&page.eval(NAMES));
    assert!(!found.is_empty() && found.len() < all.len(), "{found:?}");
    assert!(found.iter().all(|name| name.contains("nat64")), "{found:?}");
    assert!(
        found.iter().any(|name| name == "nat64-tayga"),
        "its engine is user: {found:?}"
    );
    assert_eq!(
        page.eval("document.querySelector('#count').textContent"),
        format!("{} of {} subjects", found.len(), all.len())
    );
    page.eval("document.querySelector('#find').select()");
    page.press("Delete", 46);
    assert_eq!(names(&page.eval(NAMES)).len(), all.len());
    // Chooses by typing into the list.
    page.eval("document.querySelector('#engine').focus()");
    page.call(
        "Input.dispatchKeyEvent",
        json!({"type": "char", "text": "x"}),
    );
    let engines = page.eval(
        "[...new Set([...document.querySelectorAll('#compare tbody tr:not([hidden])')].map(r => r.dataset.engine))]",
    );
    assert_eq!(engines, json!(["xdp"]));
    page.eval("(() => { const e = document.querySelector('#engine'); e.value = ''; e.dispatchEvent(new Event('input')); })()");
}

fn columns(page: &mut Page) {
    let shown = "[...document.querySelectorAll('#compare thead th[data-column]:not([hidden])')].map(h => h.textContent)";
    let before = names(&page.eval(shown));
    page.click(".columns summary");
    let chosen = page.eval(
        "(() => { const s = [...document.querySelectorAll('[data-choice]')].find(s => s.options.length > 2);
            s.focus(); return [s.value, s.options[s.options.length - 1].value]; })()",
    );
    page.press("End", 35);
    let now = page.eval("document.activeElement.value");
    assert_eq!(now, chosen[1]);
    let after = names(&page.eval(shown));
    assert_eq!(before.len(), after.len());
    assert_ne!(before, after);
    // The cells of the body follow the heads.
    let widths = page.eval(
        "[...document.querySelector('#compare').rows].map(r => [...r.cells].filter(c => !c.hidden).length)",
    );
    let widths = numbers(&widths);
    assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
    page.click(".columns summary");
}

/// A card with lines over an axis and several series.
const CARD: &str = "#e0";

fn values_under_pointer_and_keys(page: &mut Page) {
    let tip = "(() => { const t = document.querySelector('#tip'); return t.hidden ? null : t.innerText; })()";
    page.hover(&format!(
        "{CARD} .panel:not(.away) .line:nth-of-type(3) .m:nth-of-type(9)"
    ));
    let text = page.eval(tip);
    let text = text.as_str().unwrap();
    assert!(
        text.contains("bytes") && text.contains("bound:") && text.contains("p1 to p99"),
        "{text}"
    );
    page.hover("h1");
    assert_eq!(page.eval(tip), Value::Null);
    // With the keyboard: the first value of the first line, then the next one, then another line.
    page.eval(&format!(
        "document.querySelector('{CARD} .panel:not(.away) .scroll').focus()"
    ));
    let at = |page: &mut Page, key: &str, code: u32| {
        page.press(key, code);
        let text = page.eval(tip);
        text.as_str()
            .unwrap_or_else(|| panic!("no value at {key}"))
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(at(page, "Home", 36), "native, 50 bytes");
    assert_eq!(at(page, "ArrowRight", 39), "native, 100 bytes");
    assert_eq!(at(page, "ArrowDown", 40), "nat64-isthmus-xdp, 100 bytes");
    assert_eq!(at(page, "ArrowUp", 38), "native, 100 bytes");
    // The last value is in the last frame.
    assert_eq!(at(page, "End", 35), "6to4-hosts-isthmus-user, 10000 bytes");
    page.hover(&format!(
        "{CARD} .panel:not(.away) svg:last-child .line:last-child .m:last-child"
    ));
    let text = page.eval(tip);
    let text = text.as_str().unwrap();
    assert!(
        text.starts_with("6to4-hosts-isthmus-") && text.contains("10000 bytes"),
        "{text}"
    );
    page.press("Escape", 27);
    assert_eq!(page.eval(tip), Value::Null);
}

fn series_and_legend(page: &mut Page) {
    let shown = format!(
        "[...document.querySelectorAll('{CARD} .panel')].filter(p => p.getBoundingClientRect().height > 0).map(p => p.id)"
    );
    assert_eq!(
        page.eval(&shown),
        json!(["e0-2"]),
        "the papers' series stands in front"
    );
    page.click(&format!("{CARD} .tabs button:first-child"));
    assert_eq!(page.eval(&shown), json!(["e0-0"]));
    let lines = format!(
        "[...document.querySelectorAll('{CARD} #e0-0 .line')].filter(l => getComputedStyle(l).display !== 'none').length"
    );
    let all = page.eval(&lines).as_u64().unwrap();
    page.click(&format!("{CARD} .legend [data-key=\"2\"]"));
    assert_eq!(page.eval(&lines).as_u64().unwrap(), all - 1);
    let faint =
        format!("[...document.querySelectorAll('{CARD} #e0-0 svg.dim .line:not(.hot)')].length");
    page.hover(&format!("{CARD} .legend [data-key=\"1\"]"));
    assert_eq!(page.eval(&faint).as_u64().unwrap(), all - 1);
    page.click(&format!("{CARD} .legend [data-key=\"2\"]"));
    assert_eq!(page.eval(&lines).as_u64().unwrap(), all);
    // Native forwarding is in each of the three frames.
    page.click(&format!("{CARD} .legend [data-key=\"0\"]"));
    assert_eq!(page.eval(&lines).as_u64().unwrap(), all - 3);
    page.click(&format!("{CARD} .legend [data-key=\"0\"]"));
}

/// Checks that one engine of a mechanism is shown at first, and another when its name is pressed.
fn engines(page: &mut Page) {
    let card = "[...document.querySelectorAll('.card')].find(card => card.querySelector('.files code')?.textContent === 'paper-004/connections')";
    let shown = format!(
        "(() => {{ const card = {card}; return [...card.querySelectorAll('.panel:not(.away) .line')]
            .filter(line => getComputedStyle(line).display !== 'none')
            .map(line => card.querySelector(`.legend [data-key='${{line.dataset.key}}']`).textContent.trim()); }})()"
    );
    let first = json!([
        "native",
        "nat64-isthmus-xdp",
        "nat64-tayga",
        "http-proxy-apache"
    ]);
    assert_eq!(page.eval(&shown), first);
    page.eval(&format!(
        "[...{card}.querySelectorAll('.legend button')].find(button => button.textContent.includes('user')).click()"
    ));
    assert!(names(&page.eval(&shown)).contains(&"nat64-isthmus-user".to_owned()));
}

fn dark_and_light(page: &mut Page, index: &Path) {
    // 0 is black, 3 is white.
    let light = "(() => { const c = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
        return (c[0] + c[1] + c[2]) / 255; })()";
    page.prefer("prefers-color-scheme", "light");
    assert!(page.eval(light).as_f64().unwrap() > 2.5);
    page.prefer("prefers-color-scheme", "dark");
    assert!(page.eval(light).as_f64().unwrap() < 0.6);
    page.click("#theme");
    assert!(
        page.eval(light).as_f64().unwrap() > 2.5,
        "the switch is stronger than the system"
    );
    assert_eq!(
        page.eval("document.querySelector('#theme').getAttribute('aria-pressed')"),
        "false"
    );
    // Marks differ from their background by at least 3 to 1, in both themes.
    page.click("#theme");
    page.prefer("prefers-color-scheme", "light");
    contrast(page);
    page.click("#theme");
    contrast(page);
    assert!(index.is_file());
}

/// Checks the contrast of WCAG 2.2 between each subject's colour and the card.
fn contrast(page: &mut Page) {
    let ratios = page.eval(
        "(() => { const light = text => { const c = text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
                .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
            const card = light(getComputedStyle(document.querySelector('.card')).backgroundColor);
            return ['native4', 'native6', 'h0', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7'].map(name => {
                const probe = document.createElement('i'); probe.className = name; document.body.append(probe);
                const mark = light(getComputedStyle(probe).color); probe.remove();
                return (Math.max(card, mark) + 0.05) / (Math.min(card, mark) + 0.05); }); })()",
    );
    for (place, ratio) in numbers(&ratios).into_iter().enumerate() {
        assert!(ratio >= 3.0, "colour {place}: {ratio}");
    }
}

fn narrow(page: &mut Page) {
    for (width, height) in [(360, 740), (1600, 1000)] {
        page.resize(width, height);
        let wide = page.eval("document.documentElement.scrollWidth");
        assert!(
            wide.as_u64().unwrap() <= u64::from(width),
            "{wide} at {width}"
        );
        let text = page.eval(
            "Math.min(...[...document.querySelectorAll('.panel:not(.away) svg.plot text')].filter(t => t.getBoundingClientRect().height > 0)
                .map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a))",
        );
        assert!(
            text.as_f64().unwrap() >= 8.5,
            "text of {text} px at {width}"
        );
    }
}

/// Checks that all mechanisms are on the first screen, with the figures that a choice needs, and that the cards follow the
/// answers.
fn first_screen(page: &mut Page) {
    page.resize(1280, 800);
    let below = page.eval(
        "Math.max(...[...document.querySelectorAll('.choice > li')].map(card => card.getBoundingClientRect().bottom))",
    );
    assert!(below.as_f64().unwrap() <= 800.0, "the cards end at {below}");
    let names =
        "[...document.querySelectorAll('.choice h3')].map(head => head.firstChild.textContent)";
    let before = page.eval(names);
    // The core has IPv4: what crosses IPv6 is not for this network, and what crosses IPv4 comes first.
    page.click(".switches fieldset:nth-child(2) button:nth-child(2)");
    let unfit = "[...document.querySelectorAll('.choice .unfit h3')].map(head => head.firstChild.textContent)";
    let unfit = self::names(&page.eval(unfit));
    assert!(
        unfit.contains(&"map-e".to_owned()) && !unfit.contains(&"isatap".to_owned()),
        "{unfit:?}"
    );
    page.click(".switches fieldset:nth-child(2) button:nth-child(2)");
    assert_eq!(page.eval(names), before);
}

/// Checks that a phone shows values of the comparison, and not only names, and a value of each other table that is open.
fn values_on_a_phone(page: &mut Page) {
    page.resize(390, 844);
    let values = page.eval(
        "[...document.querySelectorAll('#compare tbody td .v')].filter(value => {
            const box = value.getBoundingClientRect();
            return box.width > 0 && box.left >= 0 && box.right <= 390; }).length",
    );
    assert!(values.as_u64().unwrap() >= 10, "{values}");
    let names_alone = page.eval(
        "[...document.querySelectorAll('tbody tr:first-child')].filter(row => row.getClientRects().length)
            .map(row => [...row.cells].find((cell, place) => place && cell.getClientRects().length))
            .filter(cell => cell.getBoundingClientRect().right > 390)
            .map(cell => cell.closest('table').caption.textContent)",
    );
    assert_eq!(names_alone, json!([]));
}

/// The most pages on paper.
const PAGES: usize = 20;

/// The least text on paper: 7 points, of which an inch has 72, in units of which it has 96.
const LEAST: f64 = 7.0 / 72.0 * 96.0;

/// Checks the number of pages on paper, that text can be read, that the comparison is whole (no column reaches over the
/// edge), and that each card has room on a page.
fn on_paper(page: &mut Page, name: &str) {
    page.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    // A4, less margins of 9 mm.
    page.resize(1054, 725);
    let over = page.eval(
        "document.querySelector('#compare').getBoundingClientRect().right - document.documentElement.clientWidth",
    );
    assert!(over.as_f64().unwrap() <= 0.0, "{over} px");
    let highest = page.eval(
        "Math.max(...[...document.querySelectorAll('.card')].map(card => card.getBoundingClientRect().height))",
    );
    assert!(highest.as_f64().unwrap() <= 725.0, "a card of {highest} px");
    let text = page.eval(
        "(() => { const shown = [...document.querySelectorAll('body *')].filter(e =>
                [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.getClientRects().length
                && !e.closest('.unseen, caption'));
            const size = e => parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM?.().a ?? 1);
            const least = shown.reduce((a, b) => size(b) < size(a) ? b : a);
            return [size(least), least.outerHTML.slice(0, 200)]; })()",
    );
    assert!(text[0].as_f64().unwrap() >= LEAST, "{text}");
    page.call("Emulation.setEmulatedMedia", json!({"media": ""}));
    let printed = page.call("Page.printToPDF", json!({"preferCSSPageSize": true}));
    let pdf = decoded(printed["data"].as_str().unwrap());
    let text = String::from_utf8_lossy(&pdf);
    let pages = text.matches("/Type /Page\n").count();
    assert!((1..=PAGES).contains(&pages), "{pages} pages");
    keep(name, &pdf);
}

/// Keeps pictures of the page, to be looked at.
fn pictures(page: &mut Page) {
    for (name, width, height) in [("screen", 1280, 800), ("phone", 390, 844)] {
        page.resize(width, height);
        for theme in ["light", "dark"] {
            page.prefer("prefers-color-scheme", theme);
            page.eval("document.documentElement.dataset.theme = '', scrollTo(0, 0)");
            let taken = page.call("Page.captureScreenshot", json!({"format": "png"}));
            let picture = decoded(taken["data"].as_str().unwrap());
            // https://www.w3.org/TR/png-3/#3PNGsignature
            assert!(picture.starts_with(b"\x89PNG"));
            keep(&format!("{name}-{theme}.png"), &picture);
        }
    }
    page.prefer("prefers-color-scheme", "light");
}

fn keep(name: &str, bytes: &[u8]) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join(name), bytes).unwrap();
    println!("kept {}", place.join(name).display());
}

/// Decodes base64 (RFC 4648 section 4).
fn decoded(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.chars().take_while(|letter| *letter != '=') {
        bits = bits << 6 | ALPHABET.find(letter).unwrap() as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
