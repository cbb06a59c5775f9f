import { backOff, delay, newId, toError, UswarmError, type Uploadable } from './api.js';
import { SESSION_CODES, type Attachment, type MentionDraft } from './gen/types.js';
import { computed, type Store } from './store.js';

/** A message to send. `files` are uploads, or files to upload. A `local_id` identifies the message for ever; default: a new UUID. */
export type Draft = {
  text: string;
  mentions?: MentionDraft[];
  files?: (Uploadable | Pick<Attachment, 'id'>)[];
  local_id?: string;
};
type Place = { workspace_id: string; conversation_id: string };
/**
 * A message that is not known to be stored. `sent`: the service has it, and its event follows. `refused`: the user can retry, edit or
 * cancel it; later ones of its conversation wait. `code`: why it waits or was refused. `progress`: the sent part of the files.
 * `attempted`: the service may have it, so that it can no longer be edited or cancelled.
 */
export type OutboxItem = Required<Draft> &
  Place & {
    state: 'queued' | 'sending' | 'sent' | 'refused';
    code: string | null;
    progress: number;
    attempted: boolean;
    order: number;
  };
export interface OutboxDeps {
  store: Store;
  /** Whether messages can be sent now. */
  ready(): boolean;
  /** @returns the id of the stored message */
  send(item: OutboxItem): Promise<string>;
  upload(
    file: Uploadable,
    options: { idempotencyKey: string; onProgress(part: number): void },
  ): Promise<{ id: string }>;
  changed(item: OutboxItem): void;
}
export type Outbox = ReturnType<typeof createOutbox>;

const SCOPE = 'outbox';
const UNSENT = { mentions: [], files: [], state: 'queued', code: null, progress: 0, attempted: false } as const;

/** Sends messages in their order, one at a time per conversation, each until it is acknowledged or refused. */
export function createOutbox({ store, ready, send, upload, changed }: OutboxDeps) {
  const items = new Map<string, OutboxItem>();
  /** What `add` returned, by local id. */
  const promises = new Map<string, { sent: Promise<string>; settle(outcome: string | UswarmError): void }>();
  const busy = new Set<string>();
  const ordered = (): OutboxItem[] => [...items.values()].sort((a, b) => a.order - b.order);
  const signal = computed(ordered, () => false);

  function show(item: OutboxItem): OutboxItem {
    items.set(item.local_id, item);
    signal.refresh();
    changed(item);
    return item;
  }
  async function put(item: OutboxItem): Promise<OutboxItem> {
    await store.commit([{ scope: SCOPE, key: item.local_id, value: item }]);
    return show(item);
  }
  async function remove(item: OutboxItem, outcome: string | UswarmError): Promise<void> {
    items.delete(item.local_id);
    await store.commit([{ scope: SCOPE, key: item.local_id, value: undefined }]).catch(() => undefined);
    signal.refresh();
    changed(item);
    promises.get(item.local_id)?.settle(outcome);
    start(item);
  }
  function promise(localId: string) {
    const sent = new Promise<string>((resolve, reject) => {
      const settle = (outcome: string | UswarmError): void => {
        promises.delete(localId);
        if (typeof outcome === 'string') resolve(outcome);
        else reject(outcome);
      };
      queueMicrotask(() => promises.set(localId, { sent, settle }));
    });
    // Apps may ignore it: the outbox shows the same.
    sent.catch(() => undefined);
    return sent;
  }
  const present = (item: OutboxItem): OutboxItem => {
    const known = items.get(item.local_id);
    if (known === undefined) throw new UswarmError('cancelled');
    return known;
  };

  async function uploadFiles(item: OutboxItem): Promise<void> {
    for (const [index, file] of item.files.entries()) {
      if ('id' in file) continue;
      const onProgress = (part: number) =>
        void show({ ...present(item), progress: (index + part) / item.files.length });
      const { id } = await upload(file, { idempotencyKey: `${item.local_id}:${index}`, onProgress });
      const files = present(item).files.map((each, at) => (at === index ? { id } : each));
      await put({ ...present(item), files });
    }
  }
  /** @returns milliseconds until the next attempt; undefined if the conversation waits for the user or a connection */
  async function attempt(item: OutboxItem, attempts: number): Promise<number | undefined> {
    try {
      await uploadFiles(await put({ ...item, state: 'sending' }));
      const id = await send(await put({ ...present(item), attempted: true }));
      await put({ ...present(item), state: 'sent', code: null });
      promises.get(item.local_id)?.settle(id);
      return 0;
    } catch (cause) {
      const known = items.get(item.local_id);
      if (known === undefined) return 0;
      const error = toError(cause);
      const signedOut = SESSION_CODES.includes(error.code);
      const isWaiting = error.retryable || signedOut;
      const state = isWaiting ? 'queued' : 'refused';
      const attempted = known.attempted && isWaiting && (error.status === 0 || error.status >= 500);
      await put({ ...known, state, code: error.code, attempted });
      if (!isWaiting) promises.get(item.local_id)?.settle(error);
      return isWaiting && !signedOut ? backOff(attempts, error.retry_after_ms) : undefined;
    }
  }
  async function run(conversationId: string): Promise<void> {
    if (busy.has(conversationId)) return;
    busy.add(conversationId);
    for (let attempts = 0; ready(); attempts += 1) {
      const item = ordered().find((each) => each.conversation_id === conversationId && each.state !== 'sent');
      const wait = item && item.state !== 'refused' ? await attempt(item, attempts) : undefined;
      if (wait === undefined) break;
      if (wait === 0) attempts = -1;
      else await delay(wait, false);
    }
    busy.delete(conversationId);
  }
  const start = ({ conversation_id: id }: Place): void => void run(id).catch(() => busy.delete(id));
  function changeable(localId: string): OutboxItem {
    const item = items.get(localId);
    if (item === undefined || item.attempted) throw new UswarmError('message_not_editable');
    return item;
  }

  return {
    signal: Object.assign(signal, {
      /** Sends a refused message again. */
      async retry(localId: string): Promise<void> {
        start(await put({ ...changeable(localId), state: 'queued', code: null }));
      },
      /** Changes a message that waits or was refused. */
      async edit(localId: string, change: Partial<Omit<Draft, 'local_id'>>): Promise<void> {
        start(await put({ ...changeable(localId), ...change, state: 'queued', code: null }));
      },
      /** Removes a message that waits or was refused. */
      cancel: async (localId: string) => remove(changeable(localId), new UswarmError('cancelled')),
    }),
    items: ordered,
    async restore(): Promise<void> {
      for (const [key, value] of await store.load(SCOPE)) {
        const { state, ...item } = value as OutboxItem;
        items.set(key, { ...item, state: state === 'sending' ? 'queued' : state });
      }
      signal.refresh();
    },
    /** Stores and shows the message. @returns its id once the service has stored it; rejects when it is refused or cancelled */
    async add(place: Place, draft: Draft): Promise<string> {
      const local_id = draft.local_id ?? newId();
      const sent = promises.get(local_id)?.sent ?? promise(local_id);
      const order = Math.max(0, ...ordered().map((item) => item.order)) + 1;
      if (!items.has(local_id)) await put({ ...UNSENT, mentions: [], files: [], ...draft, ...place, local_id, order });
      start(place);
      return sent;
    },
    /** The service has stored the message. */
    confirm(localId: string, messageId: string): void {
      const item = items.get(localId);
      if (item !== undefined) void remove(item, messageId);
    },
    resume: () => ordered().forEach(start),
    forget: () => (items.clear(), signal.refresh()),
  };
}
