//! The web: a search and a social page in a browser, a film, a feed of news, and a bank.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    super::{in_url, servers},
    Application, Call, Seen, Stream, Trouble, fails, join,
};
use crate::{
    Result,
    network::{
        leftovers,
        process::{self, Process},
    },
    traffic::{
        services::{self, Served, WEB_NAME, listens},
        tools,
    },
};

/// All of one web server.
pub(super) const WEB: Application = Application {
    names: &["news, RSS over TLS", "home banking, mutual TLS"],
    needs: &[("nginx", "nginx-light"), ("curl", "curl")],
    run: |call| {
        let site = Site::start(call)?;
        Ok(vec![site.news().into(), site.bank().into()])
    },
};

/// A film at a steady rate.
pub(super) const FILM: Application = Application {
    names: &["video streaming, HLS"],
    needs: WEB.needs,
    run: |call| {
        let site = Site::start(call)?;
        Ok(vec![site.film().into()])
    },
};

/// Pages with scripts.
pub(super) const BROWSER: Application = Application {
    names: &["browser, web search", "browser, social page"],
    needs: &[
        ("nginx", "nginx-light"),
        ("chromium", "chromium"),
        ("websocketd", "websocketd"),
    ],
    run: |call| {
        let site = Site::start(call)?;
        let [search, social] = thread::scope(|scope| {
            let social = scope.spawn(|| site.browse("https", "social"));
            let search = site.browse("http", "search");
            [search, join(social)]
        });
        Ok(vec![search.into(), social.into()])
    },
};

const PATIENCE: Duration = Duration::from_secs(20);
/// The time that a browser has, which two cores may share with three others.
const BROWSING: Duration = Duration::from_secs(40);
/// The number of times that a page is asked for.
const TIMES: usize = 3;
/// The port of the WebSocket behind the web server.
const SOCKET: u16 = 8090;
/// The parts of the film, their octets, and their time: 2 Mb/s.
const PARTS: usize = 20;
const PART: usize = 50_000;
const PART_TIME: Duration = Duration::from_millis(200);
/// The number of parts that a player has before it begins.
const AHEAD: usize = 5;
const AHEAD_COUNT: u32 = AHEAD as u32;
const BALANCE: &str = "You have 100 of something.\n";

/// The port at which nobody answers: what a page asks for there keeps its browser waiting until the script has spoken.
const HOLD: u16 = 8091;

/// The word of a script when all is well. It tells the server by asking for a page of this name.
const WORKS: &str = "works";
const SEARCH: &str = r#"<!doctype html><title>search</title><ol id="found"></ol>
<script src="/search.js"></script><img src="/hold" alt="">"#;
const SEARCH_SCRIPT: &str = r"
const say = what => fetch('/said/' + encodeURIComponent(what));
(async () => {
  try {
    const answer = await fetch('/found.json?q=isthmus', {cache: 'no-store'});
    for (const one of await answer.json()) {
      const item = document.createElement('li');
      item.textContent = one;
      document.getElementById('found').append(item);
    }
    const count = document.querySelectorAll('#found li').length;
    say(count === 10 ? 'works' : count + ' of 10 are found');
  } catch (problem) { say(String(problem)); }
})();
";
const SOCIAL: &str = r#"<!doctype html><title>friends</title><script src="/social.js"></script>
<img src="/hold" alt="">"#;
const SOCIAL_SCRIPT: &str = r"
const say = what => fetch('/said/' + encodeURIComponent(what));
const echo = () => new Promise((done, failed) => {
  const socket = new WebSocket('wss://' + location.host + '/socket');
  let heard = 0;
  socket.onopen = () => socket.send('message 0');
  socket.onerror = () => failed('the WebSocket breaks after ' + heard + ' of 20');
  socket.onmessage = event => {
    if (event.data !== 'message ' + heard) failed('another message: ' + event.data);
    else if (++heard === 20) done();
    else socket.send('message ' + heard);
  };
});
(async () => {
  try {
    const faces = [...Array(100).keys()].map(n => fetch('/face.svg?' + n, {cache: 'no-store'}));
    const came = (await Promise.all(faces)).filter(face => face.ok).length;
    const last = performance.getEntriesByType('resource').pop();
    await echo();
    if (came !== 100) say(came + ' of 100 pictures came');
    else if (last.nextHopProtocol !== 'h2') say('by ' + last.nextHopProtocol + ' and not by HTTP/2');
    else say('works');
  } catch (problem) { say(String(problem)); }
})();
";

