//! The paths of version 1 of the control protocol, and the request that each stands for.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hyper::{Method, StatusCode};
use ipnet::IpNet;
use isthmus_engine::trace::LONGEST;
use serde::Serialize;
use serde_json::Value;

use super::answer::Failure;
use super::filter::Filter;
use super::message::{DeleteRequest, How, ReloadRequest, Request, SessionsRequest, Wish};
use super::top::TopRequest;
use super::trace::TraceRequest;
use crate::config::Choice;

const STATUS: &str = "/v1/status";
const COUNTERS: &str = "/v1/counters";
const SESSIONS: &str = "/v1/sessions";
const COUNT: &str = "/v1/sessions/count";
const EVENTS: &str = "/v1/events";
const TOP: &str = "/v1/top";
const TRACE: &str = "/v1/trace";
const RELOAD: &str = "/v1/reload";
const CONFIRM: &str = "/v1/confirm";
const ROLLBACK: &str = "/v1/rollback";

/// All paths, with their methods.
const PATHS: [(&str, &str); 10] = [
    (STATUS, "GET"),
    (COUNTERS, "GET"),
    (SESSIONS, "GET, DELETE"),
    (COUNT, "GET"),
    (EVENTS, "GET"),
    (TOP, "GET"),
    (TRACE, "GET"),
    (RELOAD, "POST"),
    (CONFIRM, "POST"),
    (ROLLBACK, "POST"),
];

/// Rows of a list of those with most sessions, unless the client says how many.
const ROWS: u64 = 20;

impl Request {
    /// The request of a method, a path and a query.
    pub(super) fn from_http(
        method: &Method,
        path: &str,
        query: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut query = Query::new(query)?;
        let request = match (method, path) {
            (&Method::GET, STATUS) => Self::Status,
            (&Method::GET, COUNTERS) => Self::Counters,
            (&Method::GET, SESSIONS) => query.sessions(Wish::List)?,
            (&Method::GET, COUNT) => query.sessions(Wish::Count)?,
            (&Method::GET, EVENTS) => query.sessions(Wish::Follow)?,
            (&Method::DELETE, SESSIONS) => Self::Delete(DeleteRequest {
                filter: query.filter()?,
            }),
            (&Method::GET, TOP) => query.top()?,
            (&Method::GET, TRACE) => query.trace()?,
            (&Method::POST, RELOAD) => Self::Reload(ReloadRequest { how: query.how()? }),
            (&Method::POST, CONFIRM) => Self::Confirm,
            (&Method::POST, ROLLBACK) => Self::Rollback,
            _ => return Err(elsewhere(path)),
        };
        query.finish()?;
        Ok(request)
    }

    /// The method of a request, and its path with a query.
    pub(super) fn to_http(&self) -> (Method, String) {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let (method, path) = match self {
            Self::Status => (Method::GET, STATUS),
            Self::Counters => (Method::GET, COUNTERS),
            Self::Sessions(request) => {
                if request.limit != 0 {
                    query.append_pair("limit", &request.limit.to_string());
                }
                query.extend_pairs(pairs(&request.filter));
                let path = match request.wish {
                    Wish::List => SESSIONS,
                    Wish::Count => COUNT,
                    Wish::Follow => EVENTS,
                };
                (Method::GET, path)
            }
            Self::Top(request) => {
                query.append_pair("by", request.by.name());
                query.append_pair("most", request.most.name());
                query.append_pair("limit", &request.limit.to_string());
                (Method::GET, TOP)
            }
            Self::Trace(request) => {
                query.extend_pairs(pairs(request));
                (Method::GET, TRACE)
            }
            Self::Delete(request) => {
                query.extend_pairs(pairs(&request.filter));
                (Method::DELETE, SESSIONS)
            }
            Self::Reload(ReloadRequest { how }) => {
                match how {
                    How::Now => {}
                    How::Confirm(seconds) => {
                        query.append_pair("confirm", &seconds.to_string());
                    }
                    How::DryRun => {
                        query.append_pair("dry-run", "true");
                    }
                }
                (Method::POST, RELOAD)
            }
            Self::Confirm => (Method::POST, CONFIRM),
            Self::Rollback => (Method::POST, ROLLBACK),
        };
        let query = query.finish();
        let separator = if query.is_empty() { "" } else { "?" };
        (method, format!("{path}{separator}{query}"))
    }
}

