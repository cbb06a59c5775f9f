import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ClientProcess, type ClientState, type ShownMessage } from './client-process.js';
import type { ServerEvent } from './server/checks.js';
import type { ScriptedServer } from './server/scripted-server.js';
import type { SeenOf, Transport } from './server/seen.js';
import type { World } from './server/world.js';

type Shown = string | Partial<ShownMessage>;

/** The state that a client must show. Absent fields are not compared; messages are all of them, in order. */
export interface Expected {
  connection?: string;
  messages?: Shown[];
  /** The last messages only. */
  last?: Shown[];
  conversation?: Partial<NonNullable<ClientState['conversation']>> | null;
  error?: string | null;
}

export interface StageOptions {
  command: readonly string[];
  cwd: string;
  transport: Transport;
  /** Milliseconds until an expectation must hold. */
  patienceMs: number;
  /** Survives a client restart. */
  store: string;
}

const POLL_MS = 40;
/** Milliseconds in which a client that must not do something would have done it: several reconnect delays. */
const QUIET_MS = 1_500;

/** What a scenario uses: the server, its world, and the client. */
export class Stage {
  readonly server: ScriptedServer;
  readonly world: World;
  readonly transport: Transport;
  readonly #options: StageOptions;
  #client: ClientProcess | undefined;
  #log = '';

  constructor(server: ScriptedServer, options: StageOptions) {
    this.server = server;
    this.#options = options;
    this.transport = options.transport;
    this.world = server.world;
  }

  get client(): ClientProcess {
    if (this.#client === undefined) throw new Error('The client is not started');
    return this.#client;
  }

  get log(): string {
    return this.#log + (this.#client?.log ?? '');
  }

  /** Starts the client without waiting for its connection. */
  launch(): void {
    const { command, cwd, store, transport, patienceMs: answerMs } = this.#options;
    const { server, world } = this;
    const env = {
      ...process.env,
      USWARM_URL: server.url,
      USWARM_TOKEN: server.token,
      USWARM_TOKEN_URL: `${server.url}/token`,
      USWARM_WORKSPACE: world.workspaceId,
      USWARM_CONVERSATION: world.conversationId,
      USWARM_TRANSPORT: transport,
      USWARM_STORE: store,
    };
    this.#client = new ClientProcess({ command, cwd, env, answerMs });
  }

  /** Starts the client, and waits until it is connected. */
  async start(): Promise<void> {
    this.launch();
    await this.live();
  }

  /** Kills the client. */
  async kill(): Promise<void> {
    await this.client.kill();
    this.#log += this.client.log;
    await this.until('the connection of the killed client is closed', () => this.server.connections.size === 0);
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }

  /** Waits until the client shows that it is connected, and is. */
  async live(): Promise<void> {
    await this.shows({ connection: 'live' });
    await this.until('the client is subscribed', () => [...this.server.connections].some((each) => each.subscribed));
  }

  /** Waits until the client shows that it is not connected. */
  async offline(): Promise<void> {
    await this.#poll((state) => state.connection !== 'live', 'a connection that is not live');
  }

  /** Requires that the client shows the end of its session, and does not connect again. */
  async ended(code?: string): Promise<void> {
    const hasEnded = ({ connection, error }: ClientState) =>
      !['live', 'connecting'].includes(connection) && (code === undefined ? error !== null : error === code);
    const what = `a session that ended with ${code ?? 'a code'}`;
    await this.#poll(hasEnded, what);
    const attempts = this.seen('connect').length;
    await sleep(QUIET_MS);
    this.require('The client connects again after the end of its session', this.seen('connect').length === attempts);
    await this.#poll(hasEnded, what);
  }

  /** Cuts the connection, and waits until the client has connected again. */
  async reconnects(cause: () => void | Promise<void> = () => this.server.cut()): Promise<void> {
    const before = this.seen('subscribe').length;
    await cause();
    await this.until('the client connects and subscribes again', () => this.seen('subscribe').length > before);
    await this.live();
  }

  /** Requires that these user messages are stored, once each and in this order, and were never sent under two ids. */
  stored(...texts: string[]): void {
    const stored = this.world.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    this.require('The service stored', isDeepStrictEqual(stored.map(textOf), texts), stored.map(textOf));
    const ids = new Set(this.seen('send').map(({ localId, text }) => `${text}: ${localId}`));
    this.require('Messages were sent with more than one local_id', ids.size === texts.length, [...ids]);
  }

  async send(...texts: string[]): Promise<void> {
    for (const text of texts) await this.client.send(text);
  }

  /** Delivers events in this order, whatever their sequence is. */
  deliver(...events: ServerEvent[]): void {
    for (const event of events) this.server.deliver(event);
  }

  seen<Kind extends Parameters<ScriptedServer['seen']['of']>[0]>(kind: Kind): SeenOf<Kind>[] {
    return this.server.seen.of(kind);
  }

  /** Waits until the client shows this. */
  async shows(expected: Expected): Promise<void> {
    await this.#poll((state) => matches(state, expected), expected);
  }

  async #poll(condition: (state: ClientState) => boolean, expected: unknown): Promise<void> {
    const deadline = performance.now() + this.#options.patienceMs;
    for (;;) {
      const state = await this.client.state();
      if (condition(state)) return;
      if (performance.now() > deadline) throw new Unmet(expected, state);
      await sleep(POLL_MS);
    }
  }

