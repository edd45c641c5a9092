use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_and_large_groups_are_measured() {
    let arguments = Arguments { members: vec![10, 502], online: 8, messages: 3 };
    let outcomes = measure(&arguments, Progress::Silent).await.expect("it is measured");
    let [small, large] = &*outcomes else { panic!("{outcomes:?} are not two") };
    assert_eq!((small.online, small.acknowledged.len(), large.arrived.len()), (8, 3, 3));
    assert!(large.rows_per_message < small.rows_per_message + 10.0, "no row for each of 502: {large:?}");
    assert_eq!(table(&outcomes).lines().count(), 3);
}

#[tokio::test]
async fn an_unreachable_member_is_an_error() {
    let arguments = Arguments { members: vec![1], online: 1, messages: 1 };
    assert!(measure(&arguments, Progress::Silent).await.is_err());
}
