// Signing in with a token.

import { useState } from "preact/hooks";
import { Wrong } from "./bits";
import { online, refusal, signIn } from "./state";

export function SignIn() {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  return (
    <main class="sign-in" tabIndex={-1}>
      <h1>Longhaul</h1>
      <p>Sign in to answer questions and to look after tasks.</p>
      <Wrong text={refusal.value} />
      {!online.value && <p class="notice" role="status">The server cannot be reached; trying again…</p>}
      <form onSubmit={async (event) => { event.preventDefault(); setBusy(true); await signIn(token.trim()); setBusy(false); }}>
        <div class="field">
          <label for="token">Token</label>
          <input id="token" type="password" autocomplete="off" spellcheck={false} required value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </div>
        <div class="buttons"><button type="submit" class="primary" disabled={busy || !token.trim()}>Sign in</button></div>
      </form>
      <p class="quiet"><code>longhaul serve</code> prints a link that signs you in; <code>longhaul token create NAME</code> makes a token. It stays in this tab, until you close it.</p>
    </main>
  );
}
