//! nginx as a dual-stack HTTP proxy: it takes a client's connection and opens another.

use super::version;
use crate::{
    Result, plan,
    services::{self, Served},
    subject::{Started, Subject},
    topology::Network,
};

/// nginx on the gateway, one worker: what clients ask it over IPv6, it asks the IPv4 host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Proxy;

impl Subject for Proxy {
    fn name(&self) -> String {
        format!("nginx{} as a proxy", version("nginx-light"))
    }

    fn start(&self, network: &Network, cpu: usize) -> Result<Started> {
        let server = format!(
            "listen [{}]:80;\n    location / {{\n      proxy_pass http://{};\n      \
             proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n    }}",
            plan::GATEWAY6,
            plan::HOST4,
        );
        let Served { directory, process } =
            services::start_nginx(network.gateway()?, Some(cpu), &server)?;
        Ok(Started {
            processes: vec![process],
            files: Some(directory),
            ..Started::default()
        })
    }
}
