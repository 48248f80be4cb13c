//! The queueing discipline of the link. A TUN device never makes packets wait: it drops what its queue has no room for.
//! So a discipline before it orders nothing, and costs each packet a turn through a queue that is always empty.

use futures_util::{StreamExt, TryStreamExt};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use rtnetlink::{Error, Handle};

/// The discipline without a queue (`noqueue`), while it is ours.
pub(super) struct Discipline {
    handle: Handle,
    link: u32,
    is_ours: bool,
}

impl Discipline {
    /// That of the link with this number, as it is.
    pub(super) const fn new(handle: Handle, link: u32) -> Self {
        Self {
            handle,
            link,
            is_ours: false,
        }
    }

    /// Replaces the kernel's default one. One that the operator chose stays, and where the kernel has no traffic control
    /// there is none to replace.
    pub(super) async fn drop_queue(&mut self) {
        match self.replace_default().await {
            Ok(is_ours) => self.is_ours = is_ours,
            Err(error) => {
                tracing::debug!(link = self.link, %error, "its queueing discipline stays");
            }
        }
    }

    /// Returns whether there was a default one to replace.
    async fn replace_default(&mut self) -> Result<bool, Error> {
        let link = self.link as i32;
        let mut all = self.handle.qdisc().get().execute();
        while let Some(TcMessage { header, .. }) = all.try_next().await? {
            // The kernel gives numbers to all but its default ones.
            let is_root = header.index == link && header.parent == TcHandle::ROOT;
            if is_root && header.handle != TcHandle::UNSPEC {
                return Ok(false);
            }
        }
        self.request().await?;
        Ok(true)
    }

    async fn request(&mut self) -> Result<(), Error> {
        let mut message = TcMessage::with_index(self.link as i32);
        message.header.parent = TcHandle::ROOT;
        message.attributes.push(TcAttribute::Kind("noqueue".into()));
        let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewQueueDiscipline(message));
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        let mut answers = self.handle.request(request)?;
        while let Some(answer) = answers.next().await {
            if let NetlinkPayload::Error(error) = answer.payload
                && error.code.is_some()
            {
                return Err(Error::NetlinkError(error));
            }
        }
        Ok(())
    }

    /// Gives a link that stays the kernel's default back.
    pub(super) async fn restore(&mut self) {
        if !std::mem::take(&mut self.is_ours) {
            return;
        }
        let mut removal = self.handle.qdisc().del(self.link as i32);
        removal.message_mut().header.parent = TcHandle::ROOT;
        if let Err(error) = removal.execute().await {
            tracing::debug!(link = self.link, %error, "its queueing discipline stays");
        }
    }
}
