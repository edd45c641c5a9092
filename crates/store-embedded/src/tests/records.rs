//! The disk format: it does not change unnoticed, it is compact, and a corrupt row is an error.

use godwit_domain::ports::StoreError;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::keys;
use crate::records::{
    AccountEntryRecord, AccountHeadRecord, ChunkReader, ConversationRecord, CursorRecord, DetailsRecord,
    DeviceRecord, HeadRecord, HotListRecord, ListingRecord, LocationRecord, MemberRecord, MessageStateRecord,
    ReactionRecord, Record, RoundRecord, ScheduledRecord, StarRecord, TransferRecord, UserRecord,
};

#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Sample(u32, String);

impl Record for Sample {
    const TABLE: &'static str = "samples";
    const VERSION: u8 = 3;
}

#[test]
fn a_broken_record_names_its_table_and_key_and_not_its_content() {
    let good = Sample(7, "secret".into()).encode();
    assert_eq!(Sample::decode(b"k", &good).unwrap(), Sample(7, "secret".into()));
    let too_long = [&good[..], b"x"].concat();
    let newer = [&[4], &good[1..]].concat();
    for broken in [&[][..], &good[..good.len() - 1], &too_long, &newer] {
        let error = Sample::decode(b"\x01k", broken).unwrap_err();
        let StoreError::Corrupt { table, key, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*table, &**key), ("samples", "016b"));
        assert!(!error.to_string().contains("secret"));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let bytes = [&[1], &bytes[..]].concat();
        let _ = UserRecord::decode(b"", &bytes);
        let _ = DeviceRecord::decode(b"", &bytes);
        let _ = AccountEntryRecord::decode(b"", &bytes);
        let _ = AccountHeadRecord::decode(b"", &bytes);
        let _ = ConversationRecord::decode(b"", &bytes);
        let _ = HeadRecord::decode(b"", &bytes);
        let _ = DetailsRecord::decode(b"", &bytes);
        let _ = MemberRecord::decode(b"", &bytes);
        let _ = CursorRecord::decode(b"", &bytes);
        let _ = ListingRecord::decode(b"", &bytes);
        let _ = HotListRecord::decode(b"", &bytes);
        let _ = ChunkReader::new(&[0; 8], &bytes, true).map(Iterator::count);
        let _ = LocationRecord::decode(b"", &bytes);
        let _ = MessageStateRecord::decode(b"", &bytes);
        let _ = ReactionRecord::decode(b"", &bytes);
        let _ = StarRecord::decode(b"", &bytes);
        let _ = ScheduledRecord::decode(b"", &bytes);
        let _ = TransferRecord::decode(b"", &bytes);
        let _ = RoundRecord::decode(b"", &bytes);
        prop_assert!(keys::display(&bytes).len() == bytes.len() * 2);
    }
}
