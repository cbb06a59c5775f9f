import { setTimeout as delay } from 'node:timers/promises';
import {
  ERRORS,
  SERVER_EVENTS,
  type ClientEventName,
  type ErrorCode,
  type MessageSend,
  type ServerEventName,
} from '@uswarm/contract';
import { io, type Socket } from 'socket.io-client';
import { Failure } from './failure.js';
import type { ServerEvent } from './reply.js';

/** A socket that is subscribed to a workspace, and subscribes again whenever it reconnects. */
export interface Realtime {
  send(message: MessageSend): void;
  /** Returns what ends the listening. */
  onEvent(listener: (event: ServerEvent) => void): () => void;
  /** Called when events may have been missed. */
  onGap(listener: () => void): () => void;
  /** Rejects with a Failure when the server refuses the connection for good. */
  refused: Promise<never>;
  /** Kept once the server confirmed the subscription. */
  subscribed: Promise<void>;
  close(): void;
}

export interface RealtimeDeps {
  url: string;
  workspaceId: string;
  /** Asked at each attempt to connect. */
  idToken: () => Promise<string>;
  note: (text: string) => void;
}

const RETRY_MS = 1_000;

/** Begins to connect; listeners that are added at once miss nothing. */
export function openRealtime(deps: RealtimeDeps): Realtime {
  const listeners = createListeners();
  const subscribed = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<never>();
  // Whoever waits for something races against it; nobody has to.
  refused.promise.catch(() => {});

  const { socket, close } = openSocket(deps, refused.reject);
  socket.onAny((name: string, payload: unknown) => {
    const event = parseEvent(name, payload, deps.note);
    if (event !== undefined) listeners.tell(event);
  });
  let before = false;
  listeners.onEvent((event) => {
    if (event.name === 'workspace.resync') listeners.tellGap();
    if (event.name !== 'workspace.subscribed') return;
    const rejection = event.payload.rejected.find(({ workspace_id: id }) => id === deps.workspaceId);
    if (rejection !== undefined)
      return refused.reject(new Failure(`uswarm refused the workspace: ${ERRORS[rejection.code].message}`));
    subscribed.resolve();
    if (before) {
      deps.note('connected again');
      listeners.tellGap();
    }
    before = true;
  });
  return {
    send: (message) => emit(socket, 'message.send', message),
    onEvent: listeners.onEvent,
    onGap: listeners.onGap,
    refused: refused.promise,
    subscribed: subscribed.promise,
    close,
  };
}

function emit(socket: Socket, name: ClientEventName, payload: object): void {
  socket.emit(name, payload);
}

function openSocket({ url, workspaceId, idToken, note }: RealtimeDeps, refuse: (failure: Failure) => void) {
  const closing = new AbortController();
  const socket = io(`${url}/v1`, {
    path: '/socket.io/',
    multiplex: false,
    timeout: 10_000,
    reconnectionDelayMax: 5_000,
    auth: (send) => void idToken().then((token) => send({ 'x-token': token }), startOver),
  });
  const connectSoon = () =>
    void delay(RETRY_MS, undefined, { signal: closing.signal }).then(
      () => socket.connect(),
      () => {},
    );
  function startOver() {
    socket.disconnect();
    connectSoon();
  }
  keepConnected(socket, { connectSoon, note, refuse });
  socket.on('connect', () => emit(socket, 'workspace.subscribe', { workspace_ids: [workspaceId] }));
  const close = () => {
    closing.abort();
    socket.disconnect();
  };
  return { socket, close };
}

/** Rejects with the signal's reason when it is aborted. */
export function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}

interface Connecting {
  connectSoon: () => void;
  note: (text: string) => void;
  refuse: (failure: Failure) => void;
}

/** socket.io repeats failed attempts by itself, but not when the server ended the session, such as of an expired token. */
function keepConnected(socket: Socket, { connectSoon, note, refuse }: Connecting): void {
  let trouble = false;
  const report = (text: string) => {
    if (!trouble) note(text);
    trouble = true;
  };
  socket.on('connect', () => void (trouble = false));
  socket.on('disconnect', (reason) => {
    if (reason === 'io client disconnect') return;
    report('connection lost; connecting again');
    if (!socket.active) connectSoon();
  });
  socket.on('connect_error', (error: Error & { data?: unknown }) => {
    if (socket.active) return report('no connection; trying again');
    const code = refusalCode(error.data);
    if (code === undefined) return refuse(new Failure(`uswarm refused the connection: ${error.message}`));
    refuse(new Failure(`uswarm refused the credentials: ${ERRORS[code].message} (${code})`));
  });
}

function refusalCode(data: unknown): ErrorCode | undefined {
  const code = (data as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : undefined;
}

/** Undefined for events that are newer than this program; a malformed one is reported. */
function parseEvent(name: string, payload: unknown, note: (text: string) => void): ServerEvent | undefined {
  if (!Object.hasOwn(SERVER_EVENTS, name)) return undefined;
  const parsed = SERVER_EVENTS[name as ServerEventName].payload.safeParse(payload);
  if (parsed.success) return { name, payload: parsed.data } as ServerEvent;
  note(`the event ${name} is not the documented one and was ignored`);
  return undefined;
}

function createListeners() {
  const events = new Set<(event: ServerEvent) => void>();
  const gaps = new Set<() => void>();
  return {
    tell: (event: ServerEvent) => events.forEach((listener) => listener(event)),
    tellGap: () => gaps.forEach((listener) => listener()),
    onEvent: (listener: (event: ServerEvent) => void) => added(events, listener),
    onGap: (listener: () => void) => added(gaps, listener),
  };
}

function added<Listener>(set: Set<Listener>, listener: Listener): () => void {
  set.add(listener);
  return () => void set.delete(listener);
}
