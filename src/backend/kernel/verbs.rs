//! The verbs of a rank: which memory of whom an operation reads and writes.

use super::algo::Algo;
use super::algo::Verb;
use super::lane::Lane;
use super::moves;
use super::moves::Moves;
use super::moves::PacketMoves;
use super::order;
use crate::base::DataType;
use crate::base::Fault;
use crate::base::Rank;
use crate::base::RedOp;
use crate::base::Span;
use crate::base::World;
use crate::ops::Collectives;
use crate::ops::Ops;

impl Collectives for Lane {
    fn all_reduce(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let means = self.means()?;
        let (bytes, world) = (send.len, means.ground.team.world);
        let part = |algo| order::packet_part(algo, bytes, world);
        let chosen = self.choose(means, Verb::AllReduce, bytes, part)?;
        if bytes == 0 {
            return Ok(());
        }
        if !chosen.algo.moves_data() {
            return self.launch(means, &moves::rung(&means.ground, chosen.algo));
        }
        let op = order::AllReduce {
            send: self.at(send)?,
            recv: self.at(recv)?,
            sends: self.everywhere(send)?,
            recvs: self.everywhere(recv)?,
            count: bytes / dtype.size(),
            what: self.reduction(dtype, redop),
        };
        self.launch(means, &order::all_reduce(&means.ground, chosen, &op))
    }

    fn reduce_scatter(
        &self,
        send: Span,
        recv: Span,
        dtype: DataType,
        redop: RedOp,
    ) -> Result<(), Fault> {
        let means = self.means()?;
        let chosen = self.choose(means, Verb::ReduceScatter, send.len, |_| recv.len)?;
        if recv.len == 0 {
            return Ok(());
        }
        if !chosen.algo.moves_data() {
            return self.launch(means, &moves::rung(&means.ground, chosen.algo));
        }
        let op = order::ReduceScatter {
            send: self.at(send)?,
            recv: self.at(recv)?,
            sends: self.everywhere(send)?,
            count: recv.len / dtype.size(),
            what: self.reduction(dtype, redop),
        };
        self.launch(means, &order::reduce_scatter(&means.ground, chosen, &op))
    }

    fn all_gather(&self, send: Span, recv: Span, _dtype: DataType) -> Result<(), Fault> {
        let means = self.means()?;
        let (bytes, world, me) = (send.len, means.ground.team.world, means.ground.team.rank);
        let chosen = self.choose(means, Verb::AllGather, recv.len, |_| bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let (from, to) = (self.at(send)?, self.at(recv)?);
        if chosen.algo == Algo::Ll {
            let moves = PacketMoves {
                from,
                stride: 0,
                to,
                to_stride: bytes,
                bytes,
                root: None,
            };
            return self.launch(means, &moves::copy_packets(&means.ground, chosen, &moves));
        }
        let moves = Moves {
            from: self.mine(from, |_| 0),
            to: self.each(self.everywhere(recv)?, |_| me * bytes),
            entries: world,
            most: world,
            bytes,
            puts: true,
        };
        self.move_bytes(means, chosen, &moves)
    }

    fn all_to_all(&self, send: Span, recv: Span, _dtype: DataType) -> Result<(), Fault> {
        let means = self.means()?;
        let (world, me) = (means.ground.team.world, means.ground.team.rank);
        let bytes = send.len / world;
        let chosen = self.choose(means, Verb::AllToAll, send.len, |_| bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let (from, to) = (self.at(send)?, self.at(recv)?);
        if chosen.algo == Algo::Ll {
            let moves = PacketMoves {
                from,
                stride: bytes,
                to,
                to_stride: bytes,
                bytes,
                root: None,
            };
            return self.launch(means, &moves::copy_packets(&means.ground, chosen, &moves));
        }
        let pulls = chosen.algo == Algo::Pull;
        let (from, to) = if pulls {
            let sends = self.each(self.everywhere(send)?, |_| me * bytes);
            (sends, self.mine(to, |rank| rank * bytes))
        } else {
            let recvs = self.each(self.everywhere(recv)?, |_| me * bytes);
            (self.mine(from, |rank| rank * bytes), recvs)
        };
        let moves = Moves {
            from,
            to,
            entries: world,
            most: world,
            bytes,
            puts: !pulls,
        };
        self.move_bytes(means, chosen, &moves)
    }

    fn broadcast(&self, send: Span, recv: Span, _dtype: DataType, root: Rank) -> Result<(), Fault> {
        let means = self.means()?;
        let (bytes, world, me) = (send.len, means.ground.team.world, means.ground.team.rank);
        let chosen = self.choose(means, Verb::Broadcast, bytes, |_| bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let (from, to, root) = (self.at(send)?, self.at(recv)?, u64::from(root.0));
        match chosen.algo {
            Algo::Ll => {
                let moves = PacketMoves {
                    from,
                    stride: 0,
                    to,
                    to_stride: 0,
                    bytes,
                    root: Some(root),
                };
                self.launch(means, &moves::copy_packets(&means.ground, chosen, &moves))
            }
            Algo::HandOut => {
                let place = (from, self.everywhere(recv)?);
                self.launch(
                    means,
                    &moves::hand_out(&means.ground, chosen, place, bytes, root),
                )
            }
            _ => {
                let moves = Moves {
                    from: self.mine(from, |_| 0),
                    to: self.each(self.everywhere(recv)?, |_| 0),
                    entries: if me == root { world } else { 0 },
                    most: world,
                    bytes,
                    puts: true,
                };
                self.move_bytes(means, chosen, &moves)
            }
        }
    }
}

impl Ops for Lane {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn world(&self) -> World {
        self.world
    }

    fn has_native(&self, name: &str) -> bool {
        Verb::by_name(name).is_some()
    }

    fn group(&self, body: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault> {
        self.links.alive()?;
        body()
    }
}
