//! Tokens: who may speak to a server on this data, for which namespace, and to do what.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use super::Host;
use crate::{Error, Timestamp, store};

/// Bytes of a token's name.
const NAME_BYTES: usize = 256;

/// What every token begins with, so that scanners for leaked secrets know one.
const PREFIX: &str = "lh_";

/// What the holder of a [`Token`] may do, in its namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Start, see, stop and remove tasks.
    Tasks,
    /// See questions with the tasks that ask them, and answer: nothing else of a task.
    Answer,
    /// Install and remove plugins, which are common to all namespaces; set up webhooks; read the host's numbers.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tasks, Self::Answer, Self::Admin];

    /// The name used in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Answer => "answer",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == s);
        found.ok_or_else(|| format!("`{s}` is no scope; there are: tasks, answer, admin"))
    }
}

/// A token to make, for the namespace of the [`Host`] that makes it.
///
/// ```
/// use longhaul::{NewToken, Scope};
/// use std::time::Duration;
///
/// let token = NewToken::new("ci").scopes([Scope::Tasks]).expires_in(Duration::from_secs(3_600));
/// ```
#[derive(Debug, Clone)]
pub struct NewToken {
    name: String,
    scopes: BTreeSet<Scope>,
    expires_in: Option<Duration>,
}

impl NewToken {
    /// One of that name, for people to know it by: 256 bytes at most. It may start tasks and answer, and does not expire.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), scopes: [Scope::Tasks, Scope::Answer].into(), expires_in: None }
    }

    /// What its holder may do.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.scopes = scopes.into_iter().collect();
        self
    }

    /// How long it is good for, from now.
    #[must_use]
    pub fn expires_in(mut self, time: Duration) -> Self {
        self.expires_in = Some(time);
        self
    }
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Token {
    /// What it is revoked by. No secret: it is a part of the token that may be shown.
    pub id: String,
    /// The tenant that its holder acts for.
    pub namespace: String,
    /// What its holder may do.
    pub scopes: BTreeSet<Scope>,
    /// For people to know it by.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is good no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A token that was just made.
#[derive(Clone)]
pub struct IssuedToken {
    /// What is kept of it.
    pub token: Token,
    /// The token itself, to be given to its holder. It can't be had again: only a hash is kept.
    pub secret: String,
}

impl fmt::Debug for IssuedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedToken").field("token", &self.token).finish_non_exhaustive()
    }
}

impl Host {
    /// Makes a token for this host's namespace.
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host) -> Result<(), longhaul::Error> {
    /// use longhaul::NewToken;
    /// let issued = host.namespace("team-a").create_token(NewToken::new("ci")).await?;
    /// assert_eq!(host.authenticate(&issued.secret)?, Some(issued.token));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the name or the namespace is empty or too long, or there is no scope.
    pub async fn create_token(&self, new: NewToken) -> Result<IssuedToken, Error> {
        for (what, text) in [("the name of the token", new.name.as_str()), ("namespace", &self.namespace)] {
            if text.is_empty() || text.len() > NAME_BYTES {
                let allowed = format!("it must have 1 to {NAME_BYTES}");
                return Err(Error::OutOfRange { what, value: format!("{} bytes long", text.len()), allowed });
            }
        }
        if new.scopes.is_empty() {
            let allowed = "give one of: tasks, answer, admin".to_owned();
            return Err(Error::OutOfRange { what: "the list of scopes", value: "empty".into(), allowed });
        }
        let (id, key): ([u8; 6], [u8; 32]) = (random()?, random()?);
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("{PREFIX}{id}_{}", URL_SAFE_NO_PAD.encode(key));
        let now = self.runner().clock.now();
        let token = Token {
            id,
            namespace: self.namespace.to_string(),
            scopes: new.scopes,
            name: new.name,
            created_at: now,
            expires_at: new.expires_in.map(|time| now.after(time)),
        };
        let (kept, hash) = (token.clone(), hash(&secret));
        self.runner()
            .store
            .write("the token", move |tx| Ok::<_, Error>(store::insert_token(tx, &kept, &hash)?))
            .await?;
        Ok(IssuedToken { token, secret })
    }

    /// The tokens of all namespaces, expired ones too, the oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn tokens(&self) -> Result<Vec<Token>, Error> {
        self.read(|runner| Ok(runner.store.read(store::tokens)?)).await
    }

    /// Revokes the token of that id, of whatever namespace: from now on nobody is let in by it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownToken`].
    pub async fn revoke_token(&self, id: &str) -> Result<Token, Error> {
        let id = id.to_owned();
        self.runner()
            .store
            .write("the revocation", move |tx| {
                let found = store::token(tx.sql, &id)?;
                let (token, _) = found.ok_or_else(|| Error::UnknownToken(id.clone()))?;
                store::remove_token(tx, &id)?;
                Ok(token)
            })
            .await
    }

    /// Whose token this is. `None`: nobody's, or one that has expired or was revoked; which, is not told. What is compared is
    /// compared in constant time.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn authenticate(&self, secret: &str) -> Result<Option<Token>, Error> {
        let id = secret.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).map(|(id, _)| id);
        let Some(id) = id else { return Ok(None) };
        let found = self.runner().store.read(|sql| store::token(sql, id))?;
        let Some((token, kept)) = found else { return Ok(None) };
        let same = bool::from(hash(secret).ct_eq(&kept));
        let now = self.runner().clock.now();
        let expired = token.expires_at.is_some_and(|at| at <= now);
        Ok((same && !expired).then_some(token))
    }
}

/// Fast on purpose: the secret has 256 random bits, so nobody can try them all.
fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::Fault(format!("the system has no random numbers: {error}")))?;
    Ok(bytes)
}
