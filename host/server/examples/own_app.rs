//! A web application with routes of its own, and Longhaul's API, MCP and inbox beside them: `own_app DATA PLUGIN…`. It says on
//! standard output where it listens and with which token, and stops at Ctrl-C.

use axum::Router;
use axum::routing::get;
use longhaul::{Host, NewToken};
use longhaul_server::{Config, Server};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let Some(data) = args.next() else { return Err("own_app DATA PLUGIN…".into()) };
    let host = Host::builder().data_dir(data).open().await?;
    for plugin in args {
        host.install_file(plugin).await?;
    }
    let token = host.create_token(NewToken::new("agent")).await?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut config = Config::default();
    config.listen = listener.local_addr()?;
    let server = Server::new(host.clone(), config);
    let own = Router::new().route("/hello", get(|| async { "hello from the application" }));
    // Yours come first; whatever else is asked for is Longhaul's.
    let app = own.fallback_service(server.router());

    println!("listening on http://{}", listener.local_addr()?);
    println!("token {}", token.secret);
    let stop = async move {
        let _ = tokio::signal::ctrl_c().await;
        // Streams and long polls end, which axum would wait for.
        server.close();
    };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    host.shutdown().await;
    println!("stopped");
    Ok(())
}
