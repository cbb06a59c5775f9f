import { setTimeout as sleep } from 'node:timers/promises';
import { unlessAborted } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import type { RealtimeCluster } from './cluster.js';
import { FoldingClient, signUp } from './folding-client.js';
import { ENDS_WITHIN_MS, judge } from './judge.js';
import { SpecificationDevice } from './specification-device.js';
import { CLIENTS, type Fault, isFault, type Schedule, type Step } from './schedule.js';
import { ASK_FOR_CARD } from './scripted-answers.js';
import type { ServiceProcess } from './service-process.js';

/** The share of bus messages that are lost. */
const LOST_SHARE = 0.01;
const DELAY_MS = 100;

interface ConversationPlace {
  workspaceId: string;
  conversationId: string;
}

/**
 * Runs a schedule with three devices of one user and one that knows only the specification, ends all faults, waits until all answers have ended, and then for 20 s without
 * any new event.
 *
 * @param signal ends it
 * @returns what breaks a promise; empty if nothing does
 * @throws Error if the signal ends it
 */
export async function runSchedule(
  cluster: RealtimeCluster,
  { previousGateway, steps }: Schedule,
  signal?: AbortSignal,
): Promise<string[]> {
  if (previousGateway) await cluster.runPreviousGateway();
  const token = await cluster.newToken();
  await signUp(cluster, token);
  const clients = Array.from({ length: CLIENTS }, (_, number) => new FoldingClient(cluster, token, number));
  const device = new SpecificationDevice(cluster, token, 0);
  const judged = async (): Promise<string[]> => {
    // The last client joins in the middle.
    await Promise.all([device, ...clients.slice(0, -1)].map((client) => client.join()));
    await new Run(cluster, clients, signal).run(steps);
    return judge(cluster, clients, device, steps.some(isFault));
  };
  try {
    return await unlessAborted(judged(), signal);
  } finally {
    const workspaceIds = clients.flatMap((client) => [...client.known.keys()]);
    await Promise.all([device, ...clients].map((client) => client.close()));
    await cluster.heal();
    if (previousGateway) await cluster.runCurrentGateways();
    await cluster.killRuntimes(workspaceIds);
  }
}

class Run {
  private readonly faults: Promise<unknown>[] = [];
  /** Requests and sends without a result, with their descriptions. */
  private readonly running = new Map<Promise<unknown>, string>();

  private readonly cluster: RealtimeCluster;
  private readonly clients: readonly FoldingClient[];
  private readonly signal: AbortSignal | undefined;

  constructor(cluster: RealtimeCluster, clients: readonly FoldingClient[], signal: AbortSignal | undefined) {
    this.cluster = cluster;
    this.clients = clients;
    this.signal = signal;
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const [at, step] of steps.entries()) {
      this.signal?.throwIfAborted();
      if (at === Math.floor(steps.length / 2)) this.begin('the last client joins', this.clients.at(-1)!.join());
      if (isFault(step)) await this.fail(step);
      else await this.take(step);
    }
    // Steps that wait for an answer end only after all faults have ended.
    await Promise.all(this.faults);
    this.signal?.throwIfAborted();
    await this.cluster.heal();
    for (const client of this.clients) client.goOnline();
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
      await sleep(seconds * 1_000, undefined, this.signal && { signal: this.signal });
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

  private async fail(fault: Fault): Promise<void> {
    const { cluster } = this;
    switch (fault.do) {
      case 'kill gateway':
      case 'kill orchestrator':
        return this.kill(this.serviceOf(fault), fault.seconds);
      case 'pause gateway':
      case 'pause orchestrator':
        return this.pause(this.serviceOf(fault), fault.seconds);
      case 'kill relay':
      case 'pause relay': {
        const [workspaceId] = [...this.clients[0]!.known.keys()];
        const relay = workspaceId && (await cluster.relayOf(workspaceId).catch(() => undefined));
        if (!relay) return;
        return fault.do === 'kill relay' ? this.kill(relay, fault.seconds) : this.pause(relay, fault.seconds);
      }
      case 'cut off gateway': {
        const proxy = cluster.busProxies[fault.index]!;
        return this.fault(proxy.cut, proxy.heal, fault.seconds);
      }
      case 'kill runtimes':
        return this.begin(fault.do, this.signalRuntimes('SIGKILL'));
      case 'pause runtimes':
        return this.fault(
          () => this.signalRuntimes('SIGSTOP'),
          () => this.signalRuntimes('SIGCONT'),
          fault.seconds,
        );
      case 'restart Valkey':
        return this.begin(fault.do, cluster.restartValkey());
      case 'pause Valkey':
        return this.fault(cluster.pauseValkey, cluster.resumeValkey, fault.seconds);
      case 'delay the bus':
        return this.faultOfBus((proxy) => proxy.delay(DELAY_MS), fault.seconds);
      case 'lose bus messages':
        return this.faultOfBus((proxy) => proxy.drop(LOST_SHARE), fault.seconds);
      case 'freeze Postgres':
        return this.fault(cluster.databaseProxy.freeze, cluster.databaseProxy.thaw, fault.seconds);
      case 'restart Postgres':
        return this.begin(fault.do, cluster.postgres.restart(fault.how));
      case 'promote a standby': {
        const { begun, ended } = cluster.postgres.promoteStandby(fault.lackMs);
        this.begin(fault.do, ended);
        // Later steps happen while the standby lacks their changes. Only the primary server's copy is awaited.
        return begun;
      }
      case 'close connections to Postgres':
        await cluster.databaseProxy.disconnect();
        return cluster.databaseProxy.restore();
    }
  }

