//! Messages to receivers that belong to different tenants.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use longhaul::{Host, NewTask};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::common::{Guest, eventually};

/// A receiver that takes what it is sent, says so on the channel, and answers only if it is to.
async fn receiver(answers: bool, got: mpsc::UnboundedSender<()>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            if answers {
                let _ = stream.read(&mut [0; 1]).await;
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await;
                let _ = got.send(());
            }
            open.push(stream);
        }
    });
    (url, connections)
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_8_a_tenant_whose_receivers_are_silent_does_not_keep_messages_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::builder().data_dir(dir.path()).webhooks_to_private(true).open().await.unwrap();
    let plugin = host.install(Guest::new("").build()).await.unwrap().digest;
    let start = async |host: &Host, url: String| {
        let new = NewTask::new(&plugin, "run").callback(url, None);
        host.start(new).await.unwrap();
    };
    let (send, mut got) = mpsc::unbounded_channel();
    let (loud, quiet) = (host.namespace("loud"), host.namespace("quiet"));
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(receiver(false, send.clone()).await);
    }
    // More than are ever on their way, each to another path.
    for number in 0..5 {
        for (url, _) in &silent {
            start(&loud, format!("{url}/{number}")).await;
        }
    }
    let connected = || silent.iter().map(|(_, connections)| connections.load(Ordering::Relaxed)).sum::<usize>();
    eventually(async || (connected() >= 16).then_some(())).await;
    let (url, _) = receiver(true, send).await;
    for number in 0..8 {
        start(&quiet, format!("{url}/{number}")).await;
        // Sooner than a silent receiver is given up.
        tokio::time::timeout(Duration::from_secs(15), got.recv()).await.unwrap().unwrap();
    }
    assert_eq!(connected(), 16);
    assert!(silent.iter().all(|(_, connections)| connections.load(Ordering::Relaxed) <= 4));
}
