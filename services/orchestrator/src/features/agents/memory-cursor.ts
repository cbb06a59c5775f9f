import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { createSeal } from '../messages/cursor.js';

/** A place in the list of memories of an agent. */
export interface MemoryPlace {
  /** When the memory was made, with microseconds: `2026-11-22T10:00:00.123456Z`. */
  createdAt: string;
  key: string;
}

/** What a cursor is bound to; it is not valid anywhere else. */
export interface MemoryScope {
  userId: string;
  agentId: string;
  category: string | undefined;
}

const VERSION = 1;
const Payload = z.tuple([z.literal(VERSION), z.iso.datetime(), z.string()]);

export interface MemoryCursorCodec {
  encode(place: MemoryPlace, scope: MemoryScope): string;
  /** @throws ApiError `cursor_invalid` unless this codec made the text for this scope */
  decode(text: string, scope: MemoryScope): MemoryPlace;
}

/**
 * Opaque, signed cursors of the list of memories.
 *
 * @param key signs
 * @param previous keys whose cursors are accepted besides
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
    encode: (place, scope) => seal.close(JSON.stringify([VERSION, place.createdAt, place.key]), boundTo(scope)),
    decode(text, scope) {
      const parsed = Payload.safeParse(parseJson(seal.open(text, boundTo(scope))));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, createdAt, memoryKey] = parsed.data;
      return { createdAt, key: memoryKey };
    },
  };
}
