//! Sends at half of the maximum throughput, for long enough to cause flushes and compactions.

use anyhow::Context as _;
use serde_json::json;

use super::Arguments;
use super::probe::settle;
use crate::figures::Value;
use crate::load::pairs;
use crate::load::rate;
use crate::load::report::Report;
use crate::load::run::Stage;

const PAIRS: u32 = 100;
/// Messages in flight per sender while the maximum throughput is measured.
const WINDOW: u32 = 16;
const SATURATED_SECONDS: f64 = 3.0;
/// The figures about the sends.
const FIGURES: [&str; 7] =
    ["sends/s", "ack p50", "ack p99", "ack p99.9", "ack max", "written a message", "generator CPU"];

pub(super) fn measure(arguments: &Arguments, stage: &mut Stage) -> anyhow::Result<Vec<Report>> {
    let common = arguments.common(super::Part::Stalls);
    let pairs = pairs::Arguments { pairs: PAIRS, window: WINDOW, both: false, common: common.clone() };
    stage.seconds = SATURATED_SECONDS.min(common.seconds);
    let saturated = pairs.measure(stage, stage.godwit(2 * PAIRS))?;
    stage.seconds = common.seconds;
    let saturated = saturated.figure("sends/s").context("the pairs scenario reports its throughput")?;
    settle(stage);

    let half = (saturated.number() / 2.0).max(1.0) as u64;
    let seconds = common.seconds;
    let rate = rate::Arguments { rate: vec![half], pairs: PAIRS, common };
    let sends = rate.measure_rate(stage, stage.godwit(2 * PAIRS), half)?;
    let parameters = json!({ "pairs": PAIRS, "text_bytes": arguments.text_bytes, "seconds": seconds });
    let mut report = Report::new("growth-stalls", "godwit", parameters);
    report.add("saturated sends/s", saturated);
    for name in FIGURES {
        if let Some(value) = sends.figure(name) {
            report.add(name, value);
        }
    }
    if let Some(sent) = sends.figure("sends/s") {
        report.add("messages", Value::Number(sent.number() * seconds));
    }
    Ok(vec![report])
}
