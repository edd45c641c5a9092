//! Messages and what they carry.

use godwit_protocol::characters::is_stray_control;
use godwit_protocol::limits::{
    CLIENT_ID_BYTES_MAX, CONTENT_TYPE_BYTES_MAX, EVENT_DATA_BYTES_MAX, EVENT_DATA_DEPTH_MAX,
    MEDIA_MEASURE_MAX, MEDIA_NAME_CHARS_MAX, MEDIA_SIZE_BYTES_MAX, MEDIA_URL_BYTES_MAX,
    MENTIONS_PER_MESSAGE_MAX, PREVIEW_CHARS_MAX, REACTION_CHARS_MAX, SYSTEM_EVENT_BYTES_MAX, TEXT_CHARS_MAX,
};
use godwit_protocol::messages::{self as wire, MessageKind};
use godwit_protocol::{MessageId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::characters;
use super::entry::Target;
use super::field::{self, InvalidField};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub sender_id: UserId,
    pub client_id: ClientId,
    pub body: MessageBody,
    pub reply: Option<Reply>,
    pub forwarded_from: Option<Forwarded>,
    pub mentions: Mentions,
    /// When it disappears.
    pub expires_at: Option<Timestamp>,
}

/// What a message replies to, and the message that began the thread: the same one, or the one that it replied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub to: Target,
    pub root: Target,
}

/// Whom a message calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mentions {
    pub users: Vec<UserId>,
    pub all: bool,
}

/// What a client wants to send, checked as far as it can be without looking at anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub client_id: ClientId,
    /// None in a forward, which is copied when it is sent, and in what is remembered of a scheduled message that was sent.
    pub body: Option<MessageBody>,
    pub reply_to: Option<MessageId>,
    pub forwarded_from: Option<MessageId>,
}

/// Chosen by the sender's client; the same one again means the same message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(Box<str>);

/// The content, with the parts that its kind has and no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageBody {
    Text(Box<str>),
    Image {
        media: Box<Media>,
        caption: Option<Box<str>>,
    },
    File {
        media: Box<Media>,
        caption: Option<Box<str>>,
    },
    Voice {
        media: Box<Media>,
    },
    System {
        event: Box<str>,
        /// Compact JSON.
        data: Option<Box<str>>,
        text: Option<Box<str>>,
    },
    /// What is left after the message was deleted or has disappeared.
    Erased(MessageKind),
}

/// The parts of a body as the wire has them.
#[derive(Debug, Default)]
pub(crate) struct BodyParts {
    pub(crate) text: Option<Box<str>>,
    pub(crate) media: Option<Box<Media>>,
    pub(crate) event: Option<Box<str>>,
    pub(crate) data: Option<Value>,
}

/// A reference to something stored elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    pub url: Box<str>,
    pub content_type: Box<str>,
    pub size_bytes: u64,
    pub name: Option<Box<str>>,
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub duration_ms: Option<u32>,
}

/// Where a forwarded message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forwarded {
    pub message_id: MessageId,
    pub sender_id: UserId,
}

impl Draft {
    pub fn parse(request: wire::SendMessage) -> Result<Self, InvalidField> {
        let client_id = ClientId::parse(&request.client_id)?;
        let (reply_to, forwarded_from) = (request.reply_to, request.forwarded_from);
        let wire::SendMessage { kind, text, media, event, data, .. } = request;
        let is_empty =
            kind.is_none() && text.is_none() && media.is_none() && event.is_none() && data.is_none();
        let body = if forwarded_from.is_some() && is_empty {
            None
        } else {
            let kind = kind.ok_or_else(|| InvalidField::new("kind", "is needed"))?;
            Some(MessageBody::parse(kind, text, media, event, data.as_ref())?)
        };
        Ok(Self { client_id, body, reply_to, forwarded_from })
    }
}

