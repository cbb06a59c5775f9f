import { setTimeout as delay } from 'node:timers/promises';
import {
  ERRORS,
  SERVER_EVENTS,
  type ClientEventName,
  type ErrorCode,
  type MessageSend,
  type ServerEventName,
  type ServerEventPayload,
} from '@uswarm/contract';
import { io, type Socket } from 'socket.io-client';
import { Failure } from './failure.js';
import type { ServerEvent } from './turn.js';
import { createWorkspacePosition } from './workspace-position.js';

/** A socket with a subscription to a workspace, which it renews after each reconnect. */
export interface Realtime {
  send(message: MessageSend): void;
  /** @returns a function that removes the listener */
  onEvent(listener: (event: ServerEvent) => void): () => void;
  /** Called when events may have been missed. */
  onGap(listener: () => void): () => void;
  /** Rejects with a Failure when the server permanently rejects the connection. */
  rejected: Promise<never>;
  /** The position up to which events were received. */
  position(): string | number | undefined;
  /** Resolves when the server has confirmed the subscription. */
  subscribed: Promise<void>;
  close(): void;
}

export interface RealtimeDeps {
  url: string;
  workspaceId: string;
  /** Called for each connection attempt. */
  idToken: () => Promise<string>;
  note: (text: string) => void;
  /** The position of an earlier chat: the events after it are received. */
  since?: string | number | undefined;
}

const RETRY_MS = 1_000;

/** Starts to connect. Listeners that are added synchronously receive all events. */
export function openRealtime(deps: RealtimeDeps): Realtime {
  const listeners = createListeners();
  const subscribed = Promise.withResolvers<void>();
  const rejected = Promise.withResolvers<never>();
  // Callers may ignore it.
  rejected.promise.catch(() => {});

  const position = createWorkspacePosition(deps.workspaceId, deps.since);
  const { socket, close, subscribe } = openSocket(deps, position.current, rejected.reject);
  socket.onAny((name: string, payload: unknown) => {
    const event = parseEvent(name, payload, deps.note);
    if (event === undefined) return;
    position.apply(event);
    listeners.emit(event);
  });
  let subscribedBefore = false;
  listeners.onEvent((event) => {
    if (event.name === 'workspace.resync') void subscribe(event.payload.in_ms).then(listeners.emitGap);
    if (event.name !== 'workspace.subscribed') return;
    const rejection = event.payload.rejected.find(({ workspace_id: id }) => id === deps.workspaceId);
    if (rejection !== undefined) {
      const { message, retryable } = ERRORS[rejection.code];
      // The server subscribes later by itself.
      if (retryable) deps.note(`waiting for the workspace: ${message}`);
      else rejected.reject(new Failure(`uswarm rejected the workspace: ${message}`));
      return;
    }
    subscribed.resolve();
    if (subscribedBefore) {
      deps.note('reconnected');
      listeners.emitGap();
    }
    subscribedBefore = true;
  });
  return {
    send: (message) => emit(socket, 'message.send', message),
    onEvent: listeners.onEvent,
    onGap: listeners.onGap,
    position: position.current,
    rejected: rejected.promise,
    subscribed: subscribed.promise,
    close,
  };
}

function emit(socket: Socket, name: ClientEventName, payload: object): void {
  socket.emit(name, payload);
}

function openSocket(
  { url, workspaceId, idToken, note }: RealtimeDeps,
  since: () => string | number | undefined,
  reject: (failure: Failure) => void,
) {
  const closing = new AbortController();
  let resumeToken: string | undefined;
  const socket = io(`${url}/v1`, {
    path: '/socket.io/',
    multiplex: false,
    timeout: 10_000,
    reconnectionDelayMax: 5_000,
    auth: (send) =>
      void idToken().then(
        (token) => send({ 'x-token': token, ...(resumeToken !== undefined && { resume_token: resumeToken }) }),
        retryLater,
      ),
  });
  const connectSoon = () =>
    void delay(RETRY_MS, undefined, { signal: closing.signal }).then(
      () => socket.connect(),
      () => {},
    );
  function retryLater() {
    socket.disconnect();
    connectSoon();
  }
  keepConnected(socket, { connectSoon, note, reject });
  socket.on('session.ready', (ready: ServerEventPayload<'session.ready'>) => void (resumeToken = ready.resume_token));
  socket.on('session.ending', ({ code, in_ms: inMs }: ServerEventPayload<'session.ending'>) => {
    // Without a new token the connection ends, and the next one fetches it.
    if (code === 'token_expired' && inMs > 0)
      void idToken().then(
        (token) => emit(socket, 'session.renew', { credentials: { 'x-token': token } }),
        () => undefined,
      );
  });
  function subscribeNow(): void {
    const position = since();
    emit(socket, 'workspace.subscribe', {
      workspace_ids: [workspaceId],
      ...(position !== undefined && { since: { [workspaceId]: position } }),
    });
  }
  socket.on('connect', subscribeNow);
  /** Subscribes again later, unless the chat ends before. */
  const subscribe = (inMs: number) =>
    delay(inMs, undefined, { signal: closing.signal }).then(subscribeNow, () => undefined);
  const close = () => {
    closing.abort();
    socket.disconnect();
  };
  return { socket, close, subscribe };
}

/** Rejects with the signal's reason when it is aborted. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}

interface ConnectionHandlers {
  connectSoon: () => void;
  note: (text: string) => void;
  reject: (failure: Failure) => void;
}

/** socket.io retries failed attempts, but does not reconnect when the server closes the session, for example after token expiry. */
function keepConnected(socket: Socket, { connectSoon, note, reject }: ConnectionHandlers): void {
  let reported = false;
  const report = (text: string) => {
    if (!reported) note(text);
    reported = true;
  };
  socket.on('connect', () => void (reported = false));
  socket.on('disconnect', (reason) => {
    if (reason === 'io client disconnect') return;
    report('connection lost; reconnecting');
    if (!socket.active) connectSoon();
  });
  socket.on('connect_error', (error: Error & { data?: unknown }) => {
    if (socket.active) return report('connection failed; will retry');
    const code = errorCode(error.data);
    if (code === undefined) return reject(new Failure(`uswarm rejected the connection: ${error.message}`));
    reject(new Failure(`uswarm rejected the credentials: ${ERRORS[code].message} (${code})`));
  });
}

function errorCode(data: unknown): ErrorCode | undefined {
  const code = (data as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : undefined;
}

/** Returns undefined for unknown events, which a newer server may send, and for malformed events, which are reported. */
function parseEvent(name: string, payload: unknown, note: (text: string) => void): ServerEvent | undefined {
  if (!Object.hasOwn(SERVER_EVENTS, name)) return undefined;
  const parsed = SERVER_EVENTS[name as ServerEventName].payload.safeParse(payload);
  if (parsed.success) return { name, payload: parsed.data } as ServerEvent;
  note(`the event ${name} is malformed and was ignored`);
  return undefined;
}

function createListeners() {
  const events = new Set<(event: ServerEvent) => void>();
  const gaps = new Set<() => void>();
  return {
    emit: (event: ServerEvent) => events.forEach((listener) => listener(event)),
    emitGap: () => gaps.forEach((listener) => listener()),
    onEvent: (listener: (event: ServerEvent) => void) => added(events, listener),
    onGap: (listener: () => void) => added(gaps, listener),
  };
}

function added<Listener>(set: Set<Listener>, listener: Listener): () => void {
  set.add(listener);
  return () => void set.delete(listener);
}
