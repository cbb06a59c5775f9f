import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '@uswarm/testkit/eventually';
import type { ModelCall, RealtimeCluster } from './cluster.js';
import {
  type Conversation,
  type FoldedWorkspace,
  type Message,
  type Revised,
  shownStatus,
  type Workspace,
} from './folded-workspace.js';
import { FoldingClient, type Place, USER_NAME } from './folding-client.js';
import { canBeLost } from './lost-commits.js';
import type { SpecificationDevice } from './specification-device.js';

/** Time without any new event in which every loss is found, in milliseconds. */
const QUIET_MS = 20_000;
/** Time after the last fault within which requests have a result and answers end, in milliseconds. */
export const ENDS_WITHIN_MS = 90_000;
const PREVIEW_LENGTH = 200;

/**
 * Waits until all answers have ended, and then without any new event.
 *
 * @param listEventsCanBeLost whether a fault can have ended a process or a connection that had such an event
 * @returns what breaks a promise
 */
export async function judge(
  cluster: RealtimeCluster,
  clients: readonly FoldingClient[],
  device: SpecificationDevice,
  listEventsCanBeLost: boolean,
): Promise<string[]> {
  await untilAnswered(cluster);
  await device.settled(ENDS_WITHIN_MS);
  await sleep(QUIET_MS);
  return [
    ...(await lostHints(clients, listEventsCanBeLost)),
    ...(await differencesFromSnapshot(cluster, clients)),
    ...(await device.differences()),
    ...(await lostSends(cluster, clients)),
    ...(await lostChoices(cluster, clients)),
    ...(await repeatedCalls(cluster, clients)),
    ...(await missingHints(clients)),
  ];
}

function untilAnswered(cluster: RealtimeCluster): Promise<unknown> {
  return eventually(
    () =>
      cluster.query(
        `SELECT t.id FROM turns t JOIN workspaces w ON w.id = t.workspace_id WHERE t.status IN ('queued', 'running')`,
      ),
    { until: (rows) => rows.length === 0, timeoutMs: ENDS_WITHIN_MS, description: 'all answers end' },
  );
}

/**
 * `workspace.new` may be lost. If a fault has lost it, the client's next connect makes it read the list.
 *
 * @returns the clients that had a workspace missing without a reason
 */
async function lostHints(clients: readonly FoldingClient[], areExcused: boolean): Promise<string[]> {
  const ids = await clients[0]!.workspaceIds();
  const wrong: string[] = [];
  for (const [number, client] of clients.entries()) {
    const missing = ids.filter((id) => !client.known.has(id));
    if (missing.length === 0) continue;
    if (!areExcused) wrong.push(`client ${number} was not told of the workspaces ${missing}`);
    client.goOffline();
    client.goOnline();
    await eventually(() => missing.every((id) => client.known.has(id)), {
      timeoutMs: ENDS_WITHIN_MS,
      description: `client ${number} has the workspaces ${missing} after a reconnect`,
    });
  }
  return wrong;
}

