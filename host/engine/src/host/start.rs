//! Starting a task: everything that could refuse it is asked before it is taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::new_task::checked;
use super::webhooks::signing_secret;
use super::{Callback, Host, NewTask, Started};
use crate::json::DEPTH;
use crate::limits::LIFE;
use crate::plugin::{Grants, Manifest, NeedKind, Ready};
use crate::policy::{Asker, NAMESPACE_BYTES, Policy, SETTING_BYTES};
use crate::runner::check::accept;
use crate::runner::{Entrant, Full, Lane, Whose, trace};
use crate::store::{self, Inserted, Locality, NewRow};
use crate::task::{RetryPolicy, TaskId};
use crate::{Error, EventKind};

/// Bytes of a session, a key.
const SHORT_TEXT: usize = 4 << 10;

/// Bytes of a caller's context as JSON.
const CONTEXT_BYTES: usize = 64 << 10;

impl Host {
    /// Takes a task. When this returns it is on disk, and outlives the process and the power.
    ///
    /// # Errors
    ///
    /// Whatever would keep the task from being done refuses it here: [`Error::UnknownPlugin`], [`Error::UnknownTool`],
    /// [`Error::Input`], [`Error::MissingGrant`], [`Error::UndeclaredGrant`], [`Error::Secret`], [`Error::Pinned`],
    /// [`Error::OutOfRange`], [`Error::UnknownLimit`],
    /// [`Error::IdempotencyMismatch`], [`Error::QueueFull`], [`Error::Store`]. Nothing is taken then.
    pub async fn start(&self, new: NewTask) -> Result<Started, Error> {
        let runner = self.runner();
        if *runner.stopping.borrow() {
            return Err(Error::ShuttingDown);
        }
        loop {
            if let Some(started) = self.take(&new).await? {
                return Ok(started);
            }
            // What was remembered of the plugins is out of date.
            runner.names().clear();
        }
    }

    /// Takes a task; `None`: the plugin that was meant is another one by now.
    async fn take(&self, new: &NewTask) -> Result<Option<Started>, Error> {
        let runner = self.runner();
        let policy = runner.policy.current();
        let plugin = policy.plugin(&self.namespace, &new.plugin);
        let (digest, remembered) = self.newest(plugin)?;
        let ready = match runner.ready(&digest).await {
            Err(_) if remembered => return Ok(None),
            ready => ready?,
        };
        let row = self.row(new, &ready, &policy).await?;
        let lane = Lane::new(&row.namespace, &row.digest);
        // Until the task stands in line, or is not taken.
        let _room = match runner.admit(&lane) {
            Ok(room) => room,
            Err(full) => {
                // A start that was taken, and is said again, takes no room.
                let existing = self.read(move |runner| runner.store.read(|sql| row.existing(sql))).await?;
                return match existing {
                    Some(id) => Ok(Some(Started { id, existing: true })),
                    None => Err(self.full(full, &ready)),
                };
            }
        };
        let (fresh, wanted) = (row.clone(), plugin.to_owned());
        let inserted = runner.store.write("the task", move |tx| row.insert(tx, &wanted)).await?;
        Ok(match inserted {
            Inserted::Existing { id } => Some(Started { id, existing: true }),
            Inserted::New { n } => {
                let id = fresh.id.clone();
                let entrant = Entrant { task: n, lane, deadline: Some(fresh.deadline) };
                runner.enqueue(entrant, Some(fresh.into_run_row(n)));
                Some(Started { id, existing: false })
            }
            Inserted::Outdated => None,
        })
    }

    fn full(&self, full: Full, ready: &Ready) -> Error {
        let Full { whose, limit, value, retry_after } = full;
        let whose = match whose {
            Whose::Host => "this host".to_owned(),
            Whose::Namespace => format!("namespace `{}`", self.namespace),
            Whose::Plugin => format!("plugin `{}`", ready.manifest.name),
        };
        Error::QueueFull { whose, limit, value, retry_after }
    }

    /// The digest of the newest plugin of that name, or the digest itself; and whether that was only remembered.
    fn newest(&self, plugin: &str) -> Result<(String, bool), Error> {
        if let Some(digest) = self.runner().names().get(plugin) {
            return Ok((digest.clone(), true));
        }
        let found = self.runner().store.read(|sql| store::newest(sql, plugin))?;
        let digest = found.ok_or_else(|| Error::UnknownPlugin(plugin.to_owned()))?;
        self.runner().names().insert(plugin.to_owned(), digest.clone());
        Ok((digest, false))
    }

