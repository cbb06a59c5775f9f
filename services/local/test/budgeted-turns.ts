import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { AgentSummary, MessageData } from '@uswarm/contract';
import {
  type ModelServer,
  type ModelServerRequest,
  type ModelStep,
  startModelServer,
  words,
} from '@uswarm/dev-servers';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { runLocalMode } from './local.js';
import { modelSettings } from './model-settings.js';
import { type SeparateOptions, type SeparateServices, startSeparateServices } from './separate.js';

const BUDGET = 1_000;
/** Each model call uses more than a turn's budget. */
const USAGE = { prompt: 900, completion: 200 };
const PLANS = [
  { code: 'free', name: 'Free', token_limit: 1_000_000, workspace_token_limit: 1_000_000, turn_token_limit: BUDGET },
  { code: 'large', name: 'Large', token_limit: 1_000_000, workspace_token_limit: 1_000_000 },
  { code: 'small', name: 'Small', token_limit: 1_050, workspace_token_limit: 1_050, turn_token_limit: 1_000_000 },
];
/** Model calls with a tool call, before the last one. */
const STEPS = 2;

type Card = MessageData & { content: { type: 'action_card' } };

/** Writes the plans to a temporary file. */
function writePlans() {
  const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-plans-'));
  const file = path.join(directory, 'plans.json');
  writeFileSync(file, JSON.stringify(PLANS));
  return { file, remove: () => rmSync(directory, { recursive: true }) };
}

/** Calls a tool in each step; for a user message with a hold point, pauses in the middle of a text instead. */
function scriptOf({ messages }: ModelServerRequest): ModelStep[] {
  const results = messages.filter(({ role }) => role === 'tool').length;
  const text = JSON.stringify(messages.findLast(({ role }) => role === 'user'));
  const hold = /hold-\w+/.exec(text)?.[0];
  if (hold !== undefined) {
    return [...words('one two three '), { hold }, ...words('four five six'), { usage: { prompt: 40, completion: 6 } }];
  }
  const memory = { key: `fact ${results}`, content: `A fact with the number ${results}.` };
  const next: ModelStep =
    results < STEPS ? { toolCalls: [{ name: 'remember', arguments: memory }] } : { text: 'The end.' };
  return [{ text: `Part ${results}. ` }, next, { usage: USAGE }];
}

/** A client's view of a conversation. */
export function viewOf(client: TestClient) {
  const messageOf = ({ payload }: { payload: Record<string, unknown> }) => payload['message'] as MessageData;
  const cards = (): Card[] => {
    const isShown = (name: string): boolean => name === 'message.new' || name === 'message.updated';
    const shown = client.events.filter(({ name }) => isShown(name)).map(messageOf);
    const all = shown.filter(({ content }) => content.type === 'action_card') as Card[];
    return all.filter(({ id }, index) => all.findIndex((card) => card.id === id) === index);
  };
  return {
    cards,
    /** The card with this position in the conversation. */
    async card(count: number): Promise<Card> {
      await client.shown(() => cards().length >= count);
      return cards()[count - 1]!;
    },
    /** Waits for the end of that many replies. @returns the last one */
    async done(count: number): Promise<MessageData> {
      let ids: string[] = [];
      await client.saw('message.done', ({ message_id }: { message_id: string }) => {
        ids = [...new Set([...ids, message_id])];
        return ids.length >= count;
      });
      const updates = client.events.filter(({ name }) => name === 'message.updated').map(messageOf);
      return updates.findLast(({ id }) => id === ids.at(-1))!;
    },
    choose: (card: MessageData, action: string) =>
      client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${card.id}/action`, { action_id: action }),
    async agents(): Promise<AgentSummary[]> {
      const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
      return (body as { data: AgentSummary[] }).data;
    },
    async tokensUsed(): Promise<number> {
      const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/usage`);
      return (body as { data: { tokens_used: number } }).data.tokens_used;
    },
  };
}

export interface Installation {
  model: ModelServer;
  newClient(): Promise<TestClient>;
  close(): Promise<void>;
}

/** @param environment further settings */
export async function withGateway(environment: Record<string, string> = {}): Promise<Installation> {
  const plans = writePlans();
  const model = await startModelServer({ script: scriptOf });
  const local = await runLocalMode({
    ...modelSettings(model),
    PLANS_FILE: plans.file,
    ...environment,
  });
  return {
    model,
    async newClient() {
      const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
      return startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    },
    async close() {
      await local.stop();
      await model.close();
      plans.remove();
    },
  };
}

/** Orchestrator and gateway as separate processes. */
export async function separately(
  options: SeparateOptions,
  environment: Record<string, string> = {},
): Promise<Installation & { services: SeparateServices }> {
  const plans = writePlans();
  const model = await startModelServer({ script: scriptOf });
  const env = { ...modelSettings(model), SUMMARY_WORKERS: '0', PLANS_FILE: plans.file, ...environment };
  const services = await startSeparateServices(env, options);
  return {
    model,
    services,
    async newClient() {
      const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
      return startTestClient({ ...services, token });
    },
    async close() {
      await services.close();
      await model.close();
      plans.remove();
    },
  };
}

export const withoutGateway = () => separately({ modelGateway: false });

export const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');
export const TOKENS_PER_CALL = USAGE.prompt + USAGE.completion;

export const setPlan = (services: SeparateServices, { workspaceId }: TestClient, code: string) =>
  services.query(`UPDATE users SET plan_code = $2 WHERE id = (SELECT owner_id FROM workspaces WHERE id = $1)`, [
    workspaceId,
    code,
  ]);

interface BudgetedTurns<Started extends Installation> {
  installation: Started;
  client: TestClient;
  view: ReturnType<typeof viewOf>;
}

/** One installation for a block of tests, and a client for each test. */
export function useInstallation<Started extends Installation>(start: () => Promise<Started>): BudgetedTurns<Started> {
  const world = {} as BudgetedTurns<Started>;
  beforeAll(async () => {
    world.installation = await start();
  });
  beforeEach(async () => {
    world.client = await world.installation.newClient();
    world.view = viewOf(world.client);
  });
  afterEach(() => world.client?.close());
  afterAll(() => world.installation?.close());
  return world;
}