  private serviceOf(step: { do: string; index: number }): ServiceProcess {
    const services = step.do.endsWith('gateway') ? this.cluster.gateways : this.cluster.orchestrators;
    return services[step.index]!;
  }

  private kill(service: ServiceProcess, seconds: number): void {
    this.fault(service.kill, service.start, seconds);
  }

  private pause(service: ServiceProcess, seconds: number): void {
    this.fault(service.pause, service.resume, seconds);
  }

  private signalRuntimes(signal: NodeJS.Signals): Promise<unknown> {
    return this.cluster.signalRuntimes([...this.clients[0]!.known.keys()], signal);
  }

  private faultOfBus(start: (proxy: RealtimeCluster['busProxies'][number]) => void, seconds: number): void {
    const { busProxies } = this.cluster;
    this.fault(
      () => busProxies.forEach(start),
      () => busProxies.forEach((proxy) => proxy.heal()),
      seconds,
    );
  }

  /** User actions. Nothing but time is awaited: users do not wait for faults. */
  private async take(step: Exclude<Step, Fault>): Promise<void> {
    if (step.do === 'wait') return void (await sleep(step.ms));
    const client = this.clients[step.client]!;
    if (step.do === 'go offline')
      return this.fault(
        () => client.goOffline(),
        () => client.goOnline(),
        step.seconds,
      );
    if (step.do === 'read slowly')
      return this.fault(
        () => client.stopReading(),
        () => client.readAgain(),
        step.seconds,
      );
    if (step.do === 'create workspace') return this.begin(step.do, createWorkspace(client));
    const place = this.placeOf(client);
    const work = place && this.act(step, client, place);
    if (work !== undefined) this.begin(step.do, work);
  }

  private act(
    step: Exclude<Step, Fault>,
    client: FoldingClient,
    { workspaceId, conversationId }: ConversationPlace,
  ): Promise<unknown> | undefined {
    const path = `/v1/workspaces/${workspaceId}/conversations`;
    switch (step.do) {
      case 'send': {
        const { retry: twice, overRest = false } = step;
        return client.send(workspaceId, conversationId, { twice, overRest });
      }
      case 'ask for a card':
        return client.send(workspaceId, conversationId, { prefix: ASK_FOR_CARD });
      case 'choose':
        return client.choose(workspaceId, step.pick);
      case 'read':
        return client.rest.request('POST', `${path}/${conversationId}/read`, {});
      case 'create conversation':
        return client.rest.request('POST', path, { type: 'swarm' });
      case 'delete conversation':
        return client.rest.request('DELETE', `${path}/${conversationId}`);
      case 'delete workspace': {
        // The user keeps one.
        const [, second] = client.known.keys();
        return second === undefined ? undefined : client.rest.request('DELETE', `/v1/workspaces/${second}`);
      }
      case 'stop the answer': {
        const [streaming] = client.known.get(workspaceId)?.streams.keys() ?? [];
        return streaming === undefined
          ? undefined
          : client.rest.request('POST', `/v1/workspaces/${workspaceId}/messages/${streaming}/stop`);
      }
      default:
        return undefined;
    }
  }
}

/** The client shows what it has created. The others are told. */
async function createWorkspace(client: FoldingClient): Promise<void> {
  const { status, body } = await client.rest.request('POST', '/v1/workspaces', { name: 'Another' });
  if (status < 300) await client.load((body as { data: { id: string } }).data.id);
}