/// The web server with its pages, and who asks it.
struct Site<'a> {
    call: &'a Call<'a>,
    web: Served,
    _socket: Option<Process>,
    _hold: TcpListener,
    keys: TempDir,
}

impl<'a> Site<'a> {
    fn start(call: &'a Call<'a>) -> Result<Self> {
        let keys = leftovers::directory()?;
        let both = servers::certificate(keys.path())?;
        // The customer's certificate is its own authority.
        let customer = keys.path().join("customer");
        fs::create_dir(&customer).map_err(crate::LabError::file(&customer))?;
        let customer = servers::certificate(&customer)?;
        let log = keys.path().join("asked");
        let (both, customer, asked) = (both.display(), customer.display(), log.display());
        let server = format!(
            "listen 80; listen [::]:80; listen 443 ssl http2; listen [::]:443 ssl http2;\n    \
             ssl_certificate {both}; ssl_certificate_key {both};\n    \
             ssl_client_certificate {customer}; ssl_verify_client optional;\n    \
             location /bank {{ if ($ssl_client_verify != SUCCESS) {{ return 403; }} }}\n    \
             location /said/ {{ access_log {asked}; return 204; }}\n    \
             location /hold {{ proxy_pass http://127.0.0.1:{HOLD}; }}\n    \
             location /socket {{ proxy_pass http://127.0.0.1:{SOCKET}; proxy_http_version 1.1;\n      \
             proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }}"
        );
        let web = services::start_nginx(call.server, None, &server)?;
        let address = (Ipv4Addr::LOCALHOST, HOLD).into();
        let hold = call.server.enter(|| {
            TcpListener::bind(address).map_err(|source| crate::LabError::Socket {
                action: "listen at",
                address,
                source,
            })
        })?;
        let site = Self {
            call,
            _hold: hold,
            _socket: socket(call)?,
            web,
            keys,
        };
        site.write()?;
        Ok(site)
    }

