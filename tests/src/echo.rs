//! A server that gives back the secret that it was sent, in every place of a response and in every form.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::canary::{SECRET, forms};

/// The server. It ends when it is dropped.
///
/// | path | response |
/// |---|---|
/// | `/all…` | the secret in the reason, in headers' names and values, in the body and in trailers |
/// | `/to/HOST:PORT` | a redirect there, with the secret in its URL |
/// | `/broken` | a head that is none |
/// | `/cut` | less of a body than was announced |
pub struct Echo {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl Echo {
    /// Starts one on a port that is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = seen.clone();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, noted.clone()));
            }
        });
        Self { address, seen, server }
    }

    /// Where it is.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The requests that arrived, byte by byte.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    request.extend_from_slice(&body);
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(String::from_utf8_lossy(&request).into_owned());
    let response = match path.split('/').nth(1).unwrap_or_default() {
        "broken" => format!("HTTP/1.1 200 OK\r\nno header {SECRET}\r\n\r\n").into_bytes(),
        "cut" => format!("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{SECRET}").into_bytes(),
        "to" => {
            let secret = SECRET.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
            let there = path[4..].split('?').next().unwrap_or_default();
            format!("HTTP/1.1 302 Found\r\nlocation: http://{there}/all?key={secret}\r\ncontent-length: 0\r\n\r\n")
                .into()
        }
        _ => everywhere(),
    };
    // Whoever asked may have gone.
    let _ = stream.write_all(&response).await;
    let _ = stream.shutdown().await;
}

/// A response that is full of it. A header has what a header can have.
fn everywhere() -> Vec<u8> {
    let fits = |form: &[u8]| form.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let name = SECRET.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let mut response =
        format!("HTTP/1.1 200 Said {SECRET}\r\ncontent-type: text/plain\r\nx-{name}: 1\r\n").into_bytes();
    for (number, (_, form)) in forms().iter().enumerate().filter(|(_, (_, form))| fits(form)) {
        response.extend([format!("x-form-{number}: ").as_bytes(), form, b"\r\n"].concat());
    }
    response.extend(b"transfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n");
    let mut body = Vec::new();
    for (number, (_, form)) in forms().iter().enumerate() {
        body.extend([format!("form {number} is ").as_bytes(), form, b" there\n"].concat());
    }
    response.extend(format!("{:x}\r\n", body.len()).bytes());
    response.extend([&body, &b"\r\n0\r\n"[..]].concat());
    response.extend(format!("x-sum: {SECRET}\r\nx-{name}: 1\r\n\r\n").bytes());
    response
}
