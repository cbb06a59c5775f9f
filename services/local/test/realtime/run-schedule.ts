import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@uswarm/testkit/eventually';
import type { RealtimeCluster, ServiceProcess } from './cluster.js';
import { FoldingClient, type FoldedWorkspace, type Place, type Revised, signUp } from './folding-client.js';
import { CLIENTS, type Step } from './schedule.js';

/** The share of bus messages that are lost. */
const LOST_SHARE = 0.01;
const DELAY_MS = 100;
/** Time without any new event in which every loss is found, in milliseconds. */
const QUIET_MS = 20_000;
/** Time after the last fault within which requests have a result and answers end, in milliseconds. */
const ENDS_WITHIN_MS = 90_000;

interface ConversationPlace {
  workspaceId: string;
  conversationId: string;
}

/**
 * Runs a schedule with three devices of one user, ends all faults, waits until all answers have ended, and then for 20 s without
 * any new event.
 *
 * @returns what breaks a promise; empty if nothing does
 */
export async function runSchedule(cluster: RealtimeCluster, steps: readonly Step[]): Promise<string[]> {
  const token = await cluster.newToken();
  await signUp(cluster, token);
  const clients = Array.from({ length: CLIENTS }, (_, number) => new FoldingClient(cluster, token, number));
  try {
    // The last client joins in the middle.
    await Promise.all(clients.slice(0, -1).map((client) => client.refresh()));
    await new Schedule(cluster, clients).run(steps);
    return await judge(cluster, clients);
  } finally {
    for (const client of clients) client.close();
    await cluster.heal();
    await cluster.killRuntimes(clients.flatMap((client) => [...client.known.keys()]));
  }
}

class Schedule {
  private readonly faults: Promise<unknown>[] = [];
  /** Requests and sends without a result, with their descriptions. */
  private readonly running = new Map<Promise<unknown>, string>();

  private readonly cluster: RealtimeCluster;
  private readonly clients: readonly FoldingClient[];

