import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { createSeal } from '../messages/cursor.js';

export type ConversationWalk = 'older' | 'newer';

/** A place in the list of conversations, and which way to go on from it. */
export interface ConversationCursor {
  /** When the conversation at the edge of the page was active, with microseconds: `2026-11-22T10:00:00.123456Z`. */
  activeAt: string;
  id: string;
  walk: ConversationWalk;
}

/** What a cursor is bound to: it is worth nothing anywhere else. */
export interface ConversationScope {
  userId: string;
  workspaceId: string;
}

const VERSION = 1;
const Payload = z.tuple([z.literal(VERSION), z.string(), z.uuid(), z.enum(['older', 'newer'])]);

export interface ConversationCursorCodec {
  encode(cursor: ConversationCursor, scope: ConversationScope): string;
  /** @throws ApiError `cursor_invalid` for anything that this codec did not make for this scope. */
  decode(text: string, scope: ConversationScope): ConversationCursor;
}

/**
 * Opaque, signed cursors of the list of conversations.
 *
 * @param key signs
 * @param previous keys whose cursors are accepted besides
 */
export function createConversationCursors(key: string, previous: readonly string[] = []): ConversationCursorCodec {
  const seal = createSeal(key, previous);
  const boundTo = ({ userId, workspaceId }: ConversationScope): unknown[] => ['conversations', userId, workspaceId];
  return {
    encode: ({ activeAt, id, walk }, scope) =>
      seal.close(JSON.stringify([VERSION, activeAt, id, walk]), boundTo(scope)),
    decode(text, scope) {
      const parsed = Payload.safeParse(parseJson(seal.open(text, boundTo(scope))));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, activeAt, id, walk] = parsed.data;
      return { activeAt, id, walk };
    },
  };
}
