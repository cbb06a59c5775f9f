import { type ValkeyTarget, withinDeadline } from '@uswarm/service-kit';
import { type ConnectionLog, createQuestioner } from './link.js';
import { SLOTS, slotOf } from './slot.js';
import { addressOf } from './address.js';

/** Where the primaries are. */
export interface Topology {
  /** `host:port` of the primary for a key or sharded channel; undefined as long as no node has answered. */
  ownerOf(key: string): string | undefined;
  primaries(): ReadonlySet<string>;
  /** Asks again, because a node is unreachable or refused a command. Calls are merged. */
  refresh(): void;
  /** Applies a node's `MOVED`. */
  moved(slot: number, address: string): void;
  onChange(listener: () => void): void;
  close(): void;
}

export interface TopologyOptions {
  target: ValkeyTarget;
  name: string;
  log: Pick<ConnectionLog, 'disconnected' | 'reconnected'>;
}

/** Milliseconds between two questions. Manual failovers and moved slots are otherwise noticed by refused commands. */
const ASK_EVERY_MS = 1_000;
const ASK_DEADLINE_MS = 2_000;
/** Shortest milliseconds between two questions, however often a refresh is wanted. */
const ASK_PAUSE_MS = 50;

const ABOUT = { role: 'topology' };

type Questioner = ReturnType<typeof createQuestioner>;
/** One address for all slots, or one per slot. */
type Owners = string | readonly (string | undefined)[];

export function createTopology(options: TopologyOptions): Topology {
  const { target } = options;
  const [first] = target.nodes;
  return target.kind === 'single' && first !== undefined ? fixedTopology(addressOf(first)) : askedTopology(options);
}

function fixedTopology(address: string): Topology {
  const primaries = new Set([address]);
  return {
    ownerOf: () => address,
    primaries: () => primaries,
    refresh: () => undefined,
    moved: () => undefined,
    onChange: () => undefined,
    close: () => undefined,
  };
}

/** @throws Error if the sentinel does not know the name */
async function askSentinel(client: Questioner, master: string): Promise<string> {
  const reply = await client.sendCommand<[string, string] | null>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master]);
  if (reply === null) throw new Error('the sentinel does not know the master name');
  return addressOf({ host: reply[0], port: Number(reply[1]) });
}

type SlotRange = [from: number, to: number, primary: [host: string | null, port: number], ...replicas: unknown[]];

/** @throws Error if the node knows no slots: it was removed from its cluster */
async function askCluster(client: Questioner, asked: string): Promise<Owners> {
  const ranges = await client.sendCommand<SlotRange[]>(['CLUSTER', 'SLOTS']);
  if (ranges.length === 0) throw new Error('the node knows no slots');
  const owners = Array.from<string | undefined>({ length: SLOTS });
  const askedHost = asked.slice(0, asked.lastIndexOf(':'));
  for (const [from, to, [host, port]] of ranges) {
    // `?`: the node does not know yet. Empty: its own host, which it does not know.
    if (host === '?') continue;
    owners.fill(addressOf({ host: host || askedHost, port: Number(port) }), Number(from), Number(to) + 1);
  }
  return owners;
}

const sameOwners = (one: Owners | undefined, other: Owners): boolean =>
  typeof one === 'object' && typeof other === 'object'
    ? one.every((owner, slot) => owner === other[slot])
    : one === other;

/** Asks one node or sentinel all the time; the next one if it does not answer. */
function askedTopology({ target, name, log }: TopologyOptions): Topology {
  let owners: Owners | undefined;
  let primaries: ReadonlySet<string> = new Set();
  const listeners: (() => void)[] = [];
  let questioner: { client: Questioner; address: string } | undefined;
  let turn = 0;
  let closed = false;
  let asking = false;
  let reported = false;
  let timer: NodeJS.Timeout | undefined;
  let askedAt = -Infinity;

  /** Nodes that own slots first: the URL's may no longer exist. */
  const candidates = (): string[] => {
    const configured = target.nodes.map(addressOf);
    return [...new Set(target.kind === 'cluster' ? [...primaries, ...configured] : configured)];
  };

  function apply(answer: Owners): void {
    if (closed || sameOwners(owners, answer)) return;
    owners = answer;
    primaries = new Set(typeof answer === 'string' ? [answer] : answer.filter((owner) => owner !== undefined));
    for (const listener of listeners) listener();
  }

  async function ask(address: string): Promise<Owners> {
    if (questioner?.address !== address) {
      if (questioner?.client.isOpen === true) questioner.client.destroy();
      const credentials = target.sentinel?.credentials ?? target.credentials;
      const options = { tls: target.tls, credentials, name: `${name}-topology`, deadlineMs: ASK_DEADLINE_MS };
      questioner = { client: createQuestioner(address, options), address };
      await withinDeadline(questioner.client.connect(), ASK_DEADLINE_MS);
    }
    const { client } = questioner;
    const question =
      target.sentinel === undefined ? askCluster(client, address) : askSentinel(client, target.sentinel.master);
    return withinDeadline<Owners>(question, ASK_DEADLINE_MS);
  }

  async function askUntilAnswered(): Promise<void> {
    const asked = candidates();
    const start = questioner === undefined ? -1 : asked.indexOf(questioner.address);
    turn = start === -1 ? turn : start;
    let lastError: unknown;
    for (let tries = 0; tries < asked.length && !closed; tries += 1) {
      try {
        const answer = await ask(asked[turn % asked.length] ?? '');
        if (reported) log.reconnected(ABOUT);
        reported = false;
        apply(answer);
        return;
      } catch (error) {
        if (questioner?.client.isOpen === true) questioner.client.destroy();
        questioner = undefined;
        lastError = error;
        turn += 1;
      }
    }
    if (!closed && !reported) log.disconnected(ABOUT, lastError);
    reported = true;
  }

  function schedule(inMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(run, inMs).unref();
  }

  function run(): void {
    if (asking || closed) return;
    asking = true;
    askedAt = performance.now();
    void askUntilAnswered().finally(() => {
      asking = false;
      if (!closed) schedule(ASK_EVERY_MS);
    });
  }

  run();
  return {
    ownerOf: (key) => (typeof owners === 'object' ? owners[slotOf(key)] : owners),
    primaries: () => primaries,
    refresh() {
      if (!closed && !asking) schedule(Math.max(0, askedAt + ASK_PAUSE_MS - performance.now()));
    },
    moved(slot, address) {
      if (typeof owners === 'object' && owners[slot] !== address) apply(owners.with(slot, address));
    },
    onChange: (listener) => void listeners.push(listener),
    close() {
      closed = true;
      clearTimeout(timer);
      if (questioner?.client.isOpen === true) questioner.client.destroy();
    },
  };
}