impl ClientId {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let valid =
            (1..=CLIENT_ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(InvalidField::new(
                "client_id",
                format!("must have 1 to {CLIENT_ID_BYTES_MAX} printable ASCII characters"),
            ))
        }
    }

    /// For stores: the text was checked when it was written.
    pub fn from_stored(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<ClientId> for String {
    fn from(id: ClientId) -> Self {
        id.0.into()
    }
}

impl MessageBody {
    fn parse(
        kind: MessageKind,
        text: Option<String>,
        media: Option<Box<wire::Media>>,
        event: Option<String>,
        data: Option<&Value>,
    ) -> Result<Self, InvalidField> {
        if data.is_some() && kind != MessageKind::System {
            return Err(InvalidField::new("data", "is only for messages of kind system"));
        }
        if event.is_some() && kind != MessageKind::System {
            return Err(InvalidField::new("event", "is only for messages of kind system"));
        }
        if media.is_some() && matches!(kind, MessageKind::Text | MessageKind::System) {
            return Err(InvalidField::new("media", "is only for messages of kind image, file and voice"));
        }
        let text = text.map(parse_text).transpose()?;
        let media = media.map(|media| Media::parse(*media).map(Box::new)).transpose()?;
        let media_needed = || InvalidField::new("media", "is needed for this kind of message");
        Ok(match kind {
            MessageKind::Text => Self::Text(text.ok_or_else(|| InvalidField::new("text", "is needed"))?),
            MessageKind::Image => Self::Image { media: media.ok_or_else(media_needed)?, caption: text },
            MessageKind::File => Self::File { media: media.ok_or_else(media_needed)?, caption: text },
            MessageKind::Voice => {
                if text.is_some() {
                    return Err(InvalidField::new("text", "is not for messages of kind voice"));
                }
                let media = media.ok_or_else(media_needed)?;
                if media.duration_ms.is_none() {
                    return Err(InvalidField::new(
                        "media.duration_ms",
                        "is needed for messages of kind voice",
                    ));
                }
                Self::Voice { media }
            }
            MessageKind::System => {
                let event = event
                    .ok_or_else(|| InvalidField::new("event", "is needed for messages of kind system"))?;
                Self::System { event: parse_event(&event)?, data: data.map(parse_data).transpose()?, text }
            }
        })
    }

    pub const fn kind(&self) -> MessageKind {
        match self {
            Self::Text(_) => MessageKind::Text,
            Self::Image { .. } => MessageKind::Image,
            Self::File { .. } => MessageKind::File,
            Self::Voice { .. } => MessageKind::Voice,
            Self::System { .. } => MessageKind::System,
            Self::Erased(kind) => *kind,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { caption, .. } | Self::File { caption, .. } => caption.as_deref(),
            Self::Voice { .. } | Self::Erased(_) => None,
            Self::System { text, .. } => text.as_deref(),
        }
    }

    pub const fn media(&self) -> Option<&Media> {
        match self {
            Self::Image { media, .. } | Self::File { media, .. } | Self::Voice { media } => Some(media),
            Self::Text(_) | Self::System { .. } | Self::Erased(_) => None,
        }
    }

    pub fn event(&self) -> Option<&str> {
        match self {
            Self::System { event, .. } => Some(event),
            _ => None,
        }
    }

    /// What the event is about, as compact JSON.
    pub fn data(&self) -> Option<&str> {
        match self {
            Self::System { data, .. } => data.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn into_parts(self) -> BodyParts {
        let none = BodyParts::default();
        match self {
            Self::Text(text) => BodyParts { text: Some(text), ..none },
            Self::Image { media, caption } | Self::File { media, caption } => {
                BodyParts { text: caption, media: Some(media), ..none }
            }
            Self::Voice { media } => BodyParts { media: Some(media), ..none },
            Self::System { event, data, text } => {
                // It was written from a value.
                let data = data.and_then(|data| serde_json::from_str(&data).ok());
                BodyParts { text, event: Some(event), data, ..none }
            }
            Self::Erased(_) => none,
        }
    }

    /// The same with another text, or another caption; none where it cannot have another one.
    pub(crate) fn with_text(&self, text: Box<str>) -> Option<Self> {
        match self {
            Self::Text(_) => Some(Self::Text(text)),
            Self::Image { media, .. } => Some(Self::Image { media: media.clone(), caption: Some(text) }),
            Self::File { media, .. } => Some(Self::File { media: media.clone(), caption: Some(text) }),
            Self::Voice { .. } | Self::System { .. } | Self::Erased(_) => None,
        }
    }

    /// The part, as the wire names it, in which it differs from another one.
    pub(crate) fn difference(&self, other: &Self) -> Option<&'static str> {
        if self.kind() != other.kind() {
            Some("kind")
        } else if self.text() != other.text() {
            Some("text")
        } else if self.media() != other.media() {
            Some("media")
        } else {
            None
        }
    }

    /// Text and references, in bytes.
    pub fn size_bytes(&self) -> usize {
        let media = self.media().map_or(0, Media::size_of_reference);
        let event = self.event().map_or(0, str::len) + self.data().map_or(0, str::len);
        self.text().map_or(0, str::len) + event + media
    }

    /// Whether its text, or its caption, can be another one.
    pub const fn is_editable(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Image { .. } | Self::File { .. })
    }

    /// The beginning of the text, on one line, for lists of conversations.
    pub fn preview(&self) -> Box<str> {
        preview_of(self.text().or_else(|| self.media()?.name.as_deref()).unwrap_or_default())
    }
}

/// The beginning of a text, on one line.
pub(crate) fn preview_of(text: &str) -> Box<str> {
    let text = text.trim();
    let seen = &text.as_bytes()[..text.len().min(PREVIEW_CHARS_MAX + 1)];
    // Most texts are one line as they are, and looking at bytes is quicker than at words.
    let has_one_line =
        seen.iter().all(|byte| matches!(byte, b' '..=b'~')) && seen.windows(2).all(|pair| pair != b"  ");
    if has_one_line {
        return shortened(text);
    }
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > PREVIEW_CHARS_MAX * 4 {
            break;
        }
    }
    shortened(&line)
}