  constructor(cluster: RealtimeCluster, clients: readonly FoldingClient[]) {
    this.cluster = cluster;
    this.clients = clients;
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const [at, step] of steps.entries()) {
      if (at === Math.floor(steps.length / 2)) this.begin('the last client joins', this.clients.at(-1)!.refresh());
      await this.take(step);
    }
    // Steps that wait for an answer end only after all faults have ended.
    await Promise.all(this.faults);
    await this.cluster.heal();
    for (const client of this.clients) client.goOnline();
    // Events about new workspaces are hints, which can be lost. The list is the truth.
    for (const client of this.clients) this.begin('reload', client.refresh());
    await eventually(() => [...this.running.values()], {
      until: (names) => names.length === 0,
      timeoutMs: ENDS_WITHIN_MS,
      description: 'all requests end',
    });
  }

  private begin(name: string, work: Promise<unknown>): void {
    const settled = work.catch(() => undefined).finally(() => this.running.delete(settled));
    this.running.set(settled, name);
  }

  /** Starts a fault, which ends after this time. */
  private fault(start: () => unknown, end: () => unknown, seconds: number): void {
    const fault = async (): Promise<void> => {
      await start();
      await sleep(seconds * 1_000);
      await end();
    };
    this.faults.push(fault().catch(() => undefined));
  }

  private placeOf(client: FoldingClient): ConversationPlace | undefined {
    const [workspace] = client.known;
    if (workspace === undefined) return undefined;
    const [workspaceId, { conversations }] = workspace;
    const conversationId = [...conversations.keys()].at(-1);
    return conversationId === undefined ? undefined : { workspaceId, conversationId };
  }

  private async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'wait':
        await sleep(step.ms);
        return;
      case 'kill gateway':
      case 'kill orchestrator':
        return this.kill(this.serviceOf(step), step.seconds);
      case 'pause gateway':
      case 'pause orchestrator': {
        const service = this.serviceOf(step);
        return this.fault(
          () => service.pause(),
          () => service.resume(),
          step.seconds,
        );
      }
      case 'cut off gateway': {
        const proxy = this.cluster.busProxies[step.index]!;
        return this.fault(
          () => proxy.cut(),
          () => proxy.heal(),
          step.seconds,
        );
      }
      case 'go offline': {
        const client = this.clients[step.client]!;
        return this.fault(
          () => client.goOffline(),
          () => client.goOnline(),
          step.seconds,
        );
      }
      case 'read slowly': {
        const client = this.clients[step.client]!;
        return this.fault(
          () => client.stopReading(),
          () => client.readAgain(),
          step.seconds,
        );
      }
      case 'kill runtimes':
        return this.begin(step.do, this.cluster.killRuntimes([...this.clients[0]!.known.keys()]));
      case 'restart Valkey':
        return this.begin(step.do, this.cluster.restartValkey());
      case 'pause Valkey':
        return this.fault(
          () => this.cluster.pauseValkey(),
          () => this.cluster.resumeValkey(),
          step.seconds,
        );
      case 'delay the bus':
        return this.faultOfBus((proxy) => proxy.delay(DELAY_MS), step.seconds);
      case 'lose bus messages':
        return this.faultOfBus((proxy) => proxy.drop(LOST_SHARE), step.seconds);
      case 'freeze Postgres': {
        const { databaseProxy } = this.cluster;
        return this.fault(
          () => databaseProxy.freeze(),
          () => databaseProxy.thaw(),
          step.seconds,
        );
      }
      case 'close connections to Postgres':
        await this.cluster.databaseProxy.disconnect();
        await this.cluster.databaseProxy.restore();
        return;
      default:
        return this.act(step.do, this.clients[step.client]!, step);
    }
  }

  private serviceOf(step: { do: string; index: number }): ServiceProcess {
    const services = step.do.endsWith('gateway') ? this.cluster.gateways : this.cluster.orchestrators;
    return services[step.index]!;
  }

  private kill(service: ServiceProcess, seconds: number): void {
    this.fault(
      () => service.kill(),
      () => service.start(),
      seconds,
    );
  }

  private faultOfBus(start: (proxy: RealtimeCluster['busProxies'][number]) => void, seconds: number): void {
    const { busProxies } = this.cluster;
    this.fault(
      () => busProxies.forEach(start),
      () => busProxies.forEach((proxy) => proxy.heal()),
      seconds,
    );
  }

  /** What a user does. Nothing is awaited: users do not wait for faults. */
  private act(name: string, client: FoldingClient, step: Step): void {
    if (name === 'create workspace')
      return this.begin(
        name,
        client.rest.request('POST', '/v1/workspaces', { name: 'Another' }).then(() => client.refresh()),
      );
    const place = this.placeOf(client);
    if (place === undefined) return;
    const { workspaceId, conversationId } = place;
    const path = `/v1/workspaces/${workspaceId}/conversations`;
    switch (name) {
      case 'send':
        return this.begin(name, client.send(workspaceId, conversationId, { twice: 'retry' in step && step.retry }));
      case 'read':
        return this.begin(name, client.rest.request('POST', `${path}/${conversationId}/read`, {}));
      case 'create conversation':
        return this.begin(name, client.rest.request('POST', path, { type: 'swarm' }));
      case 'delete conversation':
        return this.begin(name, client.rest.request('DELETE', `${path}/${conversationId}`));
      case 'delete workspace': {
        // The user keeps one.
        const [, second] = client.known.keys();
        if (second !== undefined) this.begin(name, client.rest.request('DELETE', `/v1/workspaces/${second}`));
        return;
      }
      case 'stop the answer': {
        const streaming = [...(client.known.get(workspaceId)?.streams.keys() ?? [])][0];
        if (streaming !== undefined)
          this.begin(name, client.rest.request('POST', `/v1/workspaces/${workspaceId}/messages/${streaming}/stop`));
        return;
      }
      default:
        throw new Error(`unknown step ${name}`);
    }
  }
}

/** Waits until all answers have ended, and then without any new event. @returns what breaks a promise */
async function judge(cluster: RealtimeCluster, clients: readonly FoldingClient[]): Promise<string[]> {
  await eventually(
    () =>
      cluster.query(
        `SELECT t.id FROM turns t JOIN workspaces w ON w.id = t.workspace_id WHERE t.status IN ('queued', 'running')`,
      ),
    { until: (rows) => rows.length === 0, timeoutMs: ENDS_WITHIN_MS, description: 'all answers end' },
  );
  await sleep(QUIET_MS);
  return [
    ...(await differencesFromSnapshot(cluster, clients)),
    // I11
    ...clients.flatMap((client, number) =>
      client.workingAgents().map((id) => `client ${number} shows agent ${id} as working`),
    ),
    ...(await lostSends(cluster, clients)),
    ...(await repeatedCalls(cluster, clients)),
  ];
}

