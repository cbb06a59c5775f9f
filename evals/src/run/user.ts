import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentSummary, Conversation, MessageData } from '@uswarm/contract';
import type { GoogleAccount } from '@uswarm/dev-servers';
import { type Api, developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { scriptedName } from '../model/scripted-model.js';
import { HarnessError } from '../stack/local-program.js';
import type { Stack } from '../stack/stack.js';
import type { Task, WorldEvent } from '../tasks/task.js';
import { insertHistory } from '../world/history.js';
import type { SearchableWeb } from '../world/search-tools.js';

/** A new user with a workspace, in a task's world. */
export interface TaskUser {
  client: TestClient;
  agents: ReadonlyMap<string, AgentSummary>;
  google: GoogleAccount;
  web: SearchableWeb;
  /** Returns a successful response's body. @throws HarnessError */
  get<Body>(path: string): Promise<Body>;
  must(method: string, path: string, body?: unknown): Promise<unknown>;
  permit(permissions: Record<string, string>): Promise<void>;
  conversations(): Promise<Conversation[]>;
  /** The id of the conversation with this title, which is created if it does not exist. */
  conversation(title: string): Promise<string>;
  /** The newest messages, oldest first, without the world's history. */
  messages(conversationId: string): Promise<MessageData[]>;
  /** Deletes the user with everything, and ends the runtime. */
  remove(): Promise<void>;
}

const PAGE = 100;
const LIMITED_PAUSE_MS = 500;

/** Waits while the product limits this machine's requests: it has all tasks' users. */
async function fetchPatiently(url: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init);
    if (response.status !== 429 || !(await response.clone().text()).includes('"rate_limited"')) return response;
    await sleep(LIMITED_PAUSE_MS);
  }
}

/** An event as the calendar API stores it. */
const googleEvent = ({ title, start, end, attendees, ...others }: WorldEvent) => ({
  summary: title,
  start: start.includes('T') ? { dateTime: start } : { date: start },
  end: end.includes('T') ? { dateTime: end } : { date: end },
  ...(attendees === undefined ? {} : { attendees: attendees.map((email) => ({ email })) }),
  ...others,
});

function createMust(api: Api): TaskUser['must'] {
  return async (method, path, body) => {
    const response = await api(method, path, body);
    if (response.status < 300) return response.body;
    throw new HarnessError(`${method} ${path} returned ${response.status}: ${JSON.stringify(response.body)}`);
  };
}

/** Connects the world's apps, and fills them. */
async function fillApps({ apps }: Stack, { world }: Task, client: TestClient, account: GoogleAccount): Promise<void> {
  if (world.calendar !== undefined) {
    for (const event of world.calendar) account.calendar.add(googleEvent(event));
    await apps.connect(client.api, 'google_calendar', client.workspaceId);
  }
  if (world.mails !== undefined) {
    for (const { from, subject, body } of world.mails) {
      const id = `<${randomUUID()}@example.com>`;
      const head = [`From: ${from}`, 'To: ada@example.com', `Subject: ${subject}`, `Message-ID: ${id}`];
      await account.mailbox.receive(`${head.join('\r\n')}\r\n\r\n${body}`);
    }
    await apps.connect(client.api, 'gmail', client.workspaceId);
  }
  for (const [method, status] of Object.entries(world.refuse))
    account.failNext(method, { kind: 'refuse', status, reason: 'backendError' });
}

/** Creates a run's user. @param run a scripted run's id; undefined with a real model */
export async function createTaskUser(stack: Stack, task: Task, run: string | undefined): Promise<TaskUser> {
  const { local, operator, apps, search } = stack;
  const { world } = task;
  const name = run === undefined ? world.name : scriptedName(world.name, run);
  const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`, name);
  const client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token, fetch: fetchPatiently });
  const must = createMust(client.api);
  const get = async <Body>(path: string): Promise<Body> => (await must('GET', path)) as Body;
  const workspace = `/v1/workspaces/${client.workspaceId}`;
  const { data: agents } = await get<{ data: AgentSummary[] }>(`${workspace}/agents`);

  async function permit(permissions: Record<string, string>): Promise<void> {
    for (const { id } of agents)
      for (const [tool, permission] of Object.entries(permissions))
        await must('PATCH', `/v1/agents/${id}/tools/${tool}`, { permission });
  }

  const past = new Set<string>();
  const user: TaskUser = {
    client,
    agents: new Map(agents.map((agent) => [agent.slug, agent])),
    google: apps.google.account(client.workspaceId),
    web: search.open(client.workspaceId, world),
    get,
    must,
    permit,
    conversations: async () => (await get<{ data: Conversation[] }>(`${workspace}/conversations`)).data,
    async conversation(title) {
      const known = (await user.conversations()).find((one) => one.title === title);
      if (known !== undefined) return known.id;
      const body = { type: 'swarm', title };
      return ((await must('POST', `${workspace}/conversations`, body)) as { data: Conversation }).data.id;
    },
    async messages(id) {
      const path = `${workspace}/conversations/${id}/messages?direction=backward&limit=${PAGE}`;
      const { data } = await get<{ data: MessageData[] }>(path);
      return data.toReversed().filter((message) => !past.has(message.id));
    },
    async remove() {
      client.close();
      await search.forget(client.workspaceId);
      await must('DELETE', workspace);
    },
  };
  const profile = {
    nickname: name,
    time_zone: world.time_zone,
    preferences: { platform_language: world.language },
  };
  await must('PATCH', '/v1/users', profile);
  await fillApps(stack, task, client, user.google);
  for (const [title, history] of Map.groupBy(world.history, ({ conversation }) => conversation)) {
    const conversationId = title === undefined ? client.conversationId : await user.conversation(title);
    const place = { workspaceId: client.workspaceId, conversationId };
    for (const id of await insertHistory(local.folder, place, history)) past.add(id);
  }
  for (const { agent, ...memory } of world.memories)
    await must('POST', `/v1/agents/${agentId(user, agent)}/memories`, memory);
  for (const [slug, { instructions, ...settings }] of Object.entries(world.agents)) {
    const prompts =
      instructions === undefined
        ? {}
        : { prompts: [{ id: 'task', name: 'Task', description: '', content: instructions }] };
    await must('PATCH', `/v1/agents/${agentId(user, slug)}/settings`, { ...settings, ...prompts });
  }
  await permit(world.permissions);
  if (world.plan !== 'free') {
    const { owner_id: userId } = await operator.call('workspace.show', { workspace_id: client.workspaceId });
    await operator.call('user.plan', { user_id: userId, plan: world.plan, expires_at: null, reason: 'evaluation' });
  }
  return user;
}

/** @throws HarnessError if the swarm has no such agent */
export function agentId({ agents }: Pick<TaskUser, 'agents'>, slug: string): string {
  const agent = agents.get(slug);
  if (agent === undefined) throw new HarnessError(`the agent ${slug} does not exist`);
  return agent.id;
}
