//! The content of a message.

use godwit_protocol::limits::{
    CONTENT_TYPE_BYTES_MAX, EVENT_DATA_BYTES_MAX, EVENT_DATA_DEPTH_MAX, MEDIA_MEASURE_MAX,
    MEDIA_NAME_CHARS_MAX, MEDIA_SIZE_BYTES_MAX, MEDIA_URL_BYTES_MAX, SYSTEM_EVENT_BYTES_MAX,
};
use godwit_protocol::messages::{self as wire, MessageKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::{parse_text, preview_of};
use crate::model::field::{self, InvalidField};

/// The content. Each kind has its own parts and no others.
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
    /// The content is gone: the message was deleted or has expired.
    Erased(MessageKind),
}

/// The parts of a body in their wire format.
#[derive(Debug, Default)]
pub(crate) struct BodyParts {
    pub(crate) text: Option<Box<str>>,
    pub(crate) media: Option<Box<Media>>,
    pub(crate) event: Option<Box<str>>,
    pub(crate) data: Option<Value>,
}

/// A reference to media stored elsewhere.
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

impl MessageBody {
    pub(super) fn parse(
        kind: MessageKind,
        text: Option<String>,
        media: Option<Box<wire::Media>>,
        event: Option<String>,
        data: Option<&Value>,
    ) -> Result<Self, InvalidField> {
        if data.is_some() && kind != MessageKind::System {
            return Err(InvalidField::new("data", "is only allowed for messages of kind system"));
        }
        if event.is_some() && kind != MessageKind::System {
            return Err(InvalidField::new("event", "is only allowed for messages of kind system"));
        }
        if media.is_some() && matches!(kind, MessageKind::Text | MessageKind::System) {
            return Err(InvalidField::new(
                "media",
                "is only allowed for messages of kind image, file and voice",
            ));
        }
        let text = text.map(parse_text).transpose()?;
        let media = media.map(|media| Media::parse(*media).map(Box::new)).transpose()?;
        let media_needed = || InvalidField::new("media", "is required for this kind of message");
        Ok(match kind {
            MessageKind::Text => Self::Text(text.ok_or_else(|| InvalidField::new("text", "is required"))?),
            MessageKind::Image => Self::Image { media: media.ok_or_else(media_needed)?, caption: text },
            MessageKind::File => Self::File { media: media.ok_or_else(media_needed)?, caption: text },
            MessageKind::Voice => {
                if text.is_some() {
                    return Err(InvalidField::new("text", "is not allowed for messages of kind voice"));
                }
                let media = media.ok_or_else(media_needed)?;
                if media.duration_ms.is_none() {
                    return Err(InvalidField::new(
                        "media.duration_ms",
                        "is required for messages of kind voice",
                    ));
                }
                Self::Voice { media }
            }
            MessageKind::System => {
                let event = event
                    .ok_or_else(|| InvalidField::new("event", "is required for messages of kind system"))?;
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

    /// The data of an event, as compact JSON.
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
                // The text was serialized from a JSON value.
                let data = data.and_then(|data| serde_json::from_str(&data).ok());
                BodyParts { text, event: Some(event), data, ..none }
            }
            Self::Erased(_) => none,
        }
    }

    /// The body with another text or caption. `None` if the kind has neither.
    pub(crate) fn with_text(&self, text: Box<str>) -> Option<Self> {
        match self {
            Self::Text(_) => Some(Self::Text(text)),
            Self::Image { media, .. } => Some(Self::Image { media: media.clone(), caption: Some(text) }),
            Self::File { media, .. } => Some(Self::File { media: media.clone(), caption: Some(text) }),
            Self::Voice { .. } | Self::System { .. } | Self::Erased(_) => None,
        }
    }

    /// The wire name of the part in which two bodies differ.
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

    /// The size of texts and references, in bytes.
    pub fn size_bytes(&self) -> usize {
        let media = self.media().map_or(0, Media::size_of_reference);
        let event = self.event().map_or(0, str::len) + self.data().map_or(0, str::len);
        self.text().map_or(0, str::len) + event + media
    }

    /// True if the text or caption can be edited.
    pub const fn is_editable(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Image { .. } | Self::File { .. })
    }

    /// The beginning of the text on one line, for lists of conversations.
    pub fn preview(&self) -> Box<str> {
        preview_of(self.text().or_else(|| self.media()?.name.as_deref()).unwrap_or_default())
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

    /// The size of the reference within the message, in bytes.
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

fn parse_event(event: &str) -> Result<Box<str>, InvalidField> {
    let word = |w: &str| !w.is_empty() && w.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    let valid = event.len() <= SYSTEM_EVENT_BYTES_MAX
        && event.strip_prefix("app.").is_some_and(|name| name.split('.').all(word));
    if valid {
        Ok(event.into())
    } else {
        Err(InvalidField::new(
            "event",
            "must be app. followed by words of a-z, 0-9 and _ joined by dots, at most 64 bytes",
        ))
    }
}

fn parse_data(data: &Value) -> Result<Box<str>, InvalidField> {
    if depth(data) > EVENT_DATA_DEPTH_MAX {
        return Err(InvalidField::new(
            "data",
            format!("must be nested at most {EVENT_DATA_DEPTH_MAX} levels deep"),
        ));
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

/// The nesting depth of arrays and objects. The parser of the request has already bounded it.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