/// Why there is no such method at a path.
fn elsewhere(path: &str) -> Failure {
    match PATHS.iter().find(|(known, _)| *known == path) {
        Some((_, methods)) => Failure {
            status: StatusCode::METHOD_NOT_ALLOWED,
            message: format!("{path} takes {methods}"),
            allow: Some(methods),
        },
        None => {
            let paths: Vec<_> = PATHS.iter().map(|(path, _)| *path).collect();
            let message = format!("there is no {path:?}, but: {}", paths.join(", "));
            Failure::new(StatusCode::NOT_FOUND, message)
        }
    }
}

/// The fields of a request, by name.
fn pairs(request: &impl Serialize) -> Vec<(String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(request) else {
        return Vec::new();
    };
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Number(_) | Value::Bool(_) => Some((name, value.to_string())),
        _ => None,
    };
    fields.into_iter().filter_map(text).collect()
}

/// A network; an address is one of itself alone.
fn network(name: &str, text: &str) -> Result<IpNet, Failure> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    text.parse::<IpNet>().or(address).map_err(|_| {
        let expected = "expected an address or a network such as 2001:db8::/32";
        Failure::bad(format!("`{name}` is {text:?}: {expected}"))
    })
}

/// What stands behind the question mark, by name.
struct Query(BTreeMap<String, String>);