    /// Writes the pages.
    fn write(&self) -> Result<()> {
        let found: Vec<String> = (0..10)
            .map(|number| format!("\"result {number}\""))
            .collect();
        let film: Vec<u8> = (0..PARTS * PART).map(|at| (at / 251 % 256) as u8).collect();
        let root = self.web.directory.path();
        let pages: [(&str, &[u8]); 9] = [
            ("search.html", SEARCH.as_bytes()),
            ("search.js", SEARCH_SCRIPT.as_bytes()),
            ("found.json", &format!("[{}]", found.join(",")).into_bytes()),
            ("social.html", SOCIAL.as_bytes()),
            ("social.js", SOCIAL_SCRIPT.as_bytes()),
            ("face.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
            ("news.xml", &feed().into_bytes()),
            ("bank", BALANCE.as_bytes()),
            ("film.ts", &film),
        ];
        leftovers::write(&root.join("film.m3u8"), playlist())?;
        pages
            .iter()
            .try_for_each(|(name, content)| leftovers::write(&root.join(name), content))
    }

    /// Returns curl for an address by TLS, which trusts the server.
    fn curl(&self, path: &str, options: &[&str]) -> Command {
        let mut command = tools::curl(self.call.client, PATIENCE);
        command
            .arg("--cacert")
            .arg(self.keys.path().join("certificate.pem"));
        let to = format!("{WEB_NAME}:443:{}:443", in_url(self.call.target));
        command.args(["--connect-to", &to]).args(options);
        command.arg(format!("https://{WEB_NAME}/{path}"));
        command
    }

    /// Reads the news, and asks again, as a reader of feeds does, whether there are others.
    fn news(&self) -> std::result::Result<Seen, Trouble> {
        let mut beginnings = Vec::new();
        for _ in 0..TIMES {
            let begun = Instant::now();
            let came = process::run(&mut self.curl("news.xml", &[]))?;
            beginnings.push(begun.elapsed());
            if came != feed() {
                return fails(format!("other news, of {} bytes", came.len()));
            }
        }
        let known = self.keys.path().join("known").display().to_string();
        process::run(&mut self.curl("news.xml", &["--etag-save", &known]))?;
        let again = ["--write-out", "%{http_code}", "--etag-compare", &known];
        match &*process::run(&mut self.curl("news.xml", &again))? {
            "304" => Ok(Seen {
                beginnings,
                stream: None,
            }),
            other => fails(format!(
                "there should be nothing new, but {} bytes come",
                other.len()
            )),
        }
    }

    /// Asks for the balance with the customer's certificate, and without: then it is refused.
    fn bank(&self) -> std::result::Result<Seen, Trouble> {
        let customer = self
            .keys
            .path()
            .join("customer/both.pem")
            .display()
            .to_string();
        let mut beginnings = Vec::new();
        for _ in 0..TIMES {
            let begun = Instant::now();
            let came = process::run(&mut self.curl("bank", &["--cert", &customer]))?;
            beginnings.push(begun.elapsed());
            if came != BALANCE {
                return fails(format!("the bank says {came}"));
            }
        }
        let strangers = ["--output", "/dev/null", "--write-out", "%{http_code}"];
        match &*process::run(&mut self.curl("bank", &strangers))? {
            "403" => Ok(Seen {
                beginnings,
                stream: None,
            }),
            other => fails(format!("the bank says {other} to a stranger")),
        }
    }

    /// Plays the film: each part has to be there when its time comes.
    fn film(&self) -> std::result::Result<Seen, Trouble> {
        let begun = Instant::now();
        let parts = parts(&process::run(&mut self.curl("film.m3u8", &[]))?);
        if parts.len() != PARTS {
            return fails(format!("the film has {} of {PARTS} parts", parts.len()));
        }
        let original = fs::read(self.web.directory.path().join("film.ts")).unwrap_or_default();
        let (mut playing, mut late) = (begun, Vec::new());
        for (number, (length, from)) in parts.into_iter().enumerate() {
            // A player has so many parts before it begins; it keeps them ahead, and no more.
            let after = u32::try_from(number.saturating_sub(AHEAD)).unwrap_or(u32::MAX);
            if number >= AHEAD {
                let room = playing + PART_TIME * after;
                thread::sleep(room.saturating_duration_since(Instant::now()));
            }
            self.part(number, &original, from..from + length)?;
            if number + 1 == AHEAD {
                playing = Instant::now();
            } else if number >= AHEAD {
                let due = playing + PART_TIME * (after + AHEAD_COUNT);
                late.push(Instant::now().saturating_duration_since(due));
            }
        }
        let count = |late: usize| u32::try_from(late).unwrap_or(u32::MAX);
        let stream = Stream {
            sent: count(late.len()),
            came: count(late.iter().filter(|late| late.is_zero()).count()),
            late: late.iter().max().copied().unwrap_or_default(),
        };
        Ok(stream.into())
    }

    /// Fetches a part of the film, and compares it.
    fn part(
        &self,
        number: usize,
        original: &[u8],
        octets: std::ops::Range<usize>,
    ) -> std::result::Result<(), Trouble> {
        let range = format!("{}-{}", octets.start, octets.end - 1);
        let came = process::output(&mut self.curl("film.ts", &["--range", &range]))?;
        if !came.status.success() {
            let said = String::from_utf8_lossy(&came.stderr).trim().to_owned();
            return fails(format!("part {number}: {said}"));
        }
        if original.get(octets) != Some(&came.stdout) {
            return fails(format!("part {number} is another one"));
        }
        Ok(())
    }

    /// Opens a page in a browser. Its script tells the server whether all that it does works.
    fn browse(&self, scheme: &str, page: &str) -> std::result::Result<Seen, Trouble> {
        let profile = leftovers::directory()?;
        let mut command = self.call.client.command("chromium");
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ]);
        command.args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-sync",
        ]);
        command.args(["--disable-component-update", "--ignore-certificate-errors"]);
        command.args(["--disable-dev-shm-usage", "--dump-dom"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.arg(format!(
            "{scheme}://{}/{page}.html",
            in_url(self.call.target)
        ));
        command.env("HOME", profile.path());
        let log = self.keys.path().join("asked");
        let referer = format!("/{page}.html");
        let mut said = None;
        let mut browser = Process::start("chromium", &mut command)?;
        // What it says is read in the server's log. A browser that has no page ends.
        let _ = browser.wait_until(BROWSING, || {
            said = told(&log, &referer);
            said.is_some()
        });
        drop(browser);
        remove(profile);
        match said.as_deref() {
            Some(WORKS) => Ok(Seen::default()),
            Some(other) => fails(other),
            None => fails("the browser does not show the page"),
        }
    }
}

