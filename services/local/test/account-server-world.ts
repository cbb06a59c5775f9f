import { randomBytes } from 'node:crypto';
import { afterAll } from '@jest/globals';
import type { OAuthConfiguration } from '@uswarm/contract';
import { type AccountServer, consentTo, type ServerCallback, startAccountServer } from '@uswarm/testkit/account-server';
import { eventually } from '@uswarm/testkit/eventually';
import { type ToolServerWorld, useToolServer } from './tool-server-world.js';

const REDIRECT = 'https://app.example.com/callback';

/** A tool server to which users connect accounts. */
export interface AccountServerWorld extends ToolServerWorld {
  accounts: AccountServer;
  /** Gives the user's consent. @returns what the browser brings back */
  consent(configuration: OAuthConfiguration): ServerCallback;
  complete(callback: ServerCallback): Promise<{ status: number; body: unknown }>;
  connect(): Promise<{ configuration: OAuthConfiguration }>;
  /** Waits until the manager has that many tools of the server. */
  untilTools(count: number): Promise<void>;
  /** Waits until no token is valid. */
  untilRevoked(): Promise<void>;
  /** Ends the access tokens, not the refresh tokens. */
  expireTokens(): void;
}

/** Call it within `describe`. */
export function useAccountServer(): AccountServerWorld {
  const world = useToolServer(
    async (before) => {
      world.accounts = await startAccountServer({ serve: () => before.tracker.create(), needsResource: true });
      return { url: world.accounts.url, auth: { type: 'oauth', redirect_urls: [REDIRECT] }, trust_hints: true };
    },
    { INTEGRATION_TOKEN_KEYS: `test:${randomBytes(32).toString('base64')}` },
  ) as AccountServerWorld;
  afterAll(() => world.accounts?.close());

  const own = () => world.accounts.tokens.filter(({ grant }) => grant.account === world.client.workspaceId);

  return Object.assign(world, {
    consent: (configuration: OAuthConfiguration) =>
      consentTo(world.accounts, configuration, { account: world.client.workspaceId }),

    complete: (callback: ServerCallback) => world.client.api('POST', '/v1/tool-servers/tracker/callback', callback),

    async connect() {
      const { status, body } = await world.client.api('POST', '/v1/tool-servers/tracker/connect');
      if (status !== 200) throw new Error(`connect was answered with ${status}: ${JSON.stringify(body)}`);
      const { data: configuration } = body as { data: OAuthConfiguration };
      const completed = await world.complete(world.consent(configuration));
      if (completed.status !== 204) throw new Error(`the callback was answered with ${JSON.stringify(completed)}`);
      return { configuration };
    },

    async untilTools(count: number) {
      const listed = async () => (await world.tools()).filter(({ name }) => name.startsWith('tracker__')).length;
      await eventually(listed, { until: (found) => found === count });
    },

    async untilRevoked() {
      const valid = () => own().filter(({ grant }) => !grant.revoked).length;
      await eventually(valid, { until: (left) => left === 0 });
    },

    expireTokens() {
      for (const token of own()) Object.assign(token, { expiresAtMs: 0 });
    },
  });
}
