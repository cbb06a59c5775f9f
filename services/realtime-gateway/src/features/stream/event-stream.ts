import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ApiError, ERRORS, SERVER_EVENTS, type ServerEventName, type ServerEventPayload } from '@uswarm/contract';
import type { Timers } from '../../timers.js';
import type { Since } from '../hub/since.js';
import { encodeCursor } from './cursor.js';
import { errorBody, readErrorBody, refuse } from './refuse.js';
import type { StreamRequest } from './stream-request.js';

/** A packet of engine.io. */
interface Packet {
  type: string;
  data?: unknown;
}

/** Packets of socket.io for its namespace, as its encoder writes them. */
const CONNECT = '0/v1,';
const EVENT = /^2\/v1,\[("(?:[^"\\]|\\.)*"),/;
const SUBSCRIBE = '2/v1,0';
const SUBSCRIBED = '3/v1,0';
const CONNECT_ERROR = '4/v1,';

/** Proxies end a response after a minute without a byte, some of them earlier. */
const KEEP_ALIVE_MS = 15_000;
const COMMENT = ':\n\n';
/** Milliseconds in which a client can read the last part of the response. */
const LINGER_MS = 30_000;
/** Milliseconds after which a client connects again. */
const RETRY_MS = { least: 1_000, spread: 2_000 };

/** Events without a position. Unknown ones may have one. */
const WITHOUT_POSITION: ReadonlySet<string> = new Set(
  (Object.keys(SERVER_EVENTS) as ServerEventName[]).filter(
    (name) => !('seq' in SERVER_EVENTS[name].payload.shape) || name === 'workspace.subscribed',
  ),
);

/**
 * An engine.io transport that writes socket.io events to a response, as server-sent events. It sends the packets of a
 * client that connects and subscribes, so that a stream is a socket to all other code. See
 * docs/adr/0050-serve-event-streams-as-a-transport.md.
 */
export class EventStream extends EventEmitter {
  /** engine.io reads a transport's possible upgrades by its name. A WebSocket has none. */
  readonly name = 'websocket';
  sid = '';
  writable = true;
  readyState: 'open' | 'closing' | 'closed' = 'open';
  /** The used part of a WebSocket. */
  readonly socket: { readonly bufferedAmount: number; terminate(): void; pause(): void };
  readonly #response: ServerResponse;
  readonly #request: StreamRequest;
  readonly #timers: Timers;
  /** The position after the frames that were written, of each workspace that has one. */
  readonly #positions: Map<string, Since>;
  readonly #epochs = new Map<string, string>();
  /** Frames that are not written yet. */
  #text = '';
  #hasBegun = false;
  #mustPong = false;
  #cancelTimer: (() => void) | undefined;

  constructor(response: ServerResponse, request: StreamRequest, timers: Timers) {
    super();
    this.#response = response;
    this.#request = request;
    this.#timers = timers;
    this.#positions = new Map(request.since);
    this.socket = {
      get bufferedAmount() {
        return response.writableLength;
      },
      terminate: () => response.destroy(),
      // A stream client sends nothing.
      pause: () => undefined,
    };
    // Without a listener, a write that is too late would end the process.
    response.on('error', () => undefined);
    response.once('close', () => {
      this.#cancelTimer?.();
      if (this.readyState === 'open') this.#closed();
    });
  }

  /** engine.io has a session for this transport. */
  connect(): void {
    if (this.readyState === 'closed') this.emit('close');
    else this.#say(CONNECT, this.#request.auth);
  }

  onRequest(): void {}

  discard(): void {}