/// Removes the folder of a browser, whose processes may still be ending.
fn remove(profile: TempDir) {
    let path = profile.keep();
    let until = Instant::now() + PATIENCE;
    while fs::remove_dir_all(&path).is_err() && path.exists() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
}

/// Starts the WebSocket's server, which answers what it hears; without the program only the browser's page fails.
fn socket(call: &Call<'_>) -> Result<Option<Process>> {
    if process::require("websocketd", "websocketd").is_err() {
        return Ok(None);
    }
    let mut command = call.server.command("websocketd");
    command.args([
        "--address",
        "127.0.0.1",
        "--port",
        &SOCKET.to_string(),
        "cat",
    ]);
    let mut socket = Process::start("websocketd", &mut command)?;
    socket.wait_until(PATIENCE, || listens(call.server, SOCKET))?;
    Ok(Some(socket))
}

/// Returns what a page's script has told the server.
fn told(log: &Path, referer: &str) -> Option<String> {
    let text = fs::read_to_string(log).ok()?;
    let line = text.lines().find(|line| line.contains(referer))?;
    let said = line.split_once("/said/")?.1.split(' ').next()?;
    Some(said.replace("%20", " "))
}

fn feed() -> String {
    let items: String = (0..50)
        .map(|number| format!("<item><title>News {number}</title><guid>{number}</guid></item>\n"))
        .collect();
    format!(
        "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>News</title>\n{items}</channel></rss>\n"
    )
}

/// Returns the film's playlist, whose parts are ranges of one file (RFC 8216 section 4.3.2.2).
fn playlist() -> String {
    let parts: String = (0..PARTS)
        .map(|number| {
            let seconds = PART_TIME.as_secs_f64();
            format!(
                "#EXTINF:{seconds},\n#EXT-X-BYTERANGE:{PART}@{}\nfilm.ts\n",
                number * PART
            )
        })
        .collect();
    format!("#EXTM3U\n#EXT-X-VERSION:4\n#EXT-X-TARGETDURATION:1\n{parts}#EXT-X-ENDLIST\n")
}

/// Returns the length and the place of each part.
fn parts(playlist: &str) -> Vec<(usize, usize)> {
    let ranges = playlist
        .lines()
        .filter_map(|line| line.strip_prefix("#EXT-X-BYTERANGE:"));
    ranges
        .filter_map(|range| {
            let (length, place) = range.split_once('@')?;
            Some((length.parse().ok()?, place.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_film_s_parts_follow_each_other() {
        let parts = parts(&playlist());
        assert_eq!(parts.len(), PARTS);
        let mut end = 0;
        for (length, place) in parts {
            assert_eq!(place, end);
            end = place + length;
        }
        assert_eq!(end, PARTS * PART);
    }

    #[test]
    fn what_a_page_said_is_found_in_the_log() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let text = "1.2.3.4 - - [x] \"GET /said/9%20of%20ten HTTP/1.1\" 204 0 \"http://1.2.3.4/search.html\" \"b\"\n\
                    1.2.3.4 - - [x] \"GET /said/works HTTP/2.0\" 204 0 \"https://1.2.3.4/social.html\" \"b\"\n";
        fs::write(log.path(), text).unwrap();
        assert_eq!(
            told(log.path(), "/search.html").as_deref(),
            Some("9 of ten")
        );
        assert_eq!(told(log.path(), "/social.html").as_deref(), Some(WORKS));
        assert_eq!(told(log.path(), "/bank.html"), None);
    }
}
