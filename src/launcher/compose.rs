//! From flags and variables to a joined control plane: chooses the launcher, then meets the others.

use super::ALL;
use super::Here;
use super::Joined;
use super::Launcher;
use super::Meeting;
use super::ProcessSeat;
use super::Setting;
use super::Taken;
use super::Way;
use super::Wish;
use super::exchange::NoMeeting;
use super::explicit::parse_way;
use super::folder::Folder;
use super::spawn::Inherited;
use crate::base::Clock;
use crate::base::Env;
use crate::base::Fault;
use crate::base::FaultContext;
use crate::base::Kind;
use crate::bootstrap::Ending;
use crate::bootstrap::PeerInfo;
use crate::bootstrap::ProcessPlane;
use crate::bootstrap::solo::Solo;
use crate::bootstrap::tcp;
use crate::bootstrap::tcp::Joining;
use crate::bootstrap::tcp::Secret;
use crate::bootstrap::tcp::listen;
use crate::bootstrap::tcp::listen::Place;
use serde::Deserialize;
use serde::Serialize;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Finds who started this process and joins the others.
///
/// # Errors
/// `Usage` for flags that do not fit, `Launch` for a wrong launch, `Timeout` naming who did not come;
/// with a report only where this process is the one to print it.
pub fn join(wish: &Wish, env: &Env, here: &Here, clock: &Arc<dyn Clock>) -> Result<Joined, Ending> {
    let setting = Setting { wish, env };
    let mut taken = choose(&setting)?;
    expect_world(wish, &taken.seat)?;
    if let (Some(text), true) = (&wish.rendezvous, taken.seat.processes > 1) {
        taken.way = put_over(taken.way, parse_way(text, "--rendezvous")?);
    }
    let secret = named_secret(wish, env)?;
    let me = here.introduce(wish.ranks_per_process);
    let table = Table {
        seat: &taken.seat,
        job: &taken.job,
        limit: wish.timeout_init,
        here,
        clock,
        me,
    };
    let inherited = Inherited::read(env)?;
    let (plane, meeting) = table.meet(taken.way, secret, inherited)?;
    Ok(Joined {
        seat: taken.seat,
        plane,
        notes: taken.notes,
        meeting: meeting.into(),
    })
}

/// The launcher that was asked for, or the first that is announced and can be used.
pub(super) fn choose(setting: &Setting<'_>) -> Result<Taken, Fault> {
    if let Some(name) = &setting.wish.launcher {
        let launcher = super::by_name(name)?;
        return launcher
            .take(setting)
            .while_doing(|| format!("joining by `--launcher {name}`"));
    }
    let mut notes = Vec::new();
    for launcher in ALL {
        if !launcher.is_announced(setting.wish, setting.env) {
            continue;
        }
        match launcher.take(setting) {
            Ok(mut taken) => {
                notes.append(&mut taken.notes);
                taken.notes = notes;
                return Ok(taken);
            }
            Err(fault) if may_be_passed_over(*launcher, &fault) => {
                notes.push(format!(
                    "PMIx is announced but was not used: {}",
                    fault.message
                ));
            }
            Err(fault) => {
                return Err(fault.while_doing(format!("joining as `{}` asks", launcher.name())));
            }
        }
    }
    Err(Fault::new(Kind::Launch, "no launcher fits"))
}

/// PMIx without its library or its server: another launcher may know as much.
fn may_be_passed_over(launcher: &dyn Launcher, fault: &Fault) -> bool {
    launcher.name() == "pmix" && matches!(fault.kind, Kind::Missing | Kind::Call)
}

/// Refuses a world that is not the one that `--world` asks for.
fn expect_world(wish: &Wish, seat: &ProcessSeat) -> Result<(), Fault> {
    match wish.world {
        Some(world) if world != seat.processes => {
            let text = format!(
                "`--world {world}` was given, but the world has {} processes ({})",
                seat.processes, seat.reason
            );
            Err(Fault::new(Kind::Launch, text).hint("leave `--world` to the launcher"))
        }
        _ => Ok(()),
    }
}

