import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageData } from '@uswarm/contract';
import { userSwarmName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import { signedHeaders, openEdgeClient, openIssuer, type EdgeClient } from './edge-client.js';
import type { Session } from './session.js';
import { waitForEdge } from './changed-release.js';

export interface TestUser {
  token: string;
  workspaceId: string;
  conversationId: string;
  /** The workspace's UserSwarm. */
  swarm: string;
  /** Milliseconds since the epoch. */
  signedUpAt: number;
}

/** Creates users who use the API through the edge, with REST only. */
export interface TestUsers {
  signUp(): Promise<TestUser>;
  /** @returns the answer's status. */
  send(user: TestUser, text: string): Promise<number>;
  /** Deletes the account. @throws Error when the deletion does not succeed within a minute */
  deleteAccount(user: TestUser): Promise<unknown>;
  /** The conversation's newest messages. */
  messages(user: TestUser): Promise<MessageData[]>;
}

type Json = Record<string, never>;

export async function openTestUsers(session: Session): Promise<TestUsers> {
  const { api, onClose, settings, tools } = session;
  const issuer = await openIssuer(tools);
  onClose(() => issuer.close());
  await waitForEdge(session);
  const edge: EdgeClient = await openEdgeClient(api, settings);
  onClose(() => edge.close());
  const credentials = new Map<string, () => Record<string, string>>();

  const call = async (token: string, method: string, path: string, body?: object): Promise<[number, Json]> => {
    const sign = credentials.get(token) ?? (await signedHeaders(api, token));
    credentials.set(token, sign);
    const answer = await edge.fetch(`${edge.url}${path}`, {
      method,
      headers: { ...sign(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return [answer.status, (text.startsWith('{') ? JSON.parse(text) : {}) as Json];
  };
  const first = async (token: string, path: string): Promise<string> => {
    const [status, { data }] = await call(token, 'GET', path);
    const [entry] = (data ?? []) as { id: string }[];
    if (entry === undefined) throw new Error(`${path} returned ${status} and no entries`);
    return entry.id;
  };
  const messages = ({ workspaceId, conversationId }: TestUser): string =>
    `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;

  return {
    async signUp() {
      const token = await issuer.issue(`${randomUUID()}@example.com`);
      const [status] = await call(token, 'POST', '/v1/auth/sign-up');
      const signedUpAt = Date.now();
      if (status >= 300) throw new Error(`the sign-up returned ${status}`);
      const workspaceId = await first(token, '/v1/workspaces');
      const conversationId = await first(token, `/v1/workspaces/${workspaceId}/conversations`);
      return { token, workspaceId, conversationId, swarm: userSwarmName(workspaceId), signedUpAt };
    },
    async send(user, text) {
      const content = { content: { type: 'text', text }, mentions: [], attachments: [] };
      const [status] = await call(user.token, 'POST', messages(user), content);
      return status;
    },
    deleteAccount: ({ token }) =>
      eventually(
        async () => {
          const [status] = await call(token, 'DELETE', '/v1/auth/delete');
          if (status >= 500) throw new Error(`the deletion returned ${status}`);
          return status;
        },
        { description: 'the account is deleted', timeoutMs: 60_000 },
      ),
    async messages(user) {
      const [, { data }] = await call(user.token, 'GET', messages(user));
      return (data ?? []) as MessageData[];
    },
  };
}

/** Repeats `work` until `stop` is called, and ignores failures. `ended` resolves after the last run. */
export function keepBusy(work: () => Promise<unknown>, everyMs: number): { stop(): void; ended: Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const ended = (async () => {
    while (!signal.aborted) {
      await work().catch(() => undefined);
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  })();
  // A request to a deleted backend may hang at the edge for a minute, so `stop` does not wait for it.
  return { stop: () => stopping.abort(), ended };
}
