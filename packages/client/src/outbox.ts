import { backOff, delay, newId, toError, UswarmError, type Uploadable } from './api.js';
import { valuesIn } from './fold.js';
import { SESSION_CODES, type Attachment, type MentionDraft } from './gen/types.js';
import type { Database } from './store.js';

type File = Uploadable | Pick<Attachment, 'id'>;
/**
 * A message to send. `files` are uploads, or files to upload. A `local_id` identifies the message permanently; default: a new UUID. `steer`:
 * an agent that works reads it at its next step; default: afterwards.
 */
export type NewMessage = { text: string } & Partial<Options>;
type Options = { mentions: MentionDraft[]; files: File[]; local_id: string; steer: boolean };
type Place = { workspace_id: string; conversation_id: string };
/**
 * An unacknowledged message. `refused`: the user can retry, edit or cancel it; later messages in its
 * conversation wait. `code`: the reason for waiting or refusal. `progress`: the uploaded share. `attempted`:
 * the service may have it, so that it can no longer be edited or cancelled. `retry_at`: when it is sent again, in milliseconds
 * since 1970.
 */
export type OutboxItem = Required<NewMessage> &
  Place & {
    state: 'queued' | 'sending' | 'refused';
    code: string | null;
    progress: number;
    attempted: boolean;
    retry_at?: number | undefined;
    order: number;
  };
export interface OutboxDeps {
  db: Database;
  closing: AbortSignal;
  /** True if messages can be sent now. */
  ready(): boolean;
  /** Sends and shows the message. @returns its id */
  send(item: OutboxItem): Promise<string>;
  upload(
    file: Uploadable,
    options: { idempotencyKey: string; onProgress(part: number): void },
  ): Promise<{ id: string }>;
}
const UNSENT = { state: 'queued', code: null, progress: 0, attempted: false } as const;

/** Sends messages in their order, one at a time per conversation, each until it is acknowledged or refused. */
export function createOutbox({ db, closing, ready, send, upload }: OutboxDeps) {
  const busy = new Set<string>();
  /** What `add` returned, by local id. */
  const promises = new Map<string, ReturnType<typeof withResolvers<string>>>();
  const items = (): OutboxItem[] => valuesIn<OutboxItem>(db.records, 'outbox/').sort((a, b) => a.order - b.order);
  const find = (localId: string) => db.records.get(`outbox/${localId}`) as OutboxItem | undefined;
  /** @throws UswarmError if the item was cancelled, or is known to be stored */
  async function change(localId: string, fields: Partial<OutboxItem>): Promise<OutboxItem> {
    await db.update((draft) => {
      const known = draft.get<OutboxItem>(`outbox/${localId}`);
      if (known) draft.set(`outbox/${localId}`, { ...known, ...fields });
    });
    const item = find(localId);
    if (item === undefined) throw new UswarmError('cancelled');
    return item;
  }

  async function uploadFiles({ local_id: id, ...item }: OutboxItem): Promise<OutboxItem> {
    const files = [...item.files];
    for (const [index, file] of files.entries()) {
      if ('id' in file) continue;
      const onProgress = (part: number) =>
        void change(id, { progress: (index + part) / files.length }).catch(() => undefined);
      const uploaded = await upload(file, { idempotencyKey: `${id}:${index}`, onProgress });
      files[index] = { id: uploaded.id };
      await change(id, { files: [...files] });
    }
    return change(id, { attempted: true });
  }
  /** @returns milliseconds until the next attempt; undefined if the conversation waits for the user or a connection */
  async function attempt({ local_id: id }: OutboxItem, attempts: number): Promise<number | undefined> {
    try {
      const item = await uploadFiles(await change(id, { state: 'sending' }));
      settle(id, await send(item));
      return 0;
    } catch (cause) {
      const [error, item] = [toError(cause), find(id)];
      if (item === undefined) return 0;
      const isSignedOut = SESSION_CODES.includes(error.code);
      const isFinal = !error.retryable && !isSignedOut;
      // Without an answer, or after a fault of the service.
      const attempted = item.attempted && !isFinal && (error.status || 500) >= 500;
      const ms = error.retryable && !isSignedOut ? backOff(attempts, error.retry_after_ms) : undefined;
      const state = isFinal ? 'refused' : 'queued';
      await change(id, { state, code: error.code, attempted, retry_at: ms && Date.now() + ms }).catch(() => undefined);
      if (isFinal) settle(id, error);
      return ms;
    }
  }
  async function run(conversationId: string): Promise<void> {
    if (busy.has(conversationId)) return;
    busy.add(conversationId);
    for (let attempts = 0; ready(); attempts += 1) {
      const item = items().find((each) => each.conversation_id === conversationId);
      const wait = item && item.state !== 'refused' ? await attempt(item, attempts) : undefined;
      if (wait === undefined) break;
      if (wait > 0) await delay(wait, closing);
      else attempts = -1;
    }
    busy.delete(conversationId);
  }
  function settle(localId: string, outcome: string | UswarmError): void {
    const promise = promises.get(localId);
    promises.delete(localId);
    if (typeof outcome === 'string') promise?.resolve(outcome);
    else promise?.reject(outcome);
  }
  const start = ({ conversation_id: id }: Place): void => void run(id);
  function changeable(localId: string): string {
    const item = find(localId);
    if (item === undefined || item.attempted) throw new UswarmError('message_not_editable');
    return localId;
  }
  async function edit(localId: string, fields: Partial<Omit<NewMessage, 'local_id'>> = {}): Promise<void> {
    start(await change(changeable(localId), { ...fields, state: 'queued', code: null }));
  }

  return {
    items,
    settle,
    resume: () => items().forEach(start),
    /** Stores and shows the message. @returns its id once the service has stored it; rejects when it is refused or cancelled */
    async add(place: Place, message: NewMessage): Promise<string> {
      const local_id = message.local_id ?? newId();
      const sent = promises.get(local_id) ?? withResolvers<string>();
      promises.set(local_id, sent);
      // Apps may ignore it: the outbox shows the same.
      sent.promise.catch(() => undefined);
      await db.update((draft) => {
        const order = Math.max(0, ...items().map((item) => item.order)) + 1;
        const item = { mentions: [], files: [], steer: false, ...message, ...place, ...UNSENT, local_id, order };
        if (draft.get(`outbox/${local_id}`) === undefined) draft.set(`outbox/${local_id}`, item);
      });
      start(place);
      return sent.promise;
    },
    actions: {
      edit,
      /** Sends a refused message again. */
      retry: (localId: string) => edit(localId),
      async cancel(localId: string): Promise<void> {
        const item = find(changeable(localId));
        await db.update((draft) => draft.set(`outbox/${localId}`));
        settle(localId, new UswarmError('cancelled'));
        if (item) start(item);
      },
    },
  };
}

function withResolvers<Value>() {
  let [resolve, reject] = [(_value: Value): void => undefined, (_error: UswarmError): void => undefined];
  const promise = new Promise<Value>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
