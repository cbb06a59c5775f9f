import { randomBytes, randomUUID } from 'node:crypto';
import type { AgentSummary, MessageData } from '@uswarm/contract';
import {
  type GoogleServer,
  type ModelScript,
  type ModelServer,
  type ModelStep,
  type OAuthServer,
  startModelServer,
} from '@uswarm/dev-servers';
import { type App, type ConnectedApps, startConnectedApps } from '@uswarm/testkit/connected-apps';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from './model-settings.js';
import type { SeparateServices } from './separate.js';

/** A tool call that the model makes when the last user message contains the word. */
export interface WordedCall {
  name: string;
  arguments: object;
}

export interface AppServers {
  model: ModelServer;
  oauth: OAuthServer;
  google: GoogleServer;
  connect: ConnectedApps['connect'];
  /** What the model was told about each call, in order. */
  results: string[];
  /** Settings for an orchestrator that uses these servers. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/**
 * A model that makes one call, or several, when a message asks for them, and then answers `Done.`; the servers for the
 * apps that the user can connect.
 *
 * @param callsFor the calls for a user message; none for a message that is answered with `Hello.`
 * @param stepsFor how the calls are streamed. Default: as one step
 * @param script answers from a model that does something else
 */
export async function startAppServers(
  callsFor: (message: string) => readonly WordedCall[],
  stepsFor: (calls: readonly WordedCall[], message: string) => readonly ModelStep[] = (toolCalls) => [{ toolCalls }],
  script?: ModelScript,
): Promise<AppServers> {
  const results: string[] = [];
  const apps = await startConnectedApps();
  const model = await startModelServer({
    script:
      script ??
      (({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === 'tool') {
          results.push(JSON.stringify(last.content));
          return [{ text: 'Done.' }];
        }
        const message = JSON.stringify(last);
        const calls = callsFor(message);
        return calls.length === 0 ? [{ text: 'Hello.' }] : stepsFor(calls, message);
      }),
  });
  return {
    model,
    oauth: apps.oauth,
    google: apps.google,
    connect: apps.connect,
    results,
    env: {
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
      WORK_LEASE_MS: '3000',
      INTEGRATION_PROVIDERS: apps.providers,
      INTEGRATION_TOKEN_KEYS: `test:${randomBytes(32).toString('base64')}`,
    },
    async close() {
      await apps.close();
      await model.close();
    },
  };
}

/** A call's card. */
export type Card = MessageData & { content: { type: 'action_card' } };

/** A user of apps. */
export interface AppUser extends TestClient {
  token: string;
  connect(app: App): Promise<void>;
  /** Sets whether calls to a catalogue tool need an approval, for all agents. */
  permit(tool: string, permission: 'allow' | 'ask'): Promise<void>;
  /** Card for the first call that needs an approval. */
  card(): Promise<Card>;
  choose(card: Pick<MessageData, 'id'>, action: 'approve' | 'deny'): Promise<{ status: number; body: never }>;
  /** Resolves when that many replies have ended. @returns the last one's id */
  replies(count: number): Promise<string>;
  /** Resolves when the answer after the calls has ended. */
  answered(): Promise<unknown>;
  textOf(messageId: string): string | undefined;
}

export async function startAppUser(
  services: SeparateServices,
  { connect }: Pick<AppServers, 'connect'>,
): Promise<AppUser> {
  const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
  const client = await startTestClient({ ...services, token });
  const messageOf = ({ payload }: { payload: Record<string, unknown> }) => payload['message'] as MessageData;
  const updates = () => client.events.filter(({ name }) => name === 'message.updated').map(messageOf);
  return {
    ...client,
    token,

    connect: (app) => connect(client.api, app),

    async permit(tool, permission) {
      const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
      for (const { id } of (body as { data: AgentSummary[] }).data)
        await client.api('PATCH', `/v1/agents/${id}/tools/${tool}`, { permission });
    },

    card: async () => (await client.shown(({ content }) => content.type === 'action_card')) as Card,

    choose: ({ id }, action) =>
      client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${id}/action`, { action_id: action }),

    async replies(count) {
      const ids = new Set<string>();
      await client.saw('message.done', ({ message_id: id }: { message_id: string }) => ids.add(id).size >= count);
      return [...ids].at(-1)!;
    },

    answered: () =>
      client.saw(
        'message.updated',
        ({ message: { content } }: { message: MessageData }) =>
          content.type === 'text' && content.text.endsWith('Done.'),
      ),

    textOf(messageId) {
      const content = updates().findLast(({ id }) => id === messageId)?.content;
      return content?.type === 'text' ? content.text : undefined;
    },
  };
}
