import { createHash } from 'node:crypto';
import { type Logger, retry } from '@uswarm/service-kit';
import type { ContentObjects } from '../../records/content-objects.js';
import { ObjectMissing } from '../../records/object-store.js';
import { type EntryBody, type JournalEntry, MAX_ROW_BYTES, type StoredEntry } from './journal.store.js';

/** Deletes a body whose entry was deleted or never committed. */
export const JOURNAL_OBJECT_JOB = 'journal-object';

/** An entry's body cannot be stored or read. The turn fails, because it could not continue after a restart. */
export class JournalUnavailable extends Error {
  override name = 'JournalUnavailable';
}

/** Small bodies are in their rows, large ones in the object store. */
export interface JournalBodies {
  /**
   * Stores a body before its entry is appended. Idempotent.
   *
   * @throws JournalUnavailable, or the abort reason
   */
  put(entry: { turnId: string; number: number; body: string }, signal: AbortSignal): Promise<EntryBody>;
  /** @throws JournalUnavailable, or the abort reason */
  read(entries: readonly StoredEntry[], signal: AbortSignal): Promise<JournalEntry[]>;
}

export interface JournalBodiesDeps {
  contents: ContentObjects;
  logger: Pick<Logger, 'warn'>;
  /** Default: one minute. */
  retryForMs?: number;
}

const RETRY = { initialMs: 250, maxMs: 5_000 };
const RETRY_FOR_MS = 60_000;

const hashOf = (body: string): Buffer => createHash('sha256').update(body).digest();

export function createJournalBodies({ contents, logger, retryForMs = RETRY_FOR_MS }: JournalBodiesDeps): JournalBodies {
  /**
   * Retries, so that a short object store outage only delays the turn.
   *
   * @throws JournalUnavailable, or the abort reason
   */
  async function persistently<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const retryable = (error: unknown): boolean => !(error instanceof ObjectMissing);
    try {
      return await retry(request, { ...RETRY, deadlineMs: retryForMs, retryable, signal });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, 'the body of a journal entry cannot be stored or read');
      throw new JournalUnavailable('the object store has no answer', { cause: error });
    }
  }

  async function bodyOf(entry: StoredEntry, signal: AbortSignal): Promise<string> {
    if ('body' in entry) return entry.body;
    const body = await persistently(() => contents.read(entry.objectId), signal);
    if (!hashOf(body).equals(entry.hash)) throw new JournalUnavailable('the body of a journal entry has changed');
    return body;
  }

  return {
    async put({ turnId, number, body }, signal) {
      const size = Buffer.byteLength(body);
      if (size <= MAX_ROW_BYTES) return { body };
      const objectId = await persistently(() => contents.put([turnId, String(number)], body), signal);
      return { objectId, hash: hashOf(body), size };
    },

    async read(entries, signal) {
      const read: JournalEntry[] = [];
      // Sequential, so that large bodies are in memory in request order.
      for (const entry of entries) {
        const { number, kind } = entry;
        read.push({ number, kind, body: await bodyOf(entry, signal) });
      }
      return read;
    },
  };
}