/// What `--rendezvous` says instead of what a launcher says; what it carries is kept for its abort.
fn put_over(way: Way, named: Way) -> Way {
    match (way, named) {
        (Way::Carried { meeting, .. }, named) => Way::Named {
            way: Box::new(named),
            meeting,
        },
        (Way::Awaited(_), Way::At(place)) => Way::Awaited(place),
        (_, named) => named,
    }
}

/// The secret of `--secret-file`, else the one that `--spawn` hands down, else none.
fn named_secret(wish: &Wish, env: &Env) -> Result<Option<Secret>, Fault> {
    if let Some(path) = &wish.secret_file {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Fault::new(
                Kind::Missing,
                format!("cannot read `--secret-file {path}`: {error}"),
            )
        })?;
        if text.trim().is_empty() {
            return Err(Fault::usage(format!("`--secret-file {path}` is empty")));
        }
        return Ok(Some(Secret::new(text.trim())));
    }
    Ok(env.get(super::spawn::SECRET).map(Secret::new))
}

/// What meeting takes.
struct Table<'a> {
    seat: &'a ProcessSeat,
    job: &'a str,
    limit: Duration,
    here: &'a Here,
    clock: &'a Arc<dyn Clock>,
    me: PeerInfo,
}

/// How often a name that is not known yet is looked up.
const NAME_LOOK: Duration = Duration::from_millis(250);

type Met = (Arc<dyn ProcessPlane>, Box<dyn Meeting>);

/// What the first process leaves for the others where a launcher carries it.
///
/// It cannot be printed, because it holds the secret.
#[derive(Serialize, Deserialize)]
struct Card {
    addresses: Vec<SocketAddr>,
    secret: String,
}

