import { randomUUID } from 'node:crypto';
import { type ErrorCode, ERRORS, SESSION_ENDINGS, type SessionEndingCode } from '@uswarm/contract';
import { type Failure, laterEvent, serverEvent, type ServerEvent } from './checks.js';
import { type Connection, seqOf, type Since } from './connection.js';
import { Sightings, type Transport } from './seen.js';
import { type SseFormat, usualFormat } from './sse-format.js';
import { World } from './world.js';

/** Faults of one send. By default the message is stored and acknowledged. */
export interface SendOutcome {
  /** Default: true, unless it is refused. */
  stored?: boolean;
  refuse?: Failure & { unknownWhetherStored?: boolean };
  /** True: all connections are cut before the answer. `answer`: only the REST response is lost. */
  lost?: boolean | 'answer';
  /** The answer follows after this. */
  after?: Promise<void>;
  /** Devices receive `message.new` before the answer; default: after it. */
  eventFirst?: boolean;
}

interface Draft {
  localId: string;
  text: string;
  by: 'socket' | 'rest';
}

/** The answer to a message; undefined: the connection is cut instead. */
export type SendResult = { messageId: string; event: () => void } | { refusal: NonNullable<SendOutcome['refuse']> };

const LIMITS = {
  subscriptions: 50,
  events_per_second: 20,
  events_burst: 40,
  events_queued: 64,
  refusals_per_second: 20,
  refusals_burst: 1_000,
  event_bytes: 262_144,
  unread_bytes: 1_048_576,
};

/** One workspace with faults. It speaks the wire protocol of uswarm over a socket, server-sent events and REST. */
export class ScriptedServer {
  readonly world = new World();
  readonly seen = new Sightings();
  readonly connections = new Set<Connection>();
  /** By token: the code that it is refused with; null if it is valid. */
  readonly tokens = new Map<string, ErrorCode | null>([['token-1', null]]);
  /** The token that a client gets from now on. */
  token = 'token-1';
  /** Outcomes for the next sends, in this order. */
  readonly outcomes: SendOutcome[] = [];
  /** Failures for the next requests, by `operationId`; `stream` and `connect` fail connection attempts. */
  readonly failures = new Map<string, Failure[]>();
  /** Only a resume token admits a connection. */
  credentialsUnavailable = false;
  /** The `in_ms` of `workspace.resync`. */
  resyncInMs = 0;
  expiresInMs: number | null = 3_600_000;
  /** Called when the first page of messages has been read, before it is sent. */
  onSnapshot: () => void = () => undefined;
  readonly sse: SseFormat = usualFormat();
  /** Ends the requests that are open. */
  onUnreachable: () => void = () => undefined;
  url = '';
  readonly #resumeTokens = new Set<string>();
  readonly #renewed = new WeakSet<Connection>();
  /** Message events whose sender does not know that the message is stored. */
  readonly #late: ServerEvent[] = [];
  #isReachable = true;

  constructor() {
    this.world.publish = (event) => this.deliver(event);
  }

  /** False closes open connections and refuses new ones. */
  get reachable(): boolean {
    return this.#isReachable;
  }

  set reachable(reachable: boolean) {
    this.#isReachable = reachable;
    if (reachable) return;
    this.onUnreachable();
    this.cut();
  }

  /** Loses all connections; the client can connect again. */
  cut(): void {
    for (const connection of this.connections) connection.cut();
  }

  /** Sends an event to the subscribed connections. */
  deliver(event: ServerEvent): void {
    for (const connection of this.connections) if (connection.subscribed) connection.emit(event, seqOf(event));
  }

  /** @returns what `change` would have sent, in order: nothing is sent, but it is stored */
  withheld(change: () => void): ServerEvent[] {
    const events: ServerEvent[] = [];
    const { publish } = this.world;
    this.world.publish = (event) => void events.push(event);
    try {
      change();
    } finally {
      this.world.publish = publish;
    }
    return events;
  }