fn shortened(line: &str) -> Box<str> {
    let mut ends = line.char_indices().skip(PREVIEW_CHARS_MAX - 1).map(|(end, _)| end);
    match (ends.next(), ends.next()) {
        (Some(end), Some(_)) => format!("{}…", line[..end].trim_end()).into(),
        _ => line.into(),
    }
}

impl Media {
    fn parse(media: wire::Media) -> Result<Self, InvalidField> {
        let content_type = field::bounded("media.content_type", &media.content_type, CONTENT_TYPE_BYTES_MAX)?;
        let plain = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
        };
        if !content_type.split_once('/').is_some_and(|(kind, subtype)| plain(kind) && plain(subtype)) {
            return Err(InvalidField::new(
                "media.content_type",
                "must be a type and a subtype, such as image/png",
            ));
        }
        let name = media.name.map(|name| field::single_line("media.name", &name, MEDIA_NAME_CHARS_MAX));
        let measure = |field, number: Option<u32>| {
            number.map(|number| field::at_most(field, number, MEDIA_MEASURE_MAX)).transpose()
        };
        Ok(Self {
            url: field::url("media.url", &media.url, MEDIA_URL_BYTES_MAX)?,
            content_type,
            size_bytes: field::at_most("media.size_bytes", media.size_bytes, MEDIA_SIZE_BYTES_MAX)?,
            name: name.transpose()?,
            width: measure("media.width", media.width)?,
            height: measure("media.height", media.height)?,
            duration_ms: measure("media.duration_ms", media.duration_ms)?,
        })
    }

    /// What the message itself carries, in bytes.
    fn size_of_reference(&self) -> usize {
        self.url.len() + self.content_type.len() + self.name.as_ref().map_or(0, |name| name.len())
    }

    pub(crate) fn into_wire(self) -> wire::Media {
        wire::Media {
            url: self.url.into(),
            content_type: self.content_type.into(),
            size_bytes: self.size_bytes,
            name: self.name.map(String::from),
            width: self.width,
            height: self.height,
            duration_ms: self.duration_ms,
        }
    }
}

impl Mentions {
    pub const fn is_empty(&self) -> bool {
        self.users.is_empty() && !self.all
    }

    pub(crate) fn into_wire(self) -> wire::Mentions {
        wire::Mentions { user_ids: self.users, all: self.all }
    }
}

/// The words of a text that begin with `@` and can be handles, each once, at most [`MENTIONS_PER_MESSAGE_MAX`].
pub(crate) fn called_names(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut names = Vec::new();
    for (at, _) in text.match_indices('@') {
        if text[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || is_part(before)) {
            continue;
        }
        let rest = &text[at + 1..];
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        // A sentence may end after a name.
        let name = name.trim_end_matches('.');
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
            if names.len() == MENTIONS_PER_MESSAGE_MAX {
                break;
            }
        }
    }
    names
}

/// A reaction: one emoji with all its modifiers, or a short word. One grapheme is not checked: emoji are younger than any
/// library.
pub fn parse_reaction(text: &str) -> Result<Box<str>, InvalidField> {
    let is_visible = characters::shows_something(text) && !characters::is_disguised(text);
    let is_short = (1..=REACTION_CHARS_MAX).contains(&text.chars().count());
    if is_short && is_visible && !text.contains(char::is_whitespace) {
        Ok(text.into())
    } else {
        let reason = format!(
            "must have 1 to {REACTION_CHARS_MAX} characters, without spaces, control and invisible characters"
        );
        Err(InvalidField::new("reaction", reason))
    }
}