impl Table<'_> {
    fn meet(
        &self,
        way: Way,
        secret: Option<Secret>,
        inherited: Option<TcpListener>,
    ) -> Result<Met, Ending> {
        let secret_or_none = || secret.clone().unwrap_or_else(Secret::none);
        Ok(match way {
            Way::Alone => (self.solo(), Box::new(NoMeeting)),
            Way::At(place) => (
                self.meet_at(&place, secret_or_none(), inherited)?,
                Box::new(NoMeeting),
            ),
            Way::Awaited(place) => {
                self.await_name(&place)?;
                let plane = self.meet_at(&place, secret_or_none(), inherited)?;
                (plane, Box::new(NoMeeting))
            }
            Way::Folder(path) => {
                let clock = Arc::clone(self.clock);
                let folder = Box::new(Folder::new(path, self.seat.process, clock));
                (self.meet_by(folder.as_ref(), false, secret)?, folder)
            }
            Way::Named { way, meeting } => {
                let met = self.meet(*way, secret, inherited);
                (or_abort(met, meeting.as_ref())?.0, meeting)
            }
            Way::Carried { meeting, .. } if self.seat.processes == 1 => (self.solo(), meeting),
            Way::Carried { meeting, one_host } => {
                let met = self.meet_by(meeting.as_ref(), one_host, secret);
                (or_abort(met, meeting.as_ref())?, meeting)
            }
        })
    }

    /// Waits until a name can be resolved.
    fn await_name(&self, place: &Place) -> Result<(), Fault> {
        let start = self.clock.now();
        loop {
            match listen::resolve(&place.host) {
                Ok(_) => return Ok(()),
                Err(fault) if self.clock.now().saturating_sub(start) >= self.limit => {
                    let waited = format!("waiting {} s for {place}", self.limit.as_secs_f64());
                    return Err(fault.while_doing(waited));
                }
                Err(_) => self.clock.pause(NAME_LOOK),
            }
        }
    }

    fn solo(&self) -> Arc<dyn ProcessPlane> {
        Arc::new(Solo::new(self.me.clone()))
    }

    fn meet_at(
        &self,
        place: &Place,
        secret: Secret,
        inherited: Option<TcpListener>,
    ) -> Result<Arc<dyn ProcessPlane>, Ending> {
        let resolved = listen::resolve(&place.host)?;
        if self.seat.process == 0 {
            let listeners = match inherited {
                Some(listener) => vec![listener],
                None => self.listen_at(place, resolved)?,
            };
            return self.host(listeners, secret);
        }
        let ports = place.ports.iter();
        let candidates: Vec<SocketAddr> = ports
            .flat_map(|port| resolved.iter().map(|ip| SocketAddr::new(*ip, *port)))
            .collect();
        self.connect(&candidates, secret)
    }

    /// Listens where the others look: at what the name means to them, which may not be what it means
    /// here, where it may be loopback or another host's.
    fn listen_at(&self, place: &Place, resolved: Vec<IpAddr>) -> Result<Vec<TcpListener>, Fault> {
        let mut addresses = resolved;
        let is_a_name = place.host.parse::<IpAddr>().is_err() && place.host != "localhost";
        if is_a_name && addresses.iter().all(IpAddr::is_loopback) {
            addresses.extend(&self.here.addresses);
        }
        let bound = match listen::bind(&addresses, &place.ports) {
            Err(fault) if listen::is_elsewhere(&fault) => {
                listen::bind(&[Ipv4Addr::UNSPECIFIED.into()], &place.ports)
            }
            bound => bound,
        };
        bound.while_doing(|| format!("meeting at {place}"))
    }

    fn meet_by(
        &self,
        meeting: &dyn Meeting,
        one_host: bool,
        secret: Option<Secret>,
    ) -> Result<Arc<dyn ProcessPlane>, Ending> {
        if self.seat.process == 0 {
            let listeners = listen::bind(&self.offered(one_host), &[0])?;
            let bound = listeners.iter().filter_map(|one| one.local_addr().ok());
            let card = Card {
                addresses: bound.collect(),
                secret: hex(Secret::fresh()?.expose()),
            };
            let text = serde_json::to_string(&card)
                .map_err(|error| Fault::new(Kind::Disagree, error.to_string()))?;
            meeting.publish(&text, self.limit)?;
            let secret = secret.unwrap_or_else(|| Secret::new(card.secret));
            let plane = self.host(listeners, secret)?;
            meeting.met();
            return Ok(plane);
        }
        let text = meeting.lookup(self.limit)?;
        // the parser's words might quote the secret
        let card: Card = serde_json::from_str(&text)
            .map_err(|_| Fault::new(Kind::Disagree, "what rank 0 left cannot be read"))?;
        let secret = secret.unwrap_or_else(|| Secret::new(card.secret));
        self.connect(&card.addresses, secret)
    }

    /// The addresses to be told: loopback only if all are here, or if there is nothing else.
    fn offered(&self, one_host: bool) -> Vec<IpAddr> {
        if one_host || self.here.addresses.is_empty() {
            vec![Ipv4Addr::LOCALHOST.into()]
        } else {
            self.here.addresses.clone()
        }
    }

    fn host(
        &self,
        listeners: Vec<TcpListener>,
        secret: Secret,
    ) -> Result<Arc<dyn ProcessPlane>, Ending> {
        let bound = listeners.first().and_then(|one| one.local_addr().ok());
        let place = bound.map_or_else(String::new, |address| address.to_string());
        Ok(Arc::new(tcp::host(
            &self.joining(secret),
            listeners,
            place,
        )?))
    }

    fn connect(
        &self,
        candidates: &[SocketAddr],
        secret: Secret,
    ) -> Result<Arc<dyn ProcessPlane>, Ending> {
        Ok(Arc::new(tcp::connect(&self.joining(secret), candidates)?))
    }

    fn joining(&self, secret: Secret) -> Joining {
        Joining {
            member: self.seat.process,
            members: self.seat.processes,
            me: self.me.clone(),
            job: self.job.to_owned(),
            secret,
            limit: self.limit,
            clock: Arc::clone(self.clock),
        }
    }
}

/// A process that cannot meet the others has the launcher end them, or they would wait for it.
fn or_abort<T>(met: Result<T, Ending>, meeting: &dyn Meeting) -> Result<T, Ending> {
    met.inspect_err(|ending| meeting.abort(ending.exit_code, &ending.fault.message))
}

/// Bytes as text, for carriers and variables.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // writing to a String cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}
