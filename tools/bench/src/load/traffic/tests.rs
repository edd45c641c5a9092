use std::net::SocketAddr;

use super::*;
use crate::messenger::Done;

/// Keeps the sent messages.
#[derive(Debug, Default)]
struct Kept(Vec<(u32, u32, Stamp)>);

impl Messenger for Kept {
    fn name(&self) -> &'static str {
        "kept"
    }

    fn address(&self) -> SocketAddr {
        unreachable!("nobody connects")
    }

    fn move_to(&mut self, _: SocketAddr) {
        unreachable!("nobody connects")
    }

    fn handshake(&mut self, _: u32) -> anyhow::Result<(String, String)> {
        unreachable!("nobody connects")
    }

    fn sign_in(&mut self, _: u32, _: Option<&[u8]>, _: &mut Vec<u8>) -> anyhow::Result<Done> {
        unreachable!("nobody connects")
    }

    fn plan_conversation(&mut self, _: &[u32]) -> u32 {
        unreachable!("nobody joins")
    }

    fn join(&mut self, _: u32, _: u32, _: Option<&[u8]>, _: &mut Vec<u8>) -> anyhow::Result<Done> {
        unreachable!("nobody joins")
    }

    fn send(&mut self, _: u32, user: u32, ticket: u32, text: &[u8], _: &mut Vec<u8>) {
        self.0.push((user, ticket, Stamp::find(text).unwrap()));
    }

    fn read(
        &mut self,
        _: u32,
        _: &[u8],
        _: &mut Vec<u8>,
        _: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()> {
        unreachable!("nothing comes")
    }
}

/// User 0 sends to 1, and to 1 and 2.
fn talk(window: usize) -> (Traffic, Net, Kept, [u32; 2]) {
    let mut traffic = Traffic::new(100);
    let pair = traffic.add_conversation(0, &[0, 1], &[0], window);
    let group = traffic.add_conversation(1, &[0, 1, 2], &[0], window);
    traffic.measure(Span::since(0));
    (traffic, Net::new(3).unwrap(), Kept::default(), [pair[0], group[0]])
}

fn deliver(traffic: &mut Traffic, to: u32, stamp: Stamp) -> Option<u32> {
    traffic.take(to, Incoming::Delivered { stamp, place: None }, stamp.sent_ns + 5)
}

fn acknowledge(traffic: &mut Traffic, ticket: u32) -> Option<u32> {
    traffic.take(0, Incoming::Acknowledged { ticket }, 1_000)
}

#[test]
fn a_message_is_done_when_it_is_acknowledged_and_delivered_to_all() {
    let (mut traffic, mut net, mut kept, [pair, group]) = talk(4);
    traffic.send(&mut net, &mut kept, pair, 10);
    traffic.send(&mut net, &mut kept, group, 20);
    let [(_, first, to_one), (_, second, to_two)] = kept.0[..] else { panic!("{kept:?}") };
    assert_eq!((to_one.number, to_two.number, traffic.under_way()), (1, 1, 2));
    assert_eq!(deliver(&mut traffic, 1, to_one), None);
    assert_eq!(acknowledge(&mut traffic, first), Some(pair));
    assert_eq!(acknowledge(&mut traffic, second), None);
    assert_eq!(deliver(&mut traffic, 1, to_two), None);
    assert_eq!(deliver(&mut traffic, 2, to_two), Some(group));
    assert_eq!((traffic.under_way(), traffic.ended()), (0, 2));
    let measured = &traffic.measured;
    assert_eq!((measured.acknowledged, measured.delivered), (2, 3));
    assert_eq!([&measured.ack, &measured.delivery, &measured.last].map(Latencies::count), [2, 3, 2]);
    traffic.finish().refuse().unwrap();
}

#[test]
fn a_stream_keeps_its_window_full() {
    let (mut traffic, mut net, mut kept, [pair, group]) = talk(3);
    traffic.fill(&mut net, &mut kept, pair);
    traffic.fill(&mut net, &mut kept, group);
    assert_eq!(kept.0.len(), 6);
    // The last of the pair first, while the earlier tickets are still in flight.
    let (_, ticket, stamp) = kept.0[2];
    deliver(&mut traffic, 1, stamp);
    assert_eq!(acknowledge(&mut traffic, ticket), Some(pair));
    traffic.fill(&mut net, &mut kept, pair);
    assert_eq!((kept.0.len(), kept.0[6].1, kept.0[6].2.number), (7, 7, 4));
    traffic.end_at(4);
    assert!(!traffic.has_room(pair));
}

#[test]
fn acknowledgements_count_once_and_for_their_sender() {
    let (mut traffic, mut net, mut kept, [pair, _]) = talk(3);
    traffic.send(&mut net, &mut kept, pair, 10);
    let (_, ticket, stamp) = kept.0[0];
    deliver(&mut traffic, 1, stamp);
    assert_eq!(acknowledge(&mut traffic, ticket), Some(pair));
    assert_eq!(acknowledge(&mut traffic, ticket), None, "twice");
    assert_eq!(acknowledge(&mut traffic, ticket + 1), None, "never sent");
    assert_eq!(traffic.take(2, Incoming::Acknowledged { ticket }, 0), None, "somebody else's");
    assert_eq!(traffic.finish().to_string(), "3 acknowledgements of nothing");
}

#[test]
fn messages_outside_of_the_span_are_checked_but_not_measured() {
    let (mut traffic, mut net, mut kept, [pair, _]) = talk(3);
    traffic.measure(Span::since(100).ended(200));
    for sent_ns in [50, 150, 250] {
        traffic.send(&mut net, &mut kept, pair, sent_ns);
    }
    for (_, ticket, stamp) in kept.0.clone() {
        deliver(&mut traffic, 1, stamp);
        acknowledge(&mut traffic, ticket);
    }
    assert_eq!((traffic.measured.delivered, traffic.measured.delivery.count()), (1, 1));
    traffic.finish().refuse().unwrap();
}
