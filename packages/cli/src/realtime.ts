import type { Client, Store, UswarmError } from '@uswarm/client';
import { ERRORS, SERVER_EVENTS, type ErrorCode, type MessageSend, type Workspace } from '@uswarm/contract';
import { Failure } from './failure.js';
import type { ServerEvent } from './turn.js';

/** Workspace events. */
export interface Realtime {
  /** @returns the service's answer as an event */
  send(message: MessageSend): Promise<ServerEvent>;
  /** @returns a function that removes the listener */
  onEvent(listener: (event: ServerEvent) => void): () => void;
  /** Called when events may have been missed. */
  onGap(listener: () => void): () => void;
  /** Rejects with a Failure when the server permanently rejects the connection. */
  rejected: Promise<never>;
  /** The position up to which events were received. */
  position(): string | undefined;
  /** Resolves when the server has confirmed the subscription. */
  subscribed: Promise<void>;
  close(): void;
}

export interface RealtimeDeps {
  client: Client;
  positions: PositionStore;
  workspaceId: string;
  note: (text: string) => void;
}

/** Starts to connect. Listeners that are added synchronously receive all events. */
export function openRealtime({ client, positions, workspaceId, note }: RealtimeDeps): Realtime {
  const events = new Set<(event: ServerEvent) => void>();
  const gaps = new Set<() => void>();
  const subscribed = Promise.withResolvers<void>();
  const rejected = Promise.withResolvers<never>();
  // Callers may ignore it.
  rejected.promise.catch(() => {});

  let subscribedBefore = false;
  function receive(event: ServerEvent): void {
    events.forEach((listener) => listener(event));
    if (event.name !== 'workspace.subscribed') return;
    const rejection = event.payload.rejected.find(({ workspace_id: id }) => id === workspaceId);
    if (rejection !== undefined) {
      const { message, retryable } = ERRORS[rejection.code];
      // The server subscribes later by itself.
      if (retryable) note(`waiting for the workspace: ${message}`);
      else rejected.reject(new Failure(`uswarm rejected the workspace: ${message}`));
      return;
    }
    subscribed.resolve();
    if (subscribedBefore) {
      note('reconnected');
      gaps.forEach((listener) => listener());
    }
    subscribedBefore = true;
  }
  client.on('*', (payload, name) => {
    // A newer server may send others.
    if (Object.hasOwn(SERVER_EVENTS, name)) receive({ name, payload } as ServerEvent);
  });
  noteConnection(client, note, rejected.reject);
  void client.start();
  return {
    send: (message) => send(client, message),
    onEvent: (listener) => added(events, listener),
    onGap: (listener) => added(gaps, listener),
    position: positions.position,
    rejected: rejected.promise,
    subscribed: subscribed.promise,
    close: () => void client.close(),
  };
}

async function send(
  client: Client,
  { workspace_id: w, conversation_id: c, ...message }: MessageSend,
): Promise<ServerEvent> {
  const { local_id } = message;
  try {
    const chat = client.workspace(w).conversation(c);
    const message_id = await chat.send({ local_id, text: message.content.text ?? '' });
    return { name: 'message.send.ack', payload: { local_id, message_id, status: 'received' } };
  } catch (error) {
    // Otherwise it holds up the next message.
    await client.outbox.cancel(local_id).catch(() => undefined);
    const { code, message: text, retryable, request_id = '' } = error as UswarmError;
    const payload = { local_id, error: text, code: code as ErrorCode, retryable, request_id };
    return { name: 'message.send.error', payload };
  }
}

function noteConnection(
  { connection }: Client,
  note: (text: string) => void,
  reject: (failure: Failure) => void,
): void {
  let [wasLive, isNoted] = [false, false];
  connection.subscribe(({ state, code }) => {
    if (state === 'live') [wasLive, isNoted] = [true, false];
    if (state === 'offline' && code !== 'closed') {
      if (!isNoted) note(wasLive ? 'connection lost; reconnecting' : 'connection failed; will retry');
      isNoted = true;
    }
    if (state !== 'signed_out' && state !== 'ended') return;
    const message =
      code !== null && Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].message : 'The session ended.';
    reject(new Failure(`uswarm rejected the credentials: ${message} (${code})`));
  });
}

function added<Listener>(set: Set<Listener>, listener: Listener): () => void {
  set.add(listener);
  return () => void set.delete(listener);
}

/** A client store that knows only how far a workspace was received: a chat shows messages once. */
export interface PositionStore extends Store {
  /** @param position from an earlier chat, `epoch:seq`: the events after it are received */
  begin(workspace: Workspace, position: string | number | undefined): void;
  position(): string | undefined;
}

export function createPositionStore(): PositionStore {
  let workspace: Workspace | undefined;
  let position: { epoch: string; seq: number } | undefined;
  return {
    begin(full, saved) {
      workspace = full;
      const [epoch = '', seq] = String(saved ?? '').split(':');
      if (seq !== undefined) position = { epoch, seq: Number(seq) };
    },
    position: () => position && `${position.epoch}:${position.seq}`,
    async load(scope) {
      if (scope === 'workspaces' && workspace !== undefined) return [[workspace.id, { full: workspace }]];
      return scope === workspace?.id && position !== undefined ? [['position', position]] : [];
    },
    async commit(changes) {
      for (const { scope, key, value } of changes) {
        if (scope === workspace?.id && key === 'position') position = value as typeof position;
      }
    },
    clear: async () => void (position = undefined),
    close: () => undefined,
  };
}