  send(packets: readonly Packet[]): void {
    this.writable = false;
    for (const { type, data } of packets) {
      if (type === 'ping') this.#ping();
      else if (type === 'message') this.#receive(String(data));
    }
    if (this.#hasBegun && this.#text !== '') this.#response.write(this.#take(), this.#written);
    else queueMicrotask(this.#written);
  }

  close(done: () => void = () => undefined): void {
    if (this.readyState !== 'open') return;
    this.readyState = 'closing';
    this.#cancelTimer?.();
    if (!this.#hasBegun && this.#text === '') refuse(this.#response, errorBody(new ApiError('service_unavailable')));
    else {
      this.#begin();
      this.#response.end(this.#take());
      this.#cancelTimer = this.#timers.after(LINGER_MS, () => this.#response.destroy());
    }
    done();
  }

  readonly #written = (): void => {
    this.writable = true;
    if (this.#mustPong) this.emit('packet', { type: 'pong' });
    this.#mustPong = false;
    this.emit('drain');
    this.emit('ready');
  };

  /** Answered when the comment is written: a client that does not read is closed as one that does not answer. */
  #ping(): void {
    this.#mustPong = true;
    if (this.#hasBegun) this.#text += COMMENT;
  }

  /** A client packet. */
  #say(kind: string, payload: unknown): void {
    this.emit('packet', { type: 'message', data: `${kind}${JSON.stringify(payload)}` });
  }

  #receive(data: string): void {
    const [start, name] = EVENT.exec(data) ?? [];
    if (start !== undefined && name !== undefined) this.#text += this.#frame(name, data.slice(start.length, -1));
    else if (data.startsWith(CONNECT)) queueMicrotask(() => this.#subscribe());
    else if (data.startsWith(SUBSCRIBED)) this.#subscribed(JSON.parse(data.slice(SUBSCRIBED.length))[0]);
    else if (data.startsWith(CONNECT_ERROR)) this.#refuse(JSON.parse(data.slice(CONNECT_ERROR.length)).data);
  }

  #subscribe(): void {
    const { workspaceIds, since } = this.#request;
    const positions = [...since].map(([id, { epoch, seq }]) => [id, epoch === undefined ? seq : `${epoch}:${seq}`]);
    const payload = { workspace_ids: workspaceIds, since: Object.fromEntries(positions) };
    this.#say(SUBSCRIBE, ['workspace.subscribe', payload]);
  }

  /** The response begins when it is known that there is a workspace with events. */
  #subscribed(answer: Partial<ServerEventPayload<'workspace.subscribed'>>): void {
    const { workspace_ids: ids, rejected = [] } = answer;
    if (ids === undefined) this.#refuse(answer);
    else if (ids.length > 0) this.#begin();
    else {
      const { code } = rejected.find((one) => ERRORS[one.code].retryable) ?? rejected[0] ?? {};
      this.#refuse(errorBody(new ApiError(code ?? 'service_unavailable')));
    }
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const retryMs = Math.round(RETRY_MS.least + RETRY_MS.spread * Math.random());
    this.#text = `retry: ${retryMs}\n\n${this.#text}`;
    this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
    if (this.readyState === 'open') this.#keepAlive();
  }

  #keepAlive(): void {
    this.#cancelTimer = this.#timers.after(KEEP_ALIVE_MS, () => {
      this.#response.write(COMMENT);
      this.#keepAlive();
    });
  }

  #refuse(error: unknown): void {
    this.#text = '';
    refuse(this.#response, readErrorBody(error));
    // Not within a call of engine.io.
    queueMicrotask(() => this.#closed());
  }

  #closed(): void {
    this.readyState = 'closed';
    this.emit('close');
  }

  #take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  /** @param name as JSON; a frame has one line per field, and JSON has no line breaks */
  #frame(name: string, payload: string): string {
    const event = String(JSON.parse(name)).replaceAll(/[\r\n]/g, '');
    const id = this.#advance(event, payload) ? `id: ${encodeCursor(this.#positions)}\n` : '';
    return `event: ${event}\n${id}data: ${payload}\n\n`;
  }

  /**
   * A workspace with `workspace.resync` keeps its position until the client sends another one: a client that ends before it has reloaded
   * the workspace is told again.
   *
   * @returns whether the event has a position
   */
  #advance(event: string, payload: string): boolean {
    if (event === 'workspace.subscribed') {
      this.#startFrom(JSON.parse(payload) as ServerEventPayload<'workspace.subscribed'>);
      return true;
    }
    if (WITHOUT_POSITION.has(event)) return false;
    const { workspace_id: id, seq } = JSON.parse(payload) as { workspace_id?: string; seq?: number };
    if (id === undefined || !this.#positions.has(id) || !Number.isSafeInteger(seq)) return false;
    this.#positions.set(id, positionOf(seq ?? 0, this.#epochs.get(id)));
    return true;
  }

  #startFrom({ workspace_ids: ids, rejected, last_seq, epoch = {} }: ServerEventPayload<'workspace.subscribed'>): void {
    for (const id of ids) {
      const current = epoch[id];
      if (current !== undefined) this.#epochs.set(id, current);
      if (!this.#positions.has(id)) this.#positions.set(id, positionOf(last_seq[id] ?? 0, current));
    }
    for (const { workspace_id: id, code } of rejected) if (!ERRORS[code].retryable) this.#positions.delete(id);
  }
}

const positionOf = (seq: number, epoch: string | undefined): Since => ({ seq, ...(epoch !== undefined && { epoch }) });
