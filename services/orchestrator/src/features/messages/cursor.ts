import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';

/** A place in a conversation, and which way to go on from it. */
export interface Cursor {
  /** The message at the edge of the page; the next page starts beyond it. */
  seq: number;
  walk: 'older' | 'newer';
}

/** What a cursor is bound to: it is worth nothing anywhere else. */
export interface CursorScope {
  userId: string;
  conversationId: string;
  /** What the list is restricted to, where it is. */
  filter?: string;
  direction: 'forward' | 'backward';
}

const VERSION = 1;
const Payload = z.tuple([z.literal(VERSION), z.int().nonnegative(), z.enum(['older', 'newer'])]);

export interface CursorCodec {
  encode(cursor: Cursor, scope: CursorScope): string;
  /** @throws ApiError `cursor_invalid` for anything that this codec did not make for this scope. */
  decode(text: string, scope: CursorScope): Cursor;
}

/** Opaque, signed cursors. spec: orchestrator §2.10 */
export function createCursorCodec(key: string): CursorCodec {
  const mac = (payload: string, { userId, conversationId, direction, filter = '' }: CursorScope): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([userId, conversationId, direction, filter, payload]))
      .digest()
      .subarray(0, 16);
  return {
    encode({ seq, walk }, scope) {
      const payload = Buffer.from(JSON.stringify([VERSION, seq, walk])).toString('base64url');
      return `${payload}.${mac(payload, scope).toString('base64url')}`;
    },
    decode(text, scope) {
      const [payload = '', signature = '', ...rest] = text.split('.');
      const sent = Buffer.from(signature, 'base64url');
      const expected = mac(payload, scope);
      if (rest.length > 0 || sent.length !== expected.length || !timingSafeEqual(sent, expected)) {
        throw new ApiError('cursor_invalid');
      }
      // Made here, but maybe by another version.
      const parsed = Payload.safeParse(parseJson(Buffer.from(payload, 'base64url').toString()));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, seq, walk] = parsed.data;
      return { seq, walk };
    },
  };
}