  /** Requires that the client shows this now and for a while. */
  async keeps(expected: Expected, ms = QUIET_MS): Promise<void> {
    await this.shows(expected);
    const end = performance.now() + ms;
    do {
      const state = await this.client.state();
      if (!matches(state, expected)) throw new Unmet(expected, state);
      await sleep(POLL_MS);
    } while (performance.now() < end);
  }

  /** Waits for something that the server sees. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const deadline = performance.now() + this.#options.patienceMs;
    while (!condition()) {
      if (performance.now() > deadline) throw new Error(`Not seen by the server: ${what}`);
      await sleep(POLL_MS / 2);
    }
  }

  async wait(ms: number): Promise<void> {
    await sleep(ms);
  }

  /** Adds a message, and waits until the client shows it behind these: then it has handled all events before. */
  async settles(...messages: Shown[]): Promise<void> {
    this.world.agent('and then');
    await this.shows({ messages: [...messages, 'and then'] });
  }

  require(what: string, condition: boolean, detail: unknown = ''): void {
    if (!condition) throw new Error(`${what}${detail === '' ? '' : `: ${JSON.stringify(detail)}`}`);
  }
}

const textOf = (content: object): string => ('text' in content ? String(content.text) : '');

class Unmet extends Error {
  constructor(expected: unknown, state: ClientState) {
    super(
      `Expected ${short(expected)}\n  but the client shows ${short({ ...state, messages: state.messages.map(brief) })}`,
    );
  }
}

const brief = ({ role, text, state, status, local_id: localId, selected }: ShownMessage) => ({
  role,
  text,
  status,
  state,
  ...(localId !== null && { local_id: localId }),
  ...(selected !== undefined && { selected }),
});

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 1_500 ? `${text.slice(0, 700)} … ${text.slice(-700)}` : text;
}

function matches(state: ClientState, { messages, last, ...rest }: Expected): boolean {
  if (messages !== undefined && messages.length !== state.messages.length) return false;
  const expected = messages ?? last ?? [];
  const shown = expected.length === 0 ? [] : state.messages.slice(-expected.length);
  const same = expected.every((each, index) =>
    contains(shown[index], typeof each === 'string' ? { text: each } : each),
  );
  return same && contains(state, rest);
}

function contains(value: unknown, expected: unknown): boolean {
  if (expected === undefined) return true;
  if (typeof expected !== 'object' || expected === null) return isDeepStrictEqual(value, expected);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(expected).every(([key, each]) => contains((value as Record<string, unknown>)[key], each));
}
