//! E-mail: a letter goes to Postfix by SMTP (RFC 5321), and is read from Dovecot by IMAP (RFC 9051), both with TLS.

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{
    super::{in_url, servers},
    Application, Call, Outcome, PATIENCE, Seen, Trouble, fails,
};
use crate::{
    LabError, Result,
    network::{
        leftovers,
        process::{self, Process},
    },
    traffic::{
        services::{WEB_NAME, listens},
        tools,
    },
};

/// Sending and reading.
pub(super) const EMAIL: Application = Application {
    names: &["e-mail, SMTP", "e-mail, IMAP"],
    needs: &[
        ("postfix", "postfix"),
        ("dovecot", "dovecot-imapd"),
        ("swaks", "swaks"),
        ("curl", "curl"),
    ],
    run,
};

/// The number of letters.
const TIMES: usize = 3;
/// The octets of a letter: many packets.
const SIZE: usize = 100_000;
/// The account of Postfix, to which mailboxes belong.
const ACCOUNT: &str = "postfix";

const MASTER: &str = "smtp inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
postlog unix-dgram n - n - 1 postlogd
";

fn run(call: &Call<'_>) -> std::result::Result<Vec<Outcome>, Trouble> {
    let folder = leftovers::directory()?;
    let root = folder.path();
    open(root)?;
    servers::certificate(root)?;
    let _postfix = postfix(call, root)?;
    let _dovecot = dovecot(call, root)?;
    let sent = send(call, root);
    // A letter of the office itself is there for who could send none.
    if sent.is_err() {
        let mailbox = root.join("mail/reader/new");
        fs::create_dir_all(&mailbox).map_err(LabError::file(&mailbox))?;
        leftovers::write(&mailbox.join("1.local"), letter())?;
        own(&root.join("mail"))?;
    }
    let read = read(call, root);
    Ok(vec![sent.into(), read.into()])
}

/// Makes the folders, of which programs with other accounts see theirs.
fn open(root: &Path) -> Result<()> {
    for name in ["etc", "queue", "data", "mail", "run"] {
        let path = root.join(name);
        fs::create_dir(&path).map_err(LabError::file(&path))?;
    }
    for name in ["data", "mail"] {
        own(&root.join(name))?;
    }
    process::run(Command::new("chmod").arg("755").arg(root)).map(drop)
}

fn own(path: &Path) -> Result<()> {
    process::run(Command::new("chown").args(["-R", ACCOUNT]).arg(path)).map(drop)
}

fn letter() -> String {
    let line = "All is well here, and the weather is as it is.\n";
    let mut text = line.repeat(SIZE / line.len());
    text += "Until next time.\n";
    text
}

fn postfix(call: &Call<'_>, root: &Path) -> Result<Process> {
    let etc = root.join("etc");
    let id = |option| process::run(Command::new("id").args([option, ACCOUNT]));
    let (user, group) = (id("-u")?, id("-g")?);
    let root = root.display();
    let main = format!(
        "compatibility_level = 3.6\nqueue_directory = {root}/queue\ndata_directory = {root}/data\n\
         command_directory = /usr/sbin\ndaemon_directory = /usr/lib/postfix/sbin\nmail_owner = {ACCOUNT}\n\
         setgid_group = postdrop\nmyhostname = mail.lab.test\nmydestination =\ninet_protocols = all\n\
         virtual_mailbox_domains = lab.test\nvirtual_mailbox_base = {root}/mail\n\
         virtual_mailbox_maps = static:reader/\nvirtual_uid_maps = static:{user}\n\
         virtual_gid_maps = static:{group}\nvirtual_minimum_uid = 1\nmynetworks = 127.0.0.0/8\n\
         maillog_file = /dev/stdout\nsmtpd_peername_lookup = no\nsmtpd_tls_security_level = encrypt\n\
         smtpd_tls_cert_file = {root}/certificate.pem\nsmtpd_tls_key_file = {root}/key.pem\n"
    );
    leftovers::write(&etc.join("main.cf"), main)?;
    leftovers::write(&etc.join("master.cf"), MASTER)?;
    process::run(
        call.server
            .command("postfix")
            .arg("-c")
            .arg(&etc)
            .arg("check"),
    )?;
    // Its scripts would leave it alone when they are ended.
    let mut command = call.server.command("/usr/lib/postfix/sbin/master");
    let mut master = Process::start("postfix", command.args(["-d", "-c"]).arg(&etc))?;
    master.wait_until(PATIENCE, || listens(call.server, 25))?;
    Ok(master)
}

fn dovecot(call: &Call<'_>, root: &Path) -> Result<Process> {
    let path = root.join("dovecot.conf");
    let root = root.display();
    let text = format!(
        "protocols = imap\nbase_dir = {root}/run\nstate_dir = {root}/run\nlog_path = /dev/stderr\nssl = required\n\
         ssl_cert = <{root}/certificate.pem\nssl_key = <{root}/key.pem\nmail_location = maildir:{root}/mail/reader\n\
         first_valid_uid = 1\npassdb {{\n  driver = static\n  args = password=secret\n}}\n\
         userdb {{\n  driver = static\n  args = uid={ACCOUNT} gid={ACCOUNT} home={root}/mail\n}}\n"
    );
    leftovers::write(&path, text)?;
    let mut command = call.server.command("dovecot");
    let mut dovecot = Process::start("dovecot", command.args(["-F", "-c"]).arg(path))?;
    dovecot.wait_until(PATIENCE, || listens(call.server, 993))?;
    Ok(dovecot)
}

/// Sends letters.
fn send(call: &Call<'_>, root: &Path) -> std::result::Result<Seen, Trouble> {
    let body = root.join("letter");
    leftovers::write(&body, letter())?;
    let body = format!("@{}", body.display());
    let mut beginnings = Vec::new();
    for _ in 0..TIMES {
        let mut command = call.client.command("swaks");
        let server = call.target.to_string();
        command.args([
            "--server", &server, "--port", "25", "--tls", "--silent", "1",
        ]);
        command.args(["--timeout", &format!("{}s", PATIENCE.as_secs() / 2)]);
        command.args(["--from", "writer@lab.test", "--to", "reader@lab.test"]);
        command.args(["--header", "Subject: news of us", "--body", &body]);
        let begun = Instant::now();
        process::run(&mut command)?;
        beginnings.push(begun.elapsed());
    }
    Ok(Seen {
        beginnings,
        stream: None,
    })
}

/// Reads a letter. Postfix may still have it.
fn read(call: &Call<'_>, root: &Path) -> std::result::Result<Seen, Trouble> {
    let until = Instant::now() + PATIENCE / 2;
    loop {
        let mut command = tools::curl(call.client, PATIENCE / 2);
        command.arg("--cacert").arg(root.join("certificate.pem"));
        let to = format!("{WEB_NAME}:993:{}:993", in_url(call.target));
        command.args(["--connect-to", &to, "--user", "reader:secret"]);
        let came = process::run(command.arg(format!("imaps://{WEB_NAME}/INBOX;MAILINDEX=1")));
        match came {
            Ok(text)
                if text
                    .replace('\r', "")
                    .trim_end()
                    .ends_with(letter().trim_end()) =>
            {
                return Ok(Seen::default());
            }
            Ok(text) => return fails(format!("another letter, of {} bytes", text.len())),
            // There is no letter yet.
            Err(LabError::Command { output, .. })
                if output.contains("(78)") && Instant::now() < until =>
            {
                thread::sleep(Duration::from_millis(50));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
