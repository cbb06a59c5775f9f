import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { createSeal } from '../messages/cursor.js';

/** A position in the list of memories of an agent. */
export interface MemoryPosition {
  /** When the memory was created, with microseconds: `2026-11-22T10:00:00.123456Z`. */
  createdAt: string;
  key: string;
}

/** The scope of a cursor. It is invalid in any other scope. */
export interface MemoryScope {
  userId: string;
  agentId: string;
  category: string | undefined;
}

const VERSION = 1;
const Payload = z.tuple([z.literal(VERSION), z.iso.datetime(), z.string()]);

export interface MemoryCursorCodec {
  encode(position: MemoryPosition, scope: MemoryScope): string;
  /** @throws ApiError `cursor_invalid` unless this codec created the cursor for this scope */
  decode(text: string, scope: MemoryScope): MemoryPosition;
}

/**
 * Opaque, signed cursors for the list of memories.
 *
 * @param key signing key
 * @param previous keys whose cursors are also accepted
 */
export function createMemoryCursors(key: string, previous: readonly string[] = []): MemoryCursorCodec {
  const seal = createSeal(key, previous);
  const boundTo = ({ userId, agentId, category }: MemoryScope): unknown[] => [
    'memories',
    userId,
    agentId,
    category ?? null,
  ];
  return {
    encode: (position, scope) =>
      seal.close(JSON.stringify([VERSION, position.createdAt, position.key]), boundTo(scope)),
    decode(text, scope) {
      const parsed = Payload.safeParse(parseJson(seal.open(text, boundTo(scope))));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, createdAt, memoryKey] = parsed.data;
      return { createdAt, key: memoryKey };
    },
  };
}