    async fn row(&self, new: &NewTask, ready: &Arc<Ready>, policy: &Policy) -> Result<NewRow, Error> {
        let runner = self.runner();
        let manifest = &ready.manifest;
        let allowed = runner.limits.of(policy, &self.namespace, &manifest.name)?;
        let limits = allowed.of(new.limits, &new.limit)?;
        let given = new.input.as_ref().map_err(|problem| Error::Input {
            tool: new.tool.clone(),
            problem: format!("it can't be written as JSON: {problem}"),
        })?;
        let input = accept(ready, &new.tool, given, &limits).await?;
        policy.pinned(Some(&self.namespace), &manifest.name, &ready.digest)?;
        let grants = new.grants()?;
        self.granted(new, &grants, ready, policy)?;
        let callback = match &new.callback {
            Some(Callback { url, secret }) => Some(Callback {
                url: self.receiver("the callback's URL", url)?,
                secret: secret.clone().map(signing_secret).transpose()?,
            }),
            None => None,
        };
        if let Some(trace) = &new.traceparent
            && trace::next(trace).is_none()
        {
            let allowed = "it must be as W3C's trace context has it, of version 00".to_owned();
            return Err(Error::OutOfRange {
                what: "traceparent",
                value: format!("`{}`", crate::json::cut(trace)),
                allowed,
            });
        }
        checked(&new.locality)?;
        let context = new.context.to_string();
        within("context", context.len(), CONTEXT_BYTES)?;
        if !crate::json::is_shallow(&new.context) {
            let (value, allowed) = ("nested too deeply".into(), format!("it may have {DEPTH} levels"));
            return Err(Error::OutOfRange { what: "context", value, allowed });
        }
        within("namespace", self.namespace.len(), NAMESPACE_BYTES)?;
        within("session", new.session.as_ref().map_or(0, String::len), SHORT_TEXT)?;
        within("idempotency key", new.key.as_ref().map_or(0, String::len), SHORT_TEXT)?;
        let life = new.deadline.unwrap_or(LIFE);
        if life > LIFE {
            let allowed = format!("a task may live {} days at most", LIFE.as_secs() / 86_400);
            return Err(Error::OutOfRange { what: "deadline", value: format!("{life:?}"), allowed });
        }
        let settings = serde_json::to_string(&new.settings).map_err(|error| Error::Fault(error.to_string()))?;
        let key = new.key.clone().map(|key| {
            let mut request = json!([manifest.name, new.tool, given, new.context, new.session, new.settings]);
            // Without one, the hash is what it was before there were grants.
            if let (Some(request), false) = (request.as_array_mut(), grants.is_empty()) {
                request.push(json!(grants));
            }
            if let (Some(request), Some(callback)) = (request.as_array_mut(), &callback) {
                request.push(json!(callback));
            }
            if let (Some(request), Locality { locale: Some(_), .. } | Locality { time_zone: Some(_), .. }) =
                (request.as_array_mut(), &new.locality)
            {
                request.push(json!({ "locale": new.locality.locale, "timeZone": new.locality.time_zone }));
            }
            (key, Sha256::digest(request.to_string()).into())
        });
        let created_at = runner.clock.now();
        let deadline = created_at.after(life);
        Ok(NewRow {
            id: TaskId::random(created_at),
            namespace: self.namespace.to_string(),
            session: new.session.clone(),
            digest: ready.digest.clone(),
            tool: new.tool.clone(),
            input,
            context,
            settings,
            grants,
            limits,
            retry: new.retry.clone().map(RetryPolicy::checked).transpose()?,
            kin: None,
            key,
            created_at,
            deadline,
            owner: runner.owners.me(),
            callback,
            traceparent: new.traceparent.clone(),
            locality: new.locality.clone(),
            started: EventKind::Started {
                plugin: manifest.name.clone(),
                version: manifest.version.clone(),
                digest: ready.digest.clone(),
                tool: new.tool.clone(),
                deadline,
            },
        })
    }

    /// Whether the plugin has what it cannot do without, and is given nothing that it did not declare.
    fn granted(&self, new: &NewTask, grants: &Grants, ready: &Ready, policy: &Policy) -> Result<(), Error> {
        let manifest = &ready.manifest;
        for (name, value) in &new.settings {
            within("setting", value.len(), SETTING_BYTES)?;
            if !manifest.needs.iter().any(|need| need.kind == NeedKind::Setting && need.name == *name) {
                return Err(Error::UndeclaredSetting { plugin: manifest.name.clone(), name: name.clone() });
            }
        }
        let rights = |manifest: &Manifest, settings: &BTreeMap<String, String>| {
            policy.rights(Asker { manifest, namespace: &self.namespace, grants, settings })
        };
        if !grants.is_empty() {
            grants.declared(
                manifest,
                |manifest| rights(manifest, &BTreeMap::new()).tools,
                |plugin| {
                    let found = self.runner().store.read(|sql| store::find_plugin(sql, plugin))?;
                    Ok(found.map(|row| row.manifest))
                },
            )?;
        }
        rights(manifest, &new.settings).suffice(manifest)
    }
}

pub(super) fn within(what: &'static str, bytes: usize, limit: usize) -> Result<(), Error> {
    if bytes > limit {
        let allowed = format!("it may have {limit}");
        return Err(Error::OutOfRange { what, value: format!("{bytes} bytes long"), allowed });
    }
    Ok(())
}
