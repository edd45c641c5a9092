//! The pictures: which figure is plotted against which.

use std::collections::{BTreeMap, BTreeSet};

use super::chart::{Axis, Chart, Line};
use super::results::RunResult;
use super::scale::Kind;

const MIB: f64 = 1_024.0 * 1_024.0;
const KIB: f64 = 1_024.0;
const MS: f64 = 1e3;
const SECOND: f64 = 1e6;

/// One or more figures of a scenario, plotted against another.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) file: &'static str,
    title: &'static str,
    scenario: &'static str,
    /// Runs with different values of this parameter are separate lines.
    split_by: Option<&'static str>,
    x: (&'static str, Axis),
    y: Axis,
    lines: &'static [Drawn],
}

/// A figure, and the number of its units per unit of the axis.
#[derive(Debug)]
struct Drawn {
    name: &'static str,
    figure: &'static str,
    unit: f64,
}

const fn drawn(name: &'static str, figure: &'static str, unit: f64) -> Drawn {
    Drawn { name, figure, unit }
}

const fn linear(label: &'static str) -> Axis {
    Axis { label, kind: Kind::Linear }
}

const fn log(label: &'static str) -> Axis {
    Axis { label, kind: Kind::Log }
}

pub(super) const PICTURES: &[Picture] = &[
    Picture {
        file: "latency.svg",
        title: "Delivery time against throughput",
        scenario: "rate",
        split_by: Some("pairs"),
        x: ("deliveries_per_s", linear("messages a second")),
        y: log("from the intended sending to the receiver, ms"),
        lines: &[
            drawn("p50", "delivery_p50_us", MS),
            drawn("p99", "delivery_p99_us", MS),
            drawn("p99.9", "delivery_p999_us", MS),
        ],
    },
    Picture {
        file: "memory.svg",
        title: "Memory against idle connections",
        scenario: "idle",
        split_by: None,
        x: ("connections", linear("connections")),
        y: linear("resident memory of the server, MiB"),
        lines: &[drawn("server", "server_memory_bytes", MIB)],
    },
    Picture {
        file: "connection.svg",
        title: "Memory of an idle connection",
        scenario: "idle",
        split_by: None,
        x: ("connections", linear("connections")),
        y: linear("resident memory a connection, KiB"),
        lines: &[drawn("a connection", "memory_a_connection_bytes", KIB)],
    },
    Picture {
        file: "history.svg",
        title: "A page of history against its length",
        scenario: "history",
        split_by: Some("newest"),
        x: ("messages", log("messages stored")),
        y: log("for a page of 50, ms"),
        lines: &[
            drawn("p50", "page_p50_us", MS),
            drawn("p99", "page_p99_us", MS),
            drawn("server CPU", "server_CPU_a_page_us", MS),
        ],
    },
    Picture {
        file: "inbox.svg",
        title: "The inbox against the conversations of a user",
        scenario: "inbox",
        split_by: Some("readers"),
        x: ("conversations", log("conversations of the user")),
        y: log("for a page of 50, ms"),
        lines: &[
            drawn("p50", "list_p50_us", MS),
            drawn("p99", "list_p99_us", MS),
            drawn("server CPU", "server_CPU_a_list_us", MS),
        ],
    },
    Picture {
        file: "group.svg",
        title: "Deliveries against the size of a group",
        scenario: "group",
        split_by: Some("window"),
        x: ("members", log("members, all online")),
        y: linear("deliveries a second"),
        lines: &[drawn("deliveries", "deliveries_per_s", 1.0)],
    },
    Picture {
        file: "resume.svg",
        title: "Clients that come back at once",
        scenario: "resume",
        split_by: Some("missed"),
        x: ("clients", log("clients")),
        y: log("until they have caught up, s"),
        lines: &[
            drawn("half of them", "back_p50_us", SECOND),
            drawn("99 %", "back_p99_us", SECOND),
            drawn("all", "all_are_back_after_us", SECOND),
        ],
    },
    Picture {
        file: "growth-history.svg",
        title: "What things cost against what is stored",
        scenario: "growth-history",
        split_by: Some("rate"),
        x: ("messages", log("messages stored")),
        y: log("processor time of the server, µs"),
        lines: &[
            drawn("a send", "server_CPU_a_send_us", 1.0),
            drawn("a page of 50", "server_CPU_a_page_us", 1.0),
            drawn("a list of 10", "server_CPU_a_list_us", 1.0),
            drawn("a resume", "server_CPU_a_resume_us", 1.0),
        ],
    },
    Picture {
        file: "growth-conversations.svg",
        title: "What things cost against the conversations of a user",
        scenario: "growth-conversations",
        split_by: Some("rate"),
        x: ("conversations", log("conversations of the user")),
        y: log("processor time of the server, µs"),
        lines: &[
            drawn("a send", "server_CPU_a_send_us", 1.0),
            drawn("a list of 10", "server_CPU_a_list_us", 1.0),
            drawn("a resume", "server_CPU_a_resume_us", 1.0),
        ],
    },
    Picture {
        file: "growth-users.svg",
        title: "What things cost against users",
        scenario: "growth-users",
        split_by: Some("rate"),
        x: ("users", log("users")),
        y: log("processor time of the server, µs"),
        lines: &[
            drawn("a send", "server_CPU_a_send_us", 1.0),
            drawn("a page of 50", "server_CPU_a_page_us", 1.0),
            drawn("a list of 10", "server_CPU_a_list_us", 1.0),
            drawn("a sign-in", "server_CPU_a_sign-in_us", 1.0),
        ],
    },
    Picture {
        file: "growth-connections.svg",
        title: "What a send costs against connections",
        scenario: "growth-connections",
        split_by: Some("rate"),
        x: ("connections", log("connections")),
        y: log("processor time of the server, µs"),
        lines: &[drawn("a send", "server_CPU_a_send_us", 1.0)],
    },
];

