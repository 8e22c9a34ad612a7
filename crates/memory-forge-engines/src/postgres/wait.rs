//! Limits how long a server is waited for. Nothing here waits without a limit:
//! a server that accepts a connection and stays silent (a frozen process, a
//! network that drops packets) looks like a slow one for ever.

use std::future::Future;
use std::time::{Duration, Instant};

use super::PostgresError;

/// Time limit of TCP, for one address of a host.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit of one host, from its name to a finished login, unless a deadline
/// is shorter.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Time that a command tries again while the server has no free connection.
const NO_CONNECTION_WAIT: Duration = Duration::from_secs(60);
/// Time that a push waits for a lock before it reports that it waits.
pub(super) const SHORT_LOCK_WAIT: Duration = Duration::from_secs(2);
/// Time by which the server ends a statement after the client's limit, so that
/// the client's message is the one that is shown.
const SERVER_MARGIN: Duration = Duration::from_millis(500);

/// Time limit of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitLimit {
    /// One deadline for connecting, querying and answering.
    Until { deadline: Instant, total: Duration },
    /// A limit for each transaction, or for each statement of a push, because a
    /// large push takes as long as it takes.
    Each(Duration),
}

/// Time limits of a caller, and the callback that reports a wait.
pub struct WaitPolicy {
    limit: WaitLimit,
    pub(super) no_connection: Duration,
    notice: Box<dyn Fn(&str) + Send + Sync>,
}

impl Default for WaitPolicy {
    fn default() -> WaitPolicy {
        WaitPolicy::for_each_step(Duration::from_secs(600))
    }
}

impl WaitPolicy {
    /// Returns a policy with one deadline. It does not wait for a free
    /// connection.
    pub fn until_deadline(deadline: Instant) -> WaitPolicy {
        let total = deadline.saturating_duration_since(Instant::now());
        WaitPolicy {
            limit: WaitLimit::Until { deadline, total },
            no_connection: Duration::ZERO,
            notice: Box::new(|_| {}),
        }
    }

    /// Returns a policy with a limit for each transaction of a command, or each
    /// statement of a push.
    pub fn for_each_step(limit: Duration) -> WaitPolicy {
        WaitPolicy {
            limit: WaitLimit::Each(limit),
            no_connection: NO_CONNECTION_WAIT,
            notice: Box::new(|_| {}),
        }
    }

    /// Sets how long to try again while the server has no free connection.
    pub fn with_connection_wait(mut self, limit: Duration) -> WaitPolicy {
        self.no_connection = limit;
        self
    }

    /// Sets the callback that receives a line when something is waited for.
    pub fn with_notice(mut self, notice: impl Fn(&str) + Send + Sync + 'static) -> WaitPolicy {
        self.notice = Box::new(notice);
        self
    }

    /// Reports a wait.
    pub(super) fn notify(&self, line: &str) {
        (self.notice)(line);
    }

    /// Returns the time left for the next step.
    pub(super) fn time_left(&self) -> Duration {
        match self.limit {
            WaitLimit::Until { deadline, .. } => deadline.saturating_duration_since(Instant::now()),
            WaitLimit::Each(limit) => limit,
        }
    }

    /// Returns the limit that the user set.
    pub(super) fn total_limit(&self) -> Duration {
        match self.limit {
            WaitLimit::Until { total, .. } => total,
            WaitLimit::Each(limit) => limit,
        }
    }

    /// Returns the time limit of one login, with this many hosts untried. They
    /// share a deadline, so that a silent one leaves time for the next.
    pub(super) fn login_limit(&self, hosts: usize) -> Duration {
        match self.limit {
            WaitLimit::Until { .. } => self.time_left() / hosts.max(1) as u32,
            WaitLimit::Each(limit) => limit.min(LOGIN_TIMEOUT),
        }
    }

    /// Returns settings of a transaction that end its statements on the server
    /// after the client's limit. `set local` also works behind a pool that
    /// gives each transaction another connection.
    pub(super) fn transaction_settings(&self, lock: Option<Duration>) -> String {
        let (left, shortest) = (self.time_left(), Duration::from_millis(1));
        let statement = left + SERVER_MARGIN;
        // A lock that is not granted has a message of its own, so for locks the
        // server gives up first. Zero would mean no limit.
        let before = left.saturating_sub(SERVER_MARGIN);
        let lock = lock.unwrap_or(before).min(statement).max(shortest);
        format!(
            "set local statement_timeout = {}; set local lock_timeout = {}",
            statement.as_millis(),
            lock.as_millis()
        )
    }
}

/// Waits at most `limit` for an operation.
pub(super) async fn run_timed<T, E: Into<PostgresError>>(
    limit: Duration,
    shown: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, PostgresError> {
    match tokio::time::timeout(limit, work).await {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_) => Err(PostgresError::no_answer(shown, limit)),
    }
}

/// Formats a duration: `2 s`, `350 ms`, `10 min`.
pub(super) fn format_duration(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1000 => format!("{ms} ms"),
        ms @ 1000..120_000 if ms % 1000 != 0 => format!("{:.1} s", time.as_secs_f64()),
        1000..120_000 => format!("{} s", time.as_secs()),
        _ => format!("{} min", time.as_secs() / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_shared_between_hosts() {
        let patience = WaitPolicy::until_deadline(Instant::now() + Duration::from_secs(60));
        assert!(patience.login_limit(2) <= Duration::from_secs(30));
        assert!(patience.login_limit(1) > Duration::from_secs(50));
        let past = WaitPolicy::until_deadline(Instant::now());
        assert_eq!(past.time_left(), Duration::ZERO);
        assert_eq!(WaitPolicy::default().login_limit(3), LOGIN_TIMEOUT);
    }

    #[test]
    fn times_are_shown_with_their_unit() {
        let shown = |ms| format_duration(Duration::from_millis(ms));
        assert_eq!(shown(350), "350 ms");
        assert_eq!((shown(2000), shown(1500)), ("2 s".into(), "1.5 s".into()));
        assert_eq!(shown(600_000), "10 min");
    }
}