  end(
    code: SessionEndingCode,
    { inMs = 0, laterCode, reconnect = SESSION_ENDINGS[code].reconnect }: Ending = {},
  ): void {
    const known = serverEvent('session.ending', { code, reconnect, in_ms: inMs });
    const event =
      laterCode === undefined
        ? known
        : laterEvent(known, (payload: { code: string }) => void (payload.code = laterCode));
    for (const connection of this.connections) {
      connection.emit(event);
      if (inMs === 0) connection.close(reconnect);
      else setTimeout(() => this.#renewed.has(connection) || connection.close(reconnect), inMs).unref();
    }
  }

  /** @returns the failure that is planned for the next request of this operation */
  plannedFailure(operation: string): Failure | undefined {
    return this.failures.get(operation)?.shift();
  }

  /** @returns why the credentials are not accepted; undefined if they are */
  refusal(token: string | undefined, resumeToken?: string): Failure | 'transient' | undefined {
    if (resumeToken !== undefined && this.#resumeTokens.has(resumeToken)) return undefined;
    if (this.credentialsUnavailable) return 'transient';
    if (token === undefined) return { code: 'token_missing' };
    const known = this.tokens.get(token);
    if (known === undefined) return { code: 'token_invalid' };
    return known === null ? undefined : { code: known };
  }

  /** From now on the client gets this token; the others are refused. */
  rotate(token: string, refusedWith: ErrorCode = 'token_expired'): void {
    for (const old of this.tokens.keys()) this.tokens.set(old, refusedWith);
    this.tokens.set(token, null);
    this.token = token;
    this.#resumeTokens.clear();
  }

  admit(connection: Connection, resumed: boolean): void {
    this.connections.add(connection);
    this.ready(connection, resumed);
  }

  ready(connection: Connection, resumed = false): void {
    const resumeToken = randomUUID();
    this.#resumeTokens.add(resumeToken);
    const session = {
      session_id: '0192d3a4-0000-7000-8000-00000000f001',
      resumed,
      resume_token: resumeToken,
      expires_in_ms: this.expiresInMs,
      limits: LIMITS,
    };
    connection.emit(serverEvent('session.ready', session));
  }

  left(connection: Connection): void {
    if (this.connections.delete(connection)) this.seen.add({ kind: 'closed' });
  }

  renew(connection: Connection, token: string): void {
    this.seen.add({ kind: 'renew', token });
    const refusal = this.refusal(token);
    if (refusal === undefined) {
      this.#renewed.add(connection);
      return this.ready(connection);
    }
    const code = refusal === 'transient' ? 'service_unavailable' : refusal.code;
    const { message, retryable } = ERRORS[code];
    connection.emit(serverEvent('session.renew.error', { error: message, code, retryable, request_id: 'conformance' }));
  }

  /** Sends the events after the client's position, or tells it to reload. */
  subscribe(connection: Connection, since: Since, resumesBy: 'cursor' | 'since' | undefined): void {
    const { world, seen } = this;
    seen.add({ kind: 'subscribe', since, resumesBy });
    const streams = [...world.streams].map(([messageId, { generation, chunkSeq, text }]) => ({
      message_id: messageId,
      conversation_id: world.conversationId,
      agent_id: world.agentId,
      generation,
      chunk_seq: chunkSeq,
      text,
    }));
    const by = <Value>(value: Value) => ({ [world.workspaceId]: value });
    const subscribed = {
      workspace_ids: [world.workspaceId],
      rejected: [],
      last_seq: by(world.seq),
      epoch: by(world.epoch),
      state: by({ agents: [], streams }),
    };
    const [epoch, seq] = since === undefined ? [world.epoch, world.seq] : parsed(since, world.epoch);
    connection.emit(serverEvent('workspace.subscribed', subscribed), seq);
    const reason = epoch !== world.epoch || seq > world.seq ? 'diverged' : seq < world.logStart ? 'too_old' : undefined;
    if (reason !== undefined) return this.resync(connection, reason);
    connection.subscribed = true;
    for (const entry of world.log) if (entry.seq > seq) connection.emit(entry.event, entry.seq);
    if (since !== undefined) this.position(connection);
  }

  position(connection: Connection): void {
    const { workspaceId, seq } = this.world;
    connection.emit(serverEvent('workspace.position', { workspace_id: workspaceId, seq }), seq);
  }

  resync(connection: Connection, reason: 'too_old' | 'too_far' | 'diverged'): void {
    connection.subscribed = false;
    const { workspaceId, seq, epoch } = this.world;
    const payload = { workspace_id: workspaceId, last_seq: seq, epoch, reason, in_ms: this.resyncInMs };
    connection.emit(serverEvent('workspace.resync', payload));
  }

  /** @returns undefined if the connection must be cut instead of an answer */
  async send({ localId, text, by }: Draft): Promise<SendResult | undefined> {
    const outcome = this.outcomes.shift() ?? {};
    const { refuse, lost = false, after, stored = refuse === undefined, eventFirst = false } = outcome;
    this.seen.add({ kind: 'send', localId, text, by, outcome: refuse?.code ?? (lost === false ? 'stored' : 'lost') });
    await after;
    const store = () => this.#store(localId, text);
    if (lost !== false) {
      // The client can find the message only in the log, or by sending it again.
      if (lost === true || by === 'socket') this.cut();
      if (stored) store();
      return undefined;
    }
    if (refuse !== undefined) {
      if (stored) this.#late.push(...this.withheld(store));
      return { refusal: refuse };
    }
    let messageId = '';
    const events = this.withheld(() => void (messageId = store()));
    const event = () => [...this.#late.splice(0), ...events].forEach((each) => this.deliver(each));
    if (!eventFirst) return { messageId, event };
    event();
    return { messageId, event: () => undefined };
  }

  #store(localId: string, text: string): string {
    return this.world.byLocalId.get(localId) ?? this.world.user(text, { localId }).id;
  }

  connected(transport: Transport, token: string, resumeToken: string | undefined): void {
    this.seen.add({ kind: 'connect', transport, token, resumeToken });
  }
}

export interface Ending {
  inMs?: number;
  /** Sent in place of the code, as a later release could. */
  laterCode?: string;
  reconnect?: boolean;
}

/** A bare sequence belongs to the present epoch. */
function parsed(since: string, epoch: string): [string, number] {
  const [first = '', second] = since.split(':');
  return second === undefined ? [epoch, Number(first)] : [first, Number(second)];
}