pub(crate) fn parse_text(text: String) -> Result<Box<str>, InvalidField> {
    // There are never more characters than bytes, and bytes need not be counted.
    if text.len() > TEXT_CHARS_MAX && text.chars().count() > TEXT_CHARS_MAX {
        return Err(InvalidField::new("text", format!("must have at most {TEXT_CHARS_MAX} characters")));
    }
    if text.trim().is_empty() {
        return Err(InvalidField::new("text", "must not be empty"));
    }
    if !characters::shows_something(&text) {
        return Err(InvalidField::new("text", "must have something that can be seen"));
    }
    let is_plain_ascii = text.bytes().all(|b| matches!(b, b' '..=b'~'));
    if !is_plain_ascii && text.chars().any(is_stray_control) {
        return Err(InvalidField::new(
            "text",
            "must not contain control characters other than line breaks and tabs",
        ));
    }
    Ok(text.into())
}

fn parse_event(event: &str) -> Result<Box<str>, InvalidField> {
    let word = |w: &str| !w.is_empty() && w.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    let valid = event.len() <= SYSTEM_EVENT_BYTES_MAX
        && event.strip_prefix("app.").is_some_and(|name| name.split('.').all(word));
    if valid {
        Ok(event.into())
    } else {
        Err(InvalidField::new(
            "event",
            "must be app. and words of a-z, 0-9 and _ joined by dots, at most 64 bytes",
        ))
    }
}

fn parse_data(data: &Value) -> Result<Box<str>, InvalidField> {
    if depth(data) > EVENT_DATA_DEPTH_MAX {
        return Err(InvalidField::new("data", format!("must be nested at most {EVENT_DATA_DEPTH_MAX} deep")));
    }
    let text = data.to_string();
    if text.len() > EVENT_DATA_BYTES_MAX {
        return Err(InvalidField::new(
            "data",
            format!("must have at most {EVENT_DATA_BYTES_MAX} bytes of JSON"),
        ));
    }
    Ok(text.into())
}

