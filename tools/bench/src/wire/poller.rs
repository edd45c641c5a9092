//! Readiness of connections: epoll, with a timer that is more precise than milliseconds.

use std::io;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// The maximum number of events per wait.
const EVENTS_MAX: usize = 1_024;
/// The id of the timer, in place of a connection's.
const TIMER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The time for which the timer is set, in nanoseconds of the caller's clock.
    armed_for_ns: Option<u64>,
}

/// The readiness of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) connection: u32,
    pub(super) to_read: bool,
    pub(super) to_write: bool,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN)?;
        Ok(Self { epoll, timer, armed_for_ns: None })
    }

    pub(super) fn add(&self, socket: impl AsFd, connection: u32, writes_too: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(u64::from(connection));
        Ok(epoll::add(&self.epoll, socket, data, flags(writes_too))?)
    }

    pub(super) fn change(&self, socket: impl AsFd, connection: u32, writes_too: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(u64::from(connection));
        Ok(epoll::modify(&self.epoll, socket, data, flags(writes_too))?)
    }

    /// Waits for connections until `until_ns`; does not wait if that is over. Both times use the same clock.
    pub(super) fn wait(
        &mut self,
        now_ns: u64,
        until_ns: u64,
        ready: &mut Vec<epoll::Event>,
    ) -> io::Result<()> {
        let at_once = Timespec::default();
        let timeout = if until_ns <= now_ns {
            Some(&at_once)
        } else {
            self.arm(now_ns, until_ns)?;
            None
        };
        ready.clear();
        ready.reserve(EVENTS_MAX);
        match epoll::wait(&self.epoll, spare_capacity(ready), timeout) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn arm(&mut self, now_ns: u64, until_ns: u64) -> io::Result<()> {
        if self.armed_for_ns != Some(until_ns) {
            let it_value = Timespec::try_from(Duration::from_nanos(until_ns - now_ns)).unwrap_or_default();
            let once = Itimerspec { it_interval: Timespec::default(), it_value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
            self.armed_for_ns = Some(until_ns);
        }
        Ok(())
    }
}

impl Ready {
    /// `None` for the timer, whose only effect is to wake.
    pub(super) fn of(event: epoll::Event) -> Option<Self> {
        let (data, flags) = (event.data, event.flags);
        let connection = u32::try_from(data.u64()).ok()?;
        let to_read =
            flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        Some(Self { connection, to_read, to_write: flags.contains(epoll::EventFlags::OUT) })
    }
}

fn flags(writes_too: bool) -> epoll::EventFlags {
    if writes_too { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN }
}
