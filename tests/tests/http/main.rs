//! What guests send, and what comes back: by real guests, over real sockets.

mod misuse;
