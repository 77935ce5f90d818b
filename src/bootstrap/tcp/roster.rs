//! Who all members are, as the hub tells them, without saying for each what is the same for all of its
//! host.

use crate::bootstrap::PeerInfo;
use serde::{Deserialize, Serialize};

/// Who all are, without saying for each what is the same for all of its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Roster {
    version: String,
    ranks: u32,
    hosts: Vec<(String, String)>,
    members: Vec<(u32, u32)>,
}

impl Roster {
    /// `peers`, by member.
    pub(super) fn of(peers: &[PeerInfo]) -> Self {
        let mut hosts: Vec<(String, String)> = Vec::new();
        let mut index = std::collections::HashMap::new();
        let members = peers.iter().map(|peer| {
            let host = (peer.host.clone(), peer.identity.clone());
            let next = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
            let at = *index.entry(host.clone()).or_insert_with(|| {
                hosts.push(host);
                next
            });
            (at, peer.pid)
        });
        Self {
            members: members.collect(),
            version: peers
                .first()
                .map_or_else(String::new, |peer| peer.version.clone()),
            ranks: peers.first().map_or(1, |peer| peer.ranks),
            hosts,
        }
    }

    /// The peers, by member; `None` if it contradicts itself.
    pub(super) fn peers(&self) -> Option<Vec<PeerInfo>> {
        let peer = |&(host, pid): &(u32, u32)| {
            let (host, identity) = self.hosts.get(usize::try_from(host).ok()?)?;
            Some(PeerInfo {
                host: host.clone(),
                identity: identity.clone(),
                pid,
                version: self.version.clone(),
                ranks: self.ranks,
            })
        };
        self.members.iter().map(peer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::testing;

    #[test]
    fn a_roster_gives_back_who_went_in() {
        let mut peers: Vec<PeerInfo> = (0..5).map(testing::peer).collect();
        peers[2].host = "node2".to_owned();
        assert_eq!(Roster::of(&peers).peers(), Some(peers));
    }
}
