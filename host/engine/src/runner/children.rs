//! Starting a child: everything that could refuse it is asked before it is taken, as it is for a task that a caller starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Runner;
use super::check::accept;
use crate::error::remedy;
use crate::limits::{Limit, Limits};
use crate::plugin::{Manifest, NeedKind, Ready};
use crate::policy::Asker;
use crate::sandbox::Refusal;
use crate::store::{self, Kin, NewRow, RunRow};
use crate::task::TaskId;
use crate::{Error, EventKind};

/// The child that a guest asks for.
pub(super) struct Wanted {
    pub handle: u32,
    /// `plugin/tool`, if it is well said.
    pub tool: String,
    pub input: String,
}

impl Runner {
    /// A child of `parent`, ready to be taken; or why there is none.
    pub(super) async fn child(
        self: &Arc<Self>,
        parent: &RunRow,
        manifest: &Manifest,
        wanted: Wanted,
    ) -> Result<Result<NewRow, Refusal>, Error> {
        match self.found(parent, manifest, &wanted).await {
            Ok(Ok((ready, tool, input, limits))) => {
                self.row(parent, &ready, tool, input, limits, wanted.handle).map(Ok)
            }
            Ok(Err(refusal)) => Ok(Err(refusal)),
            Err(error @ Error::Input { .. }) => Ok(Err(Refusal::malformed(error.to_string()))),
            Err(
                error @ (Error::UnknownTool { .. }
                | Error::MissingGrant { .. }
                | Error::Pinned { .. }
                | Error::Plugin(_)),
            ) => Ok(Err(Refusal::refused(error.to_string()))),
            // Where it should be is no guest's business.
            Err(Error::Secret { plugin, name, .. }) => {
                Ok(Err(Refusal::refused(format!("`{plugin}` can't do without secret `{name}`, which is not there"))))
            }
            Err(error) => Err(error),
        }
    }

    async fn found(
        self: &Arc<Self>,
        parent: &RunRow,
        manifest: &Manifest,
        wanted: &Wanted,
    ) -> Result<Result<(Arc<Ready>, String, String, Limits), Refusal>, Error> {
        let refused = |why: String| Ok(Err(Refusal::refused(why)));
        let shown = crate::json::cut(&wanted.tool);
        let Some((plugin, tool)) = wanted.tool.split_once('/') else {
            let why = format!("`{shown}` names no tool: say PLUGIN/TOOL");
            return Ok(Err(Refusal::malformed(why)));
        };
        if !manifest.declares_tool(&wanted.tool) {
            let undeclared = "its manifest has to, under `needs`";
            return refused(format!("`{}` declares no need of tool `{shown}`; {undeclared}", manifest.name));
        }
        if !self.rights(parent, manifest).tools.contains(&wanted.tool) {
            let remedy = remedy(&manifest.name, NeedKind::Tool, &shown);
            return refused(format!("tool `{shown}` was not granted to this task; {remedy}"));
        }
        let limits = &parent.limits;
        if u64::from(parent.depth) >= limits.child_depth {
            let said = limits.said(Limit::child_depth);
            return refused(format!("this task stands as deep below its root as a child may ({said})"));
        }
        if wanted.input.len() as u64 > limits.input {
            let why = format!("the input has {} bytes ({})", wanted.input.len(), limits.said(Limit::input));
            return Ok(Err(Refusal::malformed(why)));
        }
        let input = match crate::json::parse(&wanted.input) {
            Ok(input) => input,
            Err(problem) => return Ok(Err(Refusal::malformed(format!("the input is no JSON: {problem}")))),
        };
        let Some(digest) = self.store.read(|sql| store::newest(sql, plugin))? else {
            return refused(format!("no plugin `{plugin}` is installed"));
        };
        let policy = self.policy.current();
        policy.pinned(Some(&parent.namespace), plugin, &digest)?;
        let ready = self.ready(&digest).await?;
        let own = self.limits.of(&policy, &parent.namespace, plugin)?;
        let limits = limits.min(&own.most);
        let input = accept(&ready, tool, &input, &limits).await?;
        // Settings that came with its parent's start are its parent's own.
        let (namespace, grants, settings) = (&parent.namespace, &parent.grants, &BTreeMap::new());
        policy.rights(Asker { manifest: &ready.manifest, namespace, grants, settings }).suffice(&ready.manifest)?;
        Ok(Ok((ready, tool.to_owned(), input, limits)))
    }

    /// It has what its parent has, but for the settings, and within the limits of its own plugin.
    fn row(
        &self,
        parent: &RunRow,
        ready: &Ready,
        tool: String,
        input: String,
        limits: Limits,
        handle: u32,
    ) -> Result<NewRow, Error> {
        let created_at = self.clock.now();
        let manifest = &ready.manifest;
        let lease = parent.lease.ok_or_else(|| Error::Fault("a task runs that nobody owns".into()))?;
        Ok(NewRow {
            id: TaskId::random(created_at),
            namespace: parent.namespace.clone(),
            session: parent.session.clone(),
            digest: ready.digest.clone(),
            tool: tool.clone(),
            input,
            context: parent.context.clone(),
            settings: "{}".into(),
            grants: parent.grants.clone(),
            limits,
            retry: None,
            kin: Some(Kin { parent: parent.n, root: parent.root, handle, depth: parent.depth + 1 }),
            key: None,
            created_at,
            deadline: parent.deadline,
            owner: lease.owner,
            callback: None,
            traceparent: parent.traceparent.clone(),
            locality: parent.locality.clone(),
            started: EventKind::Started {
                plugin: manifest.name.clone(),
                version: manifest.version.clone(),
                digest: ready.digest.clone(),
                tool,
                deadline: parent.deadline,
            },
        })
    }
}
