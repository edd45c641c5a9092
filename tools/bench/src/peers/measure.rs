//! The measurements of a running messenger.

use anyhow::Context;
use clap::ValueEnum;

use super::durable;
use super::kind::Kind;
use crate::load::report::Report;
use crate::load::run::{Common, Stage};
use crate::load::{group, history, idle, pairs, rate};
use crate::messenger::History;
use crate::progress::Progress;
use crate::server::{Server, Which};

const TEXT_BYTES: usize = 200;
const WARM_UP_SECONDS: f64 = 3.0;

/// The sizes of all scenarios.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    scenarios: Vec<Scenario>,
    common: Common,
    pairs: u32,
    small_group: u32,
    large_group: u32,
    pub(super) idle_connections: u32,
    history_messages: u32,
    conversations: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Scenario {
    /// Whether it keeps what it acknowledges.
    Durable,
    Pairs,
    Rate,
    SmallGroup,
    LargeGroup,
    History,
    Idle,
}

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) scenario: Scenario,
    /// The result, or why there is none.
    pub(super) result: Result<Report, String>,
    /// The error of the first attempt, if it failed.
    pub(super) failed_before: Option<String>,
}

impl Plan {
    pub(super) const fn new(scenarios: Vec<Scenario>, seconds: f64, idle_connections: u32) -> Self {
        Self {
            scenarios,
            common: common(seconds, WARM_UP_SECONDS),
            pairs: 100,
            small_group: 100,
            large_group: 1_000,
            idle_connections,
            history_messages: 20_000,
            conversations: 100,
        }
    }

    pub(super) const fn quick(scenarios: Vec<Scenario>) -> Self {
        Self {
            scenarios,
            common: common(0.5, 0.2),
            pairs: 4,
            small_group: 5,
            large_group: 20,
            idle_connections: 50,
            history_messages: 240,
            conversations: 4,
        }
    }
}

const fn common(seconds: f64, warm_up: f64) -> Common {
    let which = Which {
        server: None,
        data: None,
        set: Vec::new(),
        url: None,
        metrics_url: None,
        key: None,
        pid: None,
    };
    Common { which, seconds, warm_up, text_bytes: TEXT_BYTES, json: None }
}

impl Scenario {
    pub(super) const ALL: [Self; 7] = [
        Self::Durable,
        Self::Pairs,
        Self::Rate,
        Self::SmallGroup,
        Self::LargeGroup,
        Self::History,
        Self::Idle,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Durable => "durability",
            Self::Pairs => "pairs",
            Self::Rate => "fixed rate",
            Self::SmallGroup => "small group",
            Self::LargeGroup => "large group",
            Self::History => "history",
            Self::Idle => "idle connections",
        }
    }
}

/// Runs the scenarios. `make` creates the client for this many new users.
pub(super) fn all<M: History>(
    kind: Kind,
    server: Server,
    plan: &Plan,
    progress: Progress,
    mut make: impl FnMut(&Stage, u32) -> anyhow::Result<M>,
) -> Vec<Outcome> {
    let mut stage = Stage::new(server, progress, &plan.common, kind == Kind::Godwit);
    let mut outcomes = Vec::new();
    for scenario in plan.scenarios.iter().copied() {
        if scenario == Scenario::Durable && !kind.is_durable() {
            continue;
        }
        progress.note(&format!("{}: {}", kind.title(), scenario.title()));
        let mut measure = |stage: &mut Stage| {
            one(scenario, plan, stage, &mut make).map_err(|error| match stage.server.last_words() {
                Some(words) => format!("{error:#} (it says: {words})"),
                None => format!("{error:#}"),
            })
        };
        let mut outcome = Outcome { scenario, result: measure(&mut stage), failed_before: None };
        // A peer may fail once, which the report mentions. A restart prevents a measurement in the state after the failure.
        let mut goes_on = outcome.result.is_ok() || stage.server.start_again().is_ok();
        if let Err(error) = &outcome.result
            && kind != Kind::Godwit
            && goes_on
        {
            progress.note(&format!("{error}; once more"));
            outcome.failed_before = Some(error.clone());
            outcome.result = measure(&mut stage);
            goes_on = outcome.result.is_ok() || stage.server.start_again().is_ok();
        }
        outcomes.push(outcome);
        if !goes_on {
            break;
        }
    }
    outcomes
}

fn one<M: History>(
    scenario: Scenario,
    plan: &Plan,
    stage: &mut Stage,
    make: &mut impl FnMut(&Stage, u32) -> anyhow::Result<M>,
) -> anyhow::Result<Report> {
    let common = plan.common.clone();
    match scenario {
        Scenario::Durable => {
            let messenger = make(stage, durable::USERS)?;
            durable::check(stage, messenger)
        }
        Scenario::Pairs => {
            let scenario = pairs::Arguments { pairs: plan.pairs, window: 16, both: false, common };
            scenario.measure(stage, make(stage, 2 * plan.pairs)?)
        }
        Scenario::Rate => {
            let scenario = rate::Arguments { rate: vec![500], pairs: plan.pairs, common };
            scenario.measure_rate(stage, make(stage, 2 * plan.pairs)?, 500)
        }
        Scenario::SmallGroup | Scenario::LargeGroup => {
            let (members, window) = match scenario {
                Scenario::SmallGroup => (plan.small_group, 8),
                _ => (plan.large_group, 4),
            };
            let scenario = group::Arguments { members: vec![members], groups: 1, window, common };
            scenario.measure_size(stage, make(stage, members)?, members)
        }
        Scenario::History => {
            let scenario = history::Arguments {
                messages: vec![plan.history_messages],
                conversations: plan.conversations,
                connections: 16,
                newest: true,
                http: false,
                common,
            };
            let messenger = make(stage, scenario.users())?;
            only(scenario.measure_newest(stage, messenger)?)
        }
        Scenario::Idle => {
            let scenario = idle::Arguments { connections: vec![plan.idle_connections], common };
            let messenger = make(stage, scenario.users())?;
            only(scenario.measure(stage, messenger)?)
        }
    }
}

fn only(reports: Vec<Report>) -> anyhow::Result<Report> {
    reports.into_iter().next().context("nothing was measured")
}
