import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { createSeal } from '../records/cursor.js';

export type ConversationPageDirection = 'older' | 'newer';

/** A position in the list of conversations and the paging direction. */
export interface ConversationCursor {
  /** Activity time of the conversation at the page edge, with microseconds: `2026-11-22T10:00:00.123456Z`. */
  activeAt: string;
  id: string;
  pageDirection: ConversationPageDirection;
}

/** The scope of a cursor. It is invalid in any other scope. */
export interface ConversationScope {
  userId: string;
  workspaceId: string;
}

const VERSION = 1;
const Payload = z.tuple([z.literal(VERSION), z.string(), z.uuid(), z.enum(['older', 'newer'])]);

export interface ConversationCursorCodec {
  encode(cursor: ConversationCursor, scope: ConversationScope): string;
  /** @throws ApiError `cursor_invalid` unless this codec created the cursor for this scope */
  decode(text: string, scope: ConversationScope): ConversationCursor;
}

/**
 * Opaque, signed cursors for the list of conversations.
 *
 * @param key signing key
 * @param previous keys whose cursors are also accepted
 */
export function createConversationCursors(key: string, previous: readonly string[] = []): ConversationCursorCodec {
  const seal = createSeal(key, previous);
  const boundTo = ({ userId, workspaceId }: ConversationScope): unknown[] => ['conversations', userId, workspaceId];
  return {
    encode: ({ activeAt, id, pageDirection }, scope) =>
      seal.close(JSON.stringify([VERSION, activeAt, id, pageDirection]), boundTo(scope)),
    decode(text, scope) {
      const parsed = Payload.safeParse(parseJson(seal.open(text, boundTo(scope))));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, activeAt, id, pageDirection] = parsed.data;
      return { activeAt, id, pageDirection };
    },
  };
}
