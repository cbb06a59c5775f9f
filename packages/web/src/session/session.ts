import { createClient, UswarmError, type Client } from '@uswarm/client';
import { indexedDb } from '@uswarm/client/indexed-db';
import { createRecorder, type Recorder } from './recorder.js';
import type { Configuration } from './configuration.js';
import { createOpenCards, type OpenCards } from './open-cards.js';
import { forgetSignIn, refreshTokens, type Tokens } from './sign-in.js';

export interface Session {
  configuration: Configuration;
  client: Client;
  /** From all workspaces. */
  openCards: OpenCards;
  /** For the developer drawer. */
  recorder: Recorder;
  user: { name: string; email: string };
  signOut(): Promise<void>;
}

/** Identifies the browser, also across sessions. */
function deviceId(): string {
  const id = localStorage.getItem('uswarm.device') ?? crypto.randomUUID();
  localStorage.setItem('uswarm.device', id);
  return id;
}

/** A user session: its client caches data in the browser, and keeps tokens in memory. */
export function createSession(configuration: Configuration, given: Tokens): Session {
  let tokens = given;
  let renewing: Promise<Tokens> | undefined;
  async function token({ refresh }: { refresh: boolean }): Promise<string> {
    if (!refresh) return tokens.idToken;
    renewing ??= refreshTokens(configuration, tokens)
      .catch(() => {
        throw new UswarmError('token_expired', 'The session has expired.', 401);
      })
      .finally(() => (renewing = undefined));
    tokens = await renewing;
    return tokens.idToken;
  }
  const recorder = createRecorder(globalThis.fetch.bind(globalThis));
  const client = createClient({
    url: location.origin,
    token,
    store: indexedDb(`uswarm ${given.subject}`),
    device: { id: deviceId(), info: 'web' },
    fetch: recorder.fetch,
  });
  client.on('*', recorder.event);
  return {
    configuration,
    client,
    openCards: createOpenCards(client),
    recorder,
    user: { name: given.name, email: given.email },
    async signOut() {
      // Otherwise the service would accept the token until it expires.
      await client.api.post('/v1/auth/logout').catch(() => undefined);
      await client.signOut();
      forgetSignIn();
      location.assign('/');
    },
  };
}
