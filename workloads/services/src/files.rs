//! `service serve files`: the file server on user-level threads, until the user presses Ctrl-C.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use services::file_server::FileServer;

use super::{HOST_FAILED, announce, on_interrupt};

#[derive(Args)]
pub(super) struct Files {
    /// Directory whose files are served
    #[arg(long, value_name = "DIRECTORY")]
    root: PathBuf,
    /// Port on 127.0.0.1; 0 takes any free port
    #[arg(long, default_value_t = 8000)]
    port: u16,
}

/// Serves until the first signal to end; the address is the first line of standard output.
pub(super) fn serve(arguments: &Files) -> ExitCode {
    let server = match FileServer::bind(&arguments.root, arguments.port) {
        Ok(server) => server,
        Err(refusal) => {
            eprintln!("error: {refusal}");
            return ExitCode::from(2);
        }
    };
    let stop = server.stop_handle();
    on_interrupt(move || stop.stop());
    let outcome = server.address().and_then(|address| {
        announce(&format!("http://{address}/"));
        eprintln!(
            "serving {}; Ctrl-C ends it, a second one at once",
            arguments.root.display()
        );
        server.run()
    });
    match outcome {
        Ok(connections) => {
            eprintln!("{connections} connections answered");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: the file server cannot go on: {error}");
            ExitCode::from(HOST_FAILED)
        }
    }
}