impl Query {
    fn new(text: Option<&str>) -> Result<Self, Failure> {
        let mut pairs = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
            if pairs.insert(name.to_string(), value.to_string()).is_some() {
                return Err(Failure::bad(format!("`{name}` is there twice")));
            }
        }
        Ok(Self(pairs))
    }

    /// A number, if it is there.
    fn number(&mut self, name: &str, most: u64) -> Result<Option<u64>, Failure> {
        let Some(text) = self.0.remove(name) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| *number <= most);
        number.map(Some).ok_or_else(|| {
            Failure::bad(format!(
                "`{name}` is {text:?}: expected a whole number from 0 to {most}"
            ))
        })
    }

    fn sessions(&mut self, wish: Wish) -> Result<Request, Failure> {
        let limit = self.number("limit", u64::MAX)?.unwrap_or(0);
        let filter = self.filter()?;
        Ok(Request::Sessions(SessionsRequest {
            filter,
            wish,
            limit,
        }))
    }

    fn top(&mut self) -> Result<Request, Failure> {
        let limit = self.number("limit", u32::MAX.into())?.unwrap_or(ROWS);
        Ok(Request::Top(TopRequest {
            by: self.choice("by")?,
            most: self.choice("most")?,
            limit: limit as u32,
        }))
    }

    /// One of some words; the usual one if there is none.
    fn choice<T: Choice + Copy + Default>(&mut self, key: &str) -> Result<T, Failure> {
        let Some(word) = self.0.remove(key) else {
            return Ok(T::default());
        };
        let known = T::NAMES.iter().find(|(name, _)| *name == word);
        let (_, value) = known.ok_or_else(|| {
            let words: Vec<_> = T::NAMES.iter().map(|(name, _)| *name).collect();
            let words = words.join(", ");
            Failure::bad(format!("`{key}` is {word:?}: expected one of {words}"))
        })?;
        Ok(*value)
    }

    fn trace(&mut self) -> Result<Request, Failure> {
        let network = self
            .0
            .remove("network")
            .map(|text| network("network", &text));
        let request = TraceRequest {
            network: network.transpose()?,
            protocol: self.0.remove("protocol"),
            port: self
                .number("port", u16::MAX.into())?
                .map(|port| port as u16),
            instance: self.0.remove("instance"),
            dropped: self.flag("dropped")?,
            snap: self.number("snap", LONGEST as u64)?.map(|snap| snap as u32),
        };
        request.filter().map_err(Failure::bad)?;
        Ok(Request::Trace(request))
    }

    fn flag(&mut self, name: &str) -> Result<bool, Failure> {
        match self.0.remove(name).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                let message = format!("`{name}` is {other:?}: expected true or false");
                Err(Failure::bad(message))
            }
        }
    }

    fn how(&mut self) -> Result<How, Failure> {
        let trial = self.number("confirm", How::LONGEST_TRIAL.into())?;
        let dry = self.flag("dry-run")?;
        match (trial, dry) {
            (Some(_), true) => Err(Failure::bad("`confirm` and `dry-run` exclude each other")),
            (Some(seconds), false) => Ok(How::Confirm(seconds as u32)),
            (None, true) => Ok(How::DryRun),
            (None, false) => Ok(How::Now),
        }
    }

    /// All that is left, as conditions.
    fn filter(&mut self) -> Result<Filter, Failure> {
        let left = std::mem::take(&mut self.0);
        let condition = |(name, mut value): (String, String)| {
            if name == "inside" {
                value = network("inside", &value)?.to_string();
            }
            Ok((name, Value::String(value)))
        };
        let fields = left
            .into_iter()
            .map(condition)
            .collect::<Result<_, Failure>>()?;
        let filter: Filter = serde_json::from_value(Value::Object(fields))
            .map_err(|error| Failure::bad(error.to_string()))?;
        filter
            .check()
            .map_err(|error| Failure::bad(error.to_string()))?;
        Ok(filter)
    }

    fn finish(self) -> Result<(), Failure> {
        match self.0.into_keys().next() {
            Some(name) => Err(Failure::bad(format!("there is no `{name}` here"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::top::{By, Most};
    use super::*;

    fn read(method: &str, target: &str) -> Result<Request, Failure> {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        Request::from_http(&method.parse().unwrap(), path, query)
    }

    fn filter() -> Filter {
        Filter {
            instance: Some("plat & co".into()),
            protocol: Some("tcp".into()),
            inside: Some("2001:db8::/48".parse().unwrap()),
            outside: Some("203.0.113.1:80".parse().unwrap()),
            remote: None,
        }
    }

    #[test]
    fn both_ends_mean_the_same() {
        let sessions = |wish, limit| {
            Request::Sessions(SessionsRequest {
                filter: filter(),
                wish,
                limit,
            })
        };
        let how = |how| Request::Reload(ReloadRequest { how });
        for request in [
            Request::Status,
            Request::Counters,
            sessions(Wish::List, 0),
            sessions(Wish::Count, 0),
            sessions(Wish::Follow, 7),
            Request::Sessions(SessionsRequest::default()),
            Request::Top(TopRequest {
                by: By::Port,
                most: Most::Bytes,
                limit: 3,
            }),
            Request::Delete(DeleteRequest { filter: filter() }),
            how(How::Now),
            how(How::Confirm(60)),
            how(How::DryRun),
            Request::Confirm,
            Request::Rollback,
            Request::Trace(TraceRequest::default()),
            Request::Trace(TraceRequest {
                network: Some("2001:db8::/48".parse().unwrap()),
                protocol: Some("tcp".into()),
                port: Some(443),
                instance: Some("plat & co".into()),
                dropped: true,
                snap: Some(96),
            }),
        ] {
            let (method, target) = request.to_http();
            assert_eq!(read(method.as_str(), &target).unwrap(), request, "{target}");
        }
    }

    /// The words of docs/control.md.
    #[test]
    fn paths_are_those_of_the_documentation() {
        let of = |target| match read("GET", target).unwrap() {
            Request::Sessions(request) => request.filter.inside.unwrap().to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("/v1/sessions?inside=2001:db8::7"), "2001:db8::7/128");
        assert_eq!(of("/v1/events?inside=10.0.0.0/8"), "10.0.0.0/8");
        let top = TopRequest {
            by: By::Subscriber,
            most: Most::Sessions,
            limit: 20,
        };
        assert_eq!(read("GET", "/v1/top").unwrap(), Request::Top(top));
    }

    #[test]
    fn mistakes_are_told() {
        for (method, target, status, word) in [
            ("GET", "/", 404, "/v1/status"),
            ("GET", "/v2/status", 404, "/v1/status"),
            ("POST", "/v1/status", 405, "GET"),
            ("PUT", "/v1/sessions", 405, "DELETE"),
            ("GET", "/v1/status?verbose=1", 400, "verbose"),
            ("GET", "/v1/sessions?limit=-1", 400, "-1"),
            ("GET", "/v1/sessions?inside=here", 400, "here"),
            ("GET", "/v1/sessions?insde=10.0.0.1", 400, "insde"),
            ("GET", "/v1/sessions?protocol=gre", 400, "gre"),
            (
                "GET",
                "/v1/sessions?protocol=tcp&protocol=udp",
                400,
                "twice",
            ),
            ("GET", "/v1/top?by=bytes", 400, "subscriber"),
            ("GET", "/v1/trace?protocol=tls", 400, "tls"),
            ("GET", "/v1/trace?port=65536", 400, "65536"),
            ("GET", "/v1/trace?dropped=1", 400, "dropped"),
            ("GET", "/v1/trace?network=all", 400, "all"),
            ("POST", "/v1/reload?confirm=90000", 400, "86400"),
            ("POST", "/v1/reload?confirm=9&dry-run=true", 400, "exclude"),
            ("POST", "/v1/reload?dry-run=yes", 400, "yes"),
        ] {
            let failure = read(method, target).unwrap_err();
            assert_eq!(failure.status.as_u16(), status, "{target}");
            assert!(
                failure.message.contains(word),
                "{target}: {}",
                failure.message
            );
        }
    }
}
