use super::*;

const STAMP: Stamp = Stamp { stream: 3, number: 9, sent_ns: 77 };

fn messenger() -> Ejabberd {
    let mut ejabberd = Ejabberd::new("127.0.0.1:80".parse().unwrap(), 3, "r".into());
    ejabberd.plan_conversation(&[0, 1]);
    ejabberd.plan_conversation(&[0, 1, 2]);
    ejabberd
}

fn text() -> String {
    let mut text = Vec::new();
    STAMP.write(&mut text, 40);
    String::from_utf8(text).unwrap()
}

fn read(user: u32, frame: &str) -> anyhow::Result<Vec<Incoming>> {
    let mut came = Vec::new();
    messenger().read(user, frame.as_bytes(), &mut Vec::new(), &mut |incoming| came.push(incoming))?;
    Ok(came)
}

#[test]
fn a_direct_message_is_followed_by_an_acknowledgement_request() {
    let mut out = Vec::new();
    messenger().send(0, 1, 7, b"hello", &mut out);
    let sent = String::from_utf8_lossy(&out);
    assert!(sent.contains("type='chat' id='7' to='ru0@localhost'><body>hello</body></message>"), "{sent}");
    assert!(sent.ends_with("<r xmlns='urn:xmpp:sm:3'/>"), "{sent}");
    out.clear();
    messenger().send(1, 1, 7, b"hello", &mut out);
    let sent = String::from_utf8_lossy(&out);
    assert!(sent.contains("type='groupchat' id='7' to='rg1@conference.localhost'"), "{sent}");
    assert!(sent.ends_with("</message>"), "{sent}");
}

/// As the server sent them.
#[test]
fn stanzas_are_parsed() {
    let (text, delivered) = (text(), Incoming::Delivered { stamp: STAMP, place: None });
    let chat = format!(
        "<message xml:lang='en' to='ru1@localhost/1' from='ru0@localhost/2' type='chat' id='7' xmlns='jabber:client'><body>{text}</body></message>"
    );
    assert_eq!(read(1, &chat).unwrap(), [delivered]);
    let room = format!(
        "<message to='ru0@localhost/1' from='rg1@conference.localhost/0' type='groupchat' id='7' xmlns='jabber:client'><body>{text}</body></message>"
    );
    assert_eq!(read(1, &room).unwrap(), [delivered]);
    assert_eq!(read(0, &room).unwrap(), [delivered, Incoming::Acknowledged { ticket: 7 }]);
    assert_eq!(read(0, "<a h='8' xmlns='urn:xmpp:sm:3'/>").unwrap(), [Incoming::Acknowledged { ticket: 8 }]);
    assert!(read(0, "<iq type='error' id='x' xmlns='jabber:client'><error/></iq>").is_err());
    assert!(read(0, "<stream:error><conflict/></stream:error>").is_err());
}

#[test]
fn received_stanzas_are_acknowledged() {
    let (mut ejabberd, mut out) = (messenger(), Vec::new());
    for frame in
        ["<presence xmlns='jabber:client'/>", "<enabled xmlns='urn:xmpp:sm:3'/>", "<iq type='result'/>"]
    {
        ejabberd.note(2, frame.as_bytes(), &mut out).unwrap();
    }
    ejabberd.note(2, b"<r xmlns='urn:xmpp:sm:3'/>", &mut out).unwrap();
    assert_eq!(String::from_utf8_lossy(&out[6..]), "<a xmlns='urn:xmpp:sm:3' h='1'/>");
}

#[test]
fn a_page_ends_with_a_result() {
    let text = text();
    let mut stamps = Vec::new();
    let mut read = |frame: String| {
        let each = &mut |stamp| stamps.push(stamp);
        messenger().read_page(0, None, frame.as_bytes(), &mut Vec::new(), each).unwrap()
    };
    let message = format!(
        "<message to='x'><result xmlns='urn:xmpp:mam:2'><forwarded><message><body>{text}</body></message></forwarded></result></message>"
    );
    assert_eq!(read(message), Done::NotYet);
    assert_eq!(read("<iq type='result' id='page'><fin xmlns='urn:xmpp:mam:2'/></iq>".into()), Done::Yes);
    assert_eq!(stamps, [STAMP]);
}