/// How deep arrays and objects are nested. The parser of the request has bounded it before.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: MessageKind) -> wire::SendMessage {
        wire::SendMessage {
            conversation_id: None,
            client_id: "c1".into(),
            kind: Some(kind),
            text: None,
            media: None,
            event: None,
            data: None,
            reply_to: None,
            forwarded_from: None,
        }
    }

    fn media() -> wire::Media {
        wire::Media {
            url: "https://media.example/a.png".into(),
            content_type: "image/png".into(),
            size_bytes: 10,
            name: None,
            width: None,
            height: None,
            duration_ms: None,
        }
    }

    fn refused_field(request: wire::SendMessage) -> std::borrow::Cow<'static, str> {
        Draft::parse(request).unwrap_err().field
    }

    #[test]
    fn each_kind_has_its_parts_and_no_others() {
        assert_eq!(refused_field(request(MessageKind::Text)), "text");
        assert_eq!(refused_field(request(MessageKind::Image)), "media");
        assert_eq!(refused_field(request(MessageKind::System)), "event");
        assert_eq!(
            refused_field(wire::SendMessage { media: Some(media().into()), ..request(MessageKind::Text) }),
            "media"
        );
        assert_eq!(
            refused_field(wire::SendMessage { event: Some("app.x".into()), ..request(MessageKind::Text) }),
            "event"
        );
        assert_eq!(
            refused_field(wire::SendMessage { media: Some(media().into()), ..request(MessageKind::Voice) }),
            "media.duration_ms"
        );
        let image = wire::SendMessage {
            media: Some(media().into()),
            text: Some("hi".into()),
            ..request(MessageKind::Image)
        };
        assert_eq!(Draft::parse(image).unwrap().body.unwrap().text(), Some("hi"));
    }

    #[test]
    fn texts_are_bounded_in_characters() {
        let with_text =
            |text: String| Draft::parse(wire::SendMessage { text: Some(text), ..request(MessageKind::Text) });
        assert!(with_text("x".repeat(TEXT_CHARS_MAX)).is_ok());
        assert!(with_text("x".repeat(TEXT_CHARS_MAX + 1)).is_err());
        assert!(with_text("😀".repeat(TEXT_CHARS_MAX)).is_ok());
        assert!(with_text("😀".repeat(TEXT_CHARS_MAX + 1)).is_err());
        for wrong in ["", " \n\t ", "a\0b", "a\u{7}b"] {
            assert!(with_text(wrong.into()).is_err(), "{wrong:?} was taken for a text");
        }
        assert!(with_text("two\nlines\t\u{202e}and RTL".into()).is_ok());
    }

    #[test]
    fn nobody_can_pretend_to_be_the_server() {
        for wrong in ["member.joined", "app.", "app..x", "app.X", "application.x", ""] {
            let request = wire::SendMessage { event: Some(wrong.into()), ..request(MessageKind::System) };
            assert_eq!(refused_field(request), "event", "{wrong:?}");
        }
        let request =
            wire::SendMessage { event: Some("app.call.ended".into()), ..request(MessageKind::System) };
        assert_eq!(Draft::parse(request).unwrap().body.unwrap().event(), Some("app.call.ended"));
    }

    #[test]
    fn media_are_references_with_a_plain_type() {
        for (url, content_type) in [
            ("javascript:alert(1)", "image/png"),
            ("https://", "image/png"),
            ("https://a b", "image/png"),
            ("https://a", "image"),
            ("https://a", "image/png\r\nx: y"),
        ] {
            let media = wire::Media { url: url.into(), content_type: content_type.into(), ..media() };
            assert!(
                Draft::parse(wire::SendMessage { media: Some(media.into()), ..request(MessageKind::File) })
                    .is_err()
            );
        }
    }

    #[test]
    fn previews_are_one_short_line() {
        let preview = |text: &str| MessageBody::Text(text.into()).preview();
        assert_eq!(&*preview("two\n  lines "), "two lines");
        let long = preview(&"ñandú ".repeat(100));
        assert!(long.chars().count() <= PREVIEW_CHARS_MAX && long.ends_with('…'));
        for (unit, more) in [("x", "x"), ("é", "é"), ("x", "é"), ("x", "\n\nx"), ("é", "  x")] {
            let exact = unit.repeat(PREVIEW_CHARS_MAX);
            assert_eq!(*preview(&exact), *exact);
            let cut = format!("{}…", unit.repeat(PREVIEW_CHARS_MAX - 1));
            assert_eq!(*preview(&format!("{exact}{more}")), *cut, "{unit} and {more:?}");
        }
        let before = "a".repeat(PREVIEW_CHARS_MAX - 2);
        assert_eq!(*preview(&format!("{before}  b")), *format!("{before} b"));
        assert_eq!(*preview(&format!("{before} b c")), *format!("{before}…"));
    }

    #[test]
    fn names_are_called_at_the_beginning_of_a_word() {
        assert_eq!(called_names("@ada, have you seen @Bob.B? @ada"), ["ada", "Bob.B"]);
        assert_eq!(called_names("write to me@example.org or @@all."), ["all"]);
        assert_eq!(called_names("(@eve) ñ@no @ @ü"), ["eve"]);
        let many = (0..100).map(|i| format!("@u{i}")).collect::<Vec<_>>().join(" ");
        assert_eq!(called_names(&many).len(), MENTIONS_PER_MESSAGE_MAX);
    }

    #[test]
    fn reactions_are_short_and_visible() {
        for right in ["👍", "👩🏽‍🚀", "ok", "❤️"] {
            assert!(parse_reaction(right).is_ok(), "{right}");
        }
        for wrong in ["", " ", "a b", "\u{7}", "\u{202e}ko", "\u{200b}", &"x".repeat(REACTION_CHARS_MAX + 1)]
        {
            assert!(parse_reaction(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_data_of_an_event_is_bounded() {
        let parse = |data: Value| {
            let event = Some("app.x".into());
            Draft::parse(wire::SendMessage { event, data: Some(data), ..request(MessageKind::System) })
        };
        let nested = |depth| (0..depth).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
        assert!(parse(nested(EVENT_DATA_DEPTH_MAX)).is_ok());
        assert_eq!(parse(nested(EVENT_DATA_DEPTH_MAX + 1)).unwrap_err().field, "data");
        // Two quotation marks belong to it.
        assert!(parse(Value::from("x".repeat(EVENT_DATA_BYTES_MAX - 2))).is_ok());
        assert_eq!(parse(Value::from("x".repeat(EVENT_DATA_BYTES_MAX - 1))).unwrap_err().field, "data");
        let text = wire::SendMessage {
            text: Some("hi".into()),
            data: Some(Value::from(1)),
            ..request(MessageKind::Text)
        };
        assert_eq!(Draft::parse(text).unwrap_err().field, "data");
        let body = parse(serde_json::json!({"b": [1, null], "a": "ä"})).unwrap().body.unwrap();
        assert_eq!(body.data(), Some(r#"{"a":"ä","b":[1,null]}"#));
        assert_eq!(body.into_parts().data, Some(serde_json::json!({"a": "ä", "b": [1, null]})));
    }
}