impl Picture {
    /// `None` if there is nothing to draw.
    pub(super) fn draw(&self, results: &[RunResult]) -> Option<Chart> {
        let results: Vec<&RunResult> =
            results.iter().filter(|result| result.scenario == self.scenario).collect();
        let kind = |result: &RunResult| {
            (result.messenger.clone(), self.split_by.map(|name| result.parameter(name)).unwrap_or_default())
        };
        let kinds: BTreeSet<(String, String)> = results.iter().map(|result| kind(result)).collect();
        let mut lines = Vec::new();
        for each in &kinds {
            for drawn in self.lines {
                let of_kind = results.iter().copied().filter(|result| kind(result) == *each);
                let points = self.points(of_kind, drawn);
                if !points.is_empty() {
                    lines.push(Line { name: name(each, &kinds, drawn), points });
                }
            }
        }
        let machine = &results.first()?.machine;
        let cpu = machine.cpu.as_deref().unwrap_or("an unknown processor");
        let subtitle = format!("{} cores of {cpu}, which the load generator shares", machine.cores);
        let chart = Chart { title: self.title, subtitle, x: self.x.1, y: self.y, lines };
        (!chart.lines.is_empty()).then_some(chart)
    }

    /// Points sorted by x. Of several results with the same x, the median counts.
    fn points<'a>(&self, results: impl Iterator<Item = &'a RunResult>, drawn: &Drawn) -> Vec<(f64, f64)> {
        let mut places: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for result in results {
            let (x, y) = (result.figure(self.x.0), result.figure(drawn.figure));
            // A logarithmic axis has no zero.
            if let (Some(x), Some(y)) = (x, y.filter(|y| *y > 0.0)) {
                places.entry(x.round() as u64).or_default().push(y / drawn.unit);
            }
        }
        let middle = |(x, mut ys): (u64, Vec<f64>)| {
            ys.sort_by(f64::total_cmp);
            (x as f64, ys[(ys.len() - 1) / 2])
        };
        places.into_iter().map(middle).collect()
    }
}

/// The name of a line, with the messenger and the parameter if there are several.
fn name(kind: &(String, String), kinds: &BTreeSet<(String, String)>, drawn: &Drawn) -> String {
    let differ =
        |part: fn(&(String, String)) -> &String| kinds.iter().map(part).collect::<BTreeSet<_>>().len() > 1;
    let messenger = differ(|(messenger, _)| messenger).then_some(&*kind.0);
    let parameter = differ(|(_, parameter)| parameter).then_some(&*kind.1);
    [messenger, Some(drawn.name), parameter].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(messenger: &str, scenario: &str, figures: &serde_json::Value) -> RunResult {
        let machine = json!({ "cores": 2, "cpu": "a processor" });
        let result = json!({
            "scenario": scenario, "messenger": messenger, "machine": machine, "figures": figures,
            "parameters": { "window": if messenger == "c" { 4 } else { 8 } },
        });
        serde_json::from_value(result).unwrap()
    }

    #[test]
    fn results_become_points_from_left_to_right_and_the_middle_one_counts() {
        let idle = |connections: u32, mib: f64| {
            result("godwit", "idle", &json!({ "connections": connections, "server_memory_bytes": mib * MIB }))
        };
        let results = [idle(5_000, 50.0), idle(1_000, 30.0), idle(1_000, 10.0), idle(1_000, 20.0)];
        let memory = PICTURES.iter().find(|picture| picture.file == "memory.svg").unwrap();
        let chart = memory.draw(&results).unwrap();
        assert_eq!(chart.lines[0].points, [(1_000.0, 20.0), (5_000.0, 50.0)]);
        assert_eq!(chart.lines[0].name, "server");
        assert!(chart.subtitle.starts_with("2 cores of a processor"));
    }

    #[test]
    fn messengers_have_lines_of_their_own() {
        let group =
            |messenger: &str| result(messenger, "group", &json!({ "members": 100, "deliveries_per_s": 7 }));
        let picture = PICTURES.iter().find(|picture| picture.file == "group.svg").unwrap();
        let names: Vec<String> = picture
            .draw(&[group("b"), group("a")])
            .unwrap()
            .lines
            .into_iter()
            .map(|line| line.name)
            .collect();
        assert_eq!(names, ["a, deliveries", "b, deliveries"]);
        let split = picture.draw(&[group("b"), group("c")]).unwrap().lines;
        assert_eq!(split[1].name, "c, deliveries, window 4");
        assert!(picture.draw(&[result("a", "pairs", &json!({}))]).is_none());
    }
}
