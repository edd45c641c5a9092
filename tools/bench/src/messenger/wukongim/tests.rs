use super::*;

fn messenger() -> WuKongIm {
    let address = "127.0.0.1:80".parse().unwrap();
    let mut messenger = WuKongIm::new(address, address, "r".into());
    messenger.plan_conversation(&[0, 1]);
    messenger.plan_conversation(&[0, 1, 2]);
    messenger
}

#[test]
fn a_message_has_the_format_of_the_server() {
    for (conversation, channel) in [(0, b"\0\x03ru1\x01"), (1, b"\0\x03rg1\x02")] {
        let mut out = Vec::new();
        messenger().send(conversation, 0, 7, b"hello", &mut out);
        let expected = [&b"\x32\x9f\0\0\0\0\0\x07\0\x05r-0-7"[..], channel, b"\0\0\0\0\0\0hello"].concat();
        let mut expected = expected;
        let length = expected.len() - 3;
        expected[1] = 0x80 | length as u8;
        assert_eq!(out[6..], expected);
        assert_eq!(split(&out[6..]).unwrap().unwrap().2, expected.len());
    }
}

/// As the server sent it.
#[test]
fn deliveries_are_acknowledged_and_acknowledgements_recognised() {
    let stamp = Stamp { stream: 3, number: 9, sent_ns: 77 };
    let mut text = Vec::new();
    stamp.write(&mut text, 40);
    let fields = b"\0\0\0\0\x03ru0\0\x03ru0\x01\0\0\0\0\0\x05r-0-7\x18\x01\x02\x03\x04\x05\x06\x07\0\0\0\x09\x69\0\0\0";
    let body = [&fields[..], &text].concat();
    let recv = [&[0x52, body.len() as u8][..], &body].concat();
    let sendack = b"\x40\x11\x18\x01\x02\x03\x04\x05\x06\x07\0\0\0\x07\0\0\0\x09\x01";
    let frame = [&recv[..], sendack, b"\x80"].concat();
    let (mut out, mut came) = (Vec::new(), Vec::new());
    messenger().read(1, &frame, &mut out, &mut |incoming| came.push(incoming)).unwrap();
    let delivered = Incoming::Delivered { stamp, place: None };
    assert_eq!(came, [delivered, Incoming::Acknowledged { ticket: 7 }]);
    assert_eq!(out[6..], *b"\x60\x8c\0\x18\x01\x02\x03\x04\x05\x06\x07\0\0\0\x09");
}

#[test]
fn a_refusal_or_a_truncated_packet_ends_the_run() {
    let refused = b"\x40\x11\x18\x01\x02\x03\x04\x05\x06\x07\0\0\0\x07\0\0\0\x09\x02";
    for wrong in [&refused[..], &refused[..9], &[0x40], &[0x50, 2, 0, 0]] {
        assert!(messenger().read(1, wrong, &mut Vec::new(), &mut |_| {}).is_err(), "{wrong:?}");
    }
    assert!(messenger().sign_in(0, Some(b"\x20\x0d\0\0\0\0\0\0\0\0\x02\0\0\0\0"), &mut Vec::new()).is_err());
}

#[test]
fn pages_are_read() {
    let stamp = Stamp { stream: 3, number: 9, sent_ns: 77 };
    let mut text = Vec::new();
    stamp.write(&mut text, 200);
    let payload = BASE64_STANDARD.encode(&text);
    let page = format!(r#"{{"messages":[{{"seq":1,"payload":"{payload}"}},{{"payload":"{payload}"}}]}}"#);
    let mut stamps = Vec::new();
    let mut read = |status, page: &str| {
        let each = &mut |stamp| stamps.push(stamp);
        messenger().read_page(0, Some(status), page.as_bytes(), &mut Vec::new(), each)
    };
    assert_eq!(read(200, &page).unwrap(), Done::Yes);
    assert!(read(400, &page).is_err() && read(200, r#"{"payload":"abc"}"#).is_err());
    assert_eq!(stamps, [stamp, stamp]);
}