/** Without faults, `workspace.new` reaches all clients. */
async function missingHints(clients: readonly FoldingClient[]): Promise<string[]> {
  const [first] = clients;
  const { status, body } = await first!.rest.request('POST', '/v1/workspaces', { name: 'Last' });
  // The user has all the workspaces that the plan allows.
  if (status >= 300) return [];
  const { id } = (body as { data: Revised }).data;
  try {
    await Promise.all(
      clients.map((client, number) =>
        eventually(() => client.known.has(id), { description: `client ${number} is told of a new workspace` }),
      ),
    );
    await first!.rest.request('DELETE', `/v1/workspaces/${id}`);
    await Promise.all(
      clients.map((client, number) =>
        eventually(() => !client.known.has(id), { description: `client ${number} is told of a deleted workspace` }),
      ),
    );
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/** I3, I4, I11: what each client knows, compared with a fresh snapshot. */
export async function differencesFromSnapshot(place: Place, clients: readonly FoldingClient[]): Promise<string[]> {
  const fresh = new FoldingClient(place, clients[0]!.token, 0);
  try {
    const wrong = clients.flatMap((client, number) => [
      ...client.violations.map((violation) => `client ${number}: ${violation}`),
      ...(client.isConnected ? [] : [`client ${number} is not connected; connections ended with ${client.endings}`]),
    ]);
    const ids = await fresh.workspaceIds();
    for (const [number, client] of clients.entries()) {
      for (const id of client.known.keys())
        if (!ids.includes(id)) wrong.push(`client ${number} has the deleted workspace ${id}`);
      for (const id of ids) {
        const snapshot = await fresh.snapshot(id);
        const { body } = await fresh.rest.read(`/v1/workspaces/${id}/agents`);
        const { data: agents } = body as { data: Agent[] };
        if (snapshot === undefined) continue;
        const folded = client.known.get(id);
        const lines =
          folded === undefined
            ? ['a workspace is missing']
            : [...exactDifferences(folded, snapshot), ...wrongStates(folded, agents)];
        wrong.push(...lines.map((line) => `client ${number}: ${line}`));
      }
    }
    return wrong;
  } finally {
    await fresh.close();
  }
}

interface Agent {
  id: string;
  status: string;
}

/** Status in agent routes. */
const reduced = (status: string): string => (['reading', 'thinking', 'writing'].includes(status) ? 'busy' : status);

/** An agent's status inside another resource depends on the time. `agent.status` reports it. */
const withoutStatus = (item: unknown): unknown =>
  JSON.parse(JSON.stringify(item), (key, value: unknown) => {
    if (key !== 'agent' || value === null) return value;
    const { status: _, ...agent } = value as Agent;
    return agent;
  });

function exactDifferences(folded: FoldedWorkspace, snapshot: FoldedWorkspace): string[] {
  const of = (kind: string, left: ReadonlyMap<string, Revised>, right: ReadonlyMap<string, Revised>): string[] =>
    [...new Set([...left.keys(), ...right.keys()])].flatMap((id) => {
      const [mine, theirs] = [left.get(id), right.get(id)];
      if (mine !== undefined && theirs !== undefined && isDeepStrictEqual(withoutStatus(mine), withoutStatus(theirs)))
        return [];
      return [`${kind} ${id}: ${JSON.stringify(mine)} instead of ${JSON.stringify(theirs)}`];
    });
  const position = ({ epoch, position: seq }: FoldedWorkspace): string => `${epoch}:${seq}`;
  return [
    ...of('workspace', new Map([['', withPreview(folded)]]), new Map([['', snapshot.workspace]])),
    ...of('conversation', withLastMessages(folded), snapshot.conversations),
    ...of('message', folded.messages, snapshot.messages),
    ...(position(folded) === position(snapshot)
      ? []
      : [`the position is ${position(folded)} instead of ${position(snapshot)}`]),
  ];
}

/** I11: no text is in progress, and the statuses are the agents' own. */
function wrongStates(folded: FoldedWorkspace, agents: readonly Agent[]): string[] {
  return [
    ...[...folded.streams].map(([id, { text }]) => `the text "${text}" of ${id} has no end`),
    ...agents.flatMap(({ id, status }) => {
      const shown = shownStatus(folded, id);
      return reduced(shown) === status ? [] : [`agent ${id} is shown as ${shown} instead of ${status}`];
    }),
  ];
}

/** Newest last. */
const inOrder = (messages: Iterable<Message>): Message[] =>
  [...messages].toSorted((a, b) => (a.position < b.position ? -1 : 1));

/** The last message and the last activity's time follow from the messages. */
function withLastMessages({ conversations, messages }: FoldedWorkspace): Map<string, Conversation> {
  return new Map(
    [...conversations].map(([id, conversation]) => {
      const own = inOrder(messages.values()).filter(({ conversation_id }) => conversation_id === id);
      const times = [conversation.updated_at, ...own.map(({ created_at }) => created_at)];
      const last = own.findLast(({ content }) => content.type !== 'tool_status') ?? null;
      return [id, { ...conversation, updated_at: times.toSorted().at(-1)!, last_message: last }];
    }),
  );
}

/** The preview follows from the messages. */
function withPreview({ workspace, messages }: FoldedWorkspace): Workspace {
  const last = inOrder(messages.values()).findLast(
    ({ content }) => content.type !== 'loading' && content.type !== 'tool_status',
  );
  const preview = last && {
    text: last.content.title ?? (last.content.text ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, PREVIEW_LENGTH),
    sender_name: last.role === 'user' ? USER_NAME : (last.agent?.name ?? 'uswarm'),
    timestamp: last.created_at,
  };
  return { ...workspace, runtime: { ...workspace.runtime, last_message_preview: preview ?? null } };
}

async function exists(cluster: RealtimeCluster, conversationId: string): Promise<boolean> {
  const rows = await cluster.query('SELECT FROM conversations WHERE id = $1', [conversationId]);
  return rows.length > 0;
}

/**
 * I1: what was acknowledged is stored once, unless its conversation or workspace was deleted, or a failover lost it; what was not
 * is stored at most once.
 */
async function lostSends(cluster: RealtimeCluster, clients: readonly FoldingClient[]): Promise<string[]> {
  const lost = cluster.postgres.lost();
  const wrong: string[] = [];
  for (const { localId, acks, conversationId } of clients.flatMap(({ sent }) => sent)) {
    const stored = await cluster.query<{ id: string }>('SELECT id FROM messages WHERE local_id = $1', [localId]);
    if (stored.length > 1) wrong.push(`the message ${localId} is stored ${stored.length} times`);
    const kept = acks.filter((ack) => !canBeLost(ack, lost)).map(({ messageId }) => messageId);
    if (new Set(kept).size > 1) wrong.push(`${localId} was acknowledged as ${kept}`);
    if (kept.length > 0 && (await exists(cluster, conversationId)) && stored[0]?.id !== kept[0])
      wrong.push(`the message ${kept[0]} is lost`);
  }
  return wrong;
}

/** I1: an acknowledged choice is the one of its card, and one message, unless a failover lost it. */
async function lostChoices(cluster: RealtimeCluster, clients: readonly FoldingClient[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const choice of clients.flatMap(({ choices }) => choices)) {
    const { messageId, conversationId, actionId, label } = choice;
    if (!(await exists(cluster, conversationId))) continue;
    const [row] = await cluster.query<{ chosen: string | null; messages: number }>(
      `SELECT (SELECT content ->> 'selected_action_id' FROM messages WHERE id = $1) AS chosen,
         (SELECT count(*)::int FROM messages WHERE role = 'user' AND content ->> 'text' = $2) AS messages`,
      [messageId, label],
    );
    if (canBeLost(choice, cluster.postgres.lost()) && row?.messages === 0) continue;
    if (row?.chosen !== actionId) wrong.push(`the choice ${actionId} on ${messageId} is ${row?.chosen}`);
    if (row?.messages !== 1) wrong.push(`the choice on ${messageId} is ${row?.messages} messages`);
  }
  return wrong;
}

/**
 * The model is called at most once per generation of a turn. A failover can lose a generation, or the message itself.
 */
async function repeatedCalls(cluster: RealtimeCluster, clients: readonly FoldingClient[]): Promise<string[]> {
  const wrong: string[] = [];
  const begun = clients.flatMap(({ sent, choices }) => [
    ...sent.map(({ text, at }) => ({ text, at })),
    ...choices.map(({ label, from }) => ({ text: label, at: from })),
  ]);
  for (const { text, at } of begun) {
    const [turn] = await cluster.query<{ generation: number }>(
      `SELECT t.generation FROM turns t JOIN messages m ON m.id = t.user_message_id
       WHERE m.role = 'user' AND m.content ->> 'text' = $1`,
      [text],
    );
    const calls = cluster.modelCalls.filter(({ lastMessage }) => lastMessage.includes(text));
    const generations = (turn?.generation ?? 0) + lostSince(cluster, at, calls);
    if (turn !== undefined && calls.length > generations)
      wrong.push(`the model got ${calls.length} requests for "${text}" in ${generations} generations`);
  }
  return wrong;
}

/** Number of generations that a turn can lose: at most one with each failover between its message and its last call. */
function lostSince({ postgres }: RealtimeCluster, at: number, calls: readonly ModelCall[]): number {
  const request = { from: at, to: calls.at(-1)?.at ?? at };
  return postgres.lost().filter((lost) => canBeLost(request, [lost])).length;
}
