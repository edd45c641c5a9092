//! Appends: the maximum throughput, for a number of conversations and messages per append.

use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_domain::ports::Store;
use tokio::task::JoinSet;

use super::chat::Chat;
use super::location::Opened;
use super::plan::Window;
use crate::figures::{Figure, Latencies, Outcome, Value};
use crate::progress::{Done, Step};

/// Appends of one conversation follow each other; those of different conversations run concurrently.
pub(super) async fn measure(
    opened: &Opened,
    chats: &mut Vec<Chat>,
    batch: usize,
    time: Duration,
    step: &dyn Fn(&str) -> Step,
) -> anyhow::Result<Outcome> {
    let scenario =
        format!("append: {} × {}", counted(chats.len(), "conversation"), counted(batch, "message"));
    let appending = step(&scenario);
    let (window, before, messages_before) = (Window::after_warm_up(time), opened.work(), messages(chats));
    let mut tasks = JoinSet::new();
    for chat in chats.drain(..) {
        tasks.spawn(append(opened.port(), chat, batch, window, appending.done()));
    }
    let mut latencies = Latencies::new();
    while let Some(ended) = tasks.join_next().await {
        let (chat, took) = ended??;
        latencies.add(&took);
        chats.push(chat);
    }
    let rate = (latencies.count() * batch as u64) as f64 / window.start.elapsed().as_secs_f64();
    let mut figures = vec![Figure::new("messages/s", Value::PerSecond(rate))];
    figures.extend(latencies.figures());
    let (after, appended) = (opened.work(), (messages(chats) - messages_before) as f64);
    if let (Some(before), Some(after)) = (before.fsyncs, after.fsyncs) {
        let share = appended / (after - before).max(1) as f64;
        figures.push(Figure::new("messages per fsync", Value::Number(share)));
    }
    if let (Some(before), Some(after)) = (before.requests, after.requests) {
        figures.push(Figure::new("requests per message", Value::Number((after - before) as f64 / appended)));
    }
    Ok(Outcome { scenario, figures })
}

async fn append(
    store: Arc<dyn Store>,
    mut chat: Chat,
    batch: usize,
    window: Window,
    done: Done,
) -> anyhow::Result<(Chat, Latencies)> {
    let mut latencies = Latencies::new();
    loop {
        let append = chat.next(store.ids(), batch)?;
        let (effects, began) = (append.effects.clone(), Instant::now());
        if window.is_over(began, &latencies) {
            return Ok((chat, latencies));
        }
        let outcome = store.append(&append).await?;
        let took = began.elapsed();
        chat.accept(&effects, &outcome)?;
        done.add(batch);
        if began >= window.start {
            latencies.record(took);
        }
    }
}

fn messages(chats: &[Chat]) -> usize {
    chats.iter().map(Chat::messages).sum()
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