/** I3, I4: what each client knows, compared with a fresh snapshot. */
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
        if (snapshot !== undefined)
          wrong.push(...differences(client.known.get(id), snapshot).map((line) => `client ${number}: ${line}`));
      }
    }
    return wrong;
  } finally {
    fresh.close();
  }
}

/**
 * Fields that clients derive: the status of an agent has its own events, and the last message and the time of the last activity
 * follow from the messages.
 */
const DERIVED = new Set(['agent', 'last_message', 'last_message_preview', 'updated_at']);

/** REST shows some statuses of messages as `extended_status`. */
function comparable({
  extended_status: extended,
  ...item
}: Revised & { extended_status?: string; status?: string }): string {
  return JSON.stringify({ ...item, status: extended ?? item.status }, (key, value: unknown) =>
    DERIVED.has(key) ? undefined : value,
  );
}

/** The last message raises the `rev` of the workspace, but is a derived field, so its event need not contain the workspace. */
const shown = (workspace: Revised): Revised => ({ ...workspace, rev: 0 });

function differences(folded: FoldedWorkspace | undefined, snapshot: FoldedWorkspace): string[] {
  if (folded === undefined) return ['a workspace is missing'];
  const of = (kind: string, left: ReadonlyMap<string, Revised>, right: ReadonlyMap<string, Revised>): string[] =>
    [...new Set([...left.keys(), ...right.keys()])].flatMap((id) => {
      const [mine, theirs] = [left.get(id), right.get(id)];
      if (mine !== undefined && theirs !== undefined && comparable(mine) === comparable(theirs)) return [];
      return [`${kind} ${id}: ${JSON.stringify(mine)} instead of ${JSON.stringify(theirs)}`];
    });
  return [
    ...of('workspace', new Map([['', shown(folded.workspace)]]), new Map([['', shown(snapshot.workspace)]])),
    ...of('conversation', folded.conversations, snapshot.conversations),
    ...of('message', folded.messages, snapshot.messages),
    ...(folded.position === snapshot.position
      ? []
      : [`the position is ${folded.position} instead of ${snapshot.position}`]),
  ];
}

/** I1: what was acknowledged is stored once, unless its conversation or workspace was deleted; what was not is stored at most once. */
async function lostSends(cluster: RealtimeCluster, clients: readonly FoldingClient[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { localId, messageId, conversationId } of clients.flatMap(({ sent }) => sent)) {
    const stored = await cluster.query<{ id: string }>('SELECT id FROM messages WHERE local_id = $1', [localId]);
    const [{ exists } = { exists: false }] = await cluster.query<{ exists: boolean }>(
      'SELECT EXISTS (SELECT FROM conversations WHERE id = $1) AS exists',
      [conversationId],
    );
    if (stored.length > 1) wrong.push(`the message ${localId} is stored ${stored.length} times`);
    if (messageId !== undefined && exists && stored[0]?.id !== messageId)
      wrong.push(`the message ${messageId} is lost`);
  }
  return wrong;
}

/** The model is called at most once per generation of a turn. */
async function repeatedCalls(cluster: RealtimeCluster, clients: readonly FoldingClient[]): Promise<string[]> {
  const lastMessages = cluster.model.requests.map(({ body }) => JSON.stringify(body.messages.at(-1)));
  const wrong: string[] = [];
  for (const { localId } of clients.flatMap(({ sent }) => sent)) {
    const [turn] = await cluster.query<{ generation: number }>(
      'SELECT t.generation FROM turns t JOIN messages m ON m.id = t.user_message_id WHERE m.local_id = $1',
      [localId],
    );
    const calls = lastMessages.filter((message) => message.includes(localId)).length;
    if (turn !== undefined && calls > turn.generation)
      wrong.push(`the model got ${calls} requests for ${localId} in ${turn.generation} generations`);
  }
  return wrong;
}
