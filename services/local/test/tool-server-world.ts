import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { AgentSummary, AgentTool, MessageData } from '@uswarm/contract';
import { type ModelServer, type ModelStep, startModelServer, textOf } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { ADMIN_KEY } from './admin-call.js';
import type { Card } from './app-servers.js';
import { modelSettings } from './model-settings.js';
import { type Killed, type SeparateServices, startSeparateServices } from './separate.js';
import { CREATE_ISSUE, LIST_ISSUES, startTrackerServer, type TrackerServer } from '@uswarm/testkit/tracker-server';

/** A call as the model received it. */
export interface ModelCall {
  prompt: string;
  results: string[];
  /** Offered tool names. */
  tools: string[];
  definitions: object[];
  /** The whole prompt, as JSON. */
  messages: string;
  /** Images in all messages, as data URLs. */
  images: string[];
}

const DATA_URL = /data:image\/[a-z]+;base64,[A-Za-z0-9+/=]+/g;

/** An orchestrator with a tool server, and a new user for each test. */
export interface ToolServerWorld {
  tracker: TrackerServer;
  model: ModelServer;
  services: SeparateServices;
  client: TestClient;
  /** File with the server's token. */
  secret: string;
  behave: (call: ModelCall) => ModelStep[];
  calls: ModelCall[];
  /** Replaces the user. */
  newUser(): Promise<void>;
  card(): Promise<Card>;
  choose(card: Pick<MessageData, 'id'>, action: 'approve' | 'deny'): Promise<void>;
  /** Approves a call of `create_issue`, and kills a process after it has arrived. Returns when the outcome is told. */
  killAfterCall(killed: Killed): Promise<void>;
  /** Waits for a delivered answer with this text. */
  answer(text: string): Promise<MessageData>;
  /** The manager's tools. */
  tools(): Promise<AgentTool[]>;
  managerId(): Promise<string>;
  receipts(): Promise<{ tool: string; status: string }[]>;
  /** Waits until the stored tools have this state. */
  untilListed(state: { changed?: string[]; missing?: string[]; all: number }): Promise<void>;
}

const UNKNOWN = 'It is not known whether this call was executed';

/** A result without the tags around content from others. */
const written = (result: string): string => result.replaceAll(/<\/?untrusted[^>]*>\n?/g, '');

/** Call it within `describe`. @param server overrides in the file */
export function useToolServer(
  server: object | ((world: ToolServerWorld) => Promise<object>) = {},
  environment: Record<string, string> = {},
): ToolServerWorld {
  const world = {} as ToolServerWorld;
  let folder = '';

  beforeAll(async () => {
    world.tracker = await startTrackerServer();
    folder = await mkdtemp(join(tmpdir(), 'uswarm-tool-servers-'));
    const file = join(folder, 'tool-servers.json');
    world.secret = join(folder, 'tracker');
    await writeFile(world.secret, 'token-1\n');
    const overrides = typeof server === 'function' ? await server(world) : server;
    const tracker = { id: 'tracker', name: 'Tracker', url: world.tracker.url, ...overrides };
    await writeFile(file, JSON.stringify({ servers: [tracker] }));
    world.model = await startModelServer({
      script: ({ messages, tools }) => {
        const prompt = textOf(messages.findLast(({ role }) => role === 'user')!.content);
        const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => written(textOf(content)));
        const call = {
          prompt,
          results,
          tools: (tools ?? []).map(({ function: { name } }) => name),
          definitions: tools ?? [],
          messages: JSON.stringify(messages),
          images: JSON.stringify(messages).match(DATA_URL) ?? [],
        };
        world.calls.push(call);
        return world.behave(call);
      },
    });
    world.services = await startSeparateServices({
      ...modelSettings(world.model),
      SUMMARY_WORKERS: '0',
      WORK_LEASE_MS: '3000',
      TOOL_SERVERS_FILE: file,
      TOOL_SERVER_SECRETS: folder,
      ADMIN_API_KEY: ADMIN_KEY,
      ...environment,
    });
  });
  beforeEach(async () => {
    world.calls = [];
    Object.assign(world.tracker, {
      tools: [CREATE_ISSUE, LIST_ISSUES],
      issues: [],
      calls: [],
      results: [],
      refusals: [],
    });
    await world.newUser();
  });
  afterAll(async () => {
    world.client?.close();
    await world.services?.close();
    await world.model?.close();
    await world.tracker?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function get<Data>(path: string): Promise<Data> {
    return ((await world.client.api('GET', path)).body as { data: Data }).data;
  }

  interface Row {
    [column: string]: unknown;
    name: string;
    changed: boolean;
    is_listed: boolean;
  }

  return Object.assign(world, {
    async newUser() {
      world.client?.close();
      const token = await world.services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
      world.client = await startTestClient({ ...world.services, token, eventDeadlineMs: 30_000 });
    },

    card: async () => (await world.client.shown(({ content }) => content.type === 'action_card')) as Card,

    async choose({ id }: Pick<MessageData, 'id'>, action: 'approve' | 'deny') {
      const path = `/v1/workspaces/${world.client.workspaceId}/messages/${id}/action`;
      const { status } = await world.client.api('POST', path, { action_id: action });
      if (status !== 200) throw new Error(`the choice was answered with ${status}`);
    },

    async killAfterCall(killed: Killed) {
      const release = world.tracker.holdAnswers();
      const create = [{ toolCalls: [{ name: 'tracker__create_issue', arguments: { title: 'Door' } }] }];
      world.behave = ({ results }) => (results.length === 0 ? create : [{ text: `Result: ${results[0]}` }]);
      await world.client.send('File an issue');
      await world.choose(await world.card(), 'approve');
      await world.tracker.arrived(1);
      await world.services.kill(killed, world.client.workspaceId);
      await world.services.recover(killed);
      if (killed === 'the runtime') release();
      await world.answer(killed === 'the runtime' ? 'Result: Created the issue 1.' : `Result: ${UNKNOWN}`);
      release();
    },

    answer: (text: string) =>
      world.client.shown(
        ({ content, extended_status: status }) =>
          content.type === 'text' && content.text.includes(text) && status === 'delivered',
      ),

    async managerId() {
      const agents = await get<AgentSummary[]>(`/v1/workspaces/${world.client.workspaceId}/agents`);
      return agents.find(({ role }) => role === 'manager')?.id ?? agents[0]!.id;
    },

    tools: async () => get<AgentTool[]>(`/v1/agents/${await world.managerId()}/tools`),

    receipts: () =>
      world.services.query<{ tool: string; status: string }>(
        'SELECT tool, status FROM receipts WHERE workspace_id = $1 ORDER BY id',
        [world.client.workspaceId],
      ),

    async untilListed({ changed = [], missing = [], all }: { changed?: string[]; missing?: string[]; all: number }) {
      const stored = 'SELECT name, changed IS NOT NULL AS changed, is_listed FROM tool_definitions ORDER BY name';
      const names = (rows: readonly Row[], fits: (row: Row) => boolean): string =>
        rows
          .filter(fits)
          .map(({ name }) => name)
          .join();
      await eventually(() => world.services.query<Row>(stored), {
        until: (rows) =>
          rows.length === all &&
          names(rows, (row) => row.changed) === changed.join() &&
          names(rows, (row) => !row.is_listed) === missing.join(),
      });
    },
  } satisfies Partial<ToolServerWorld>);
}
