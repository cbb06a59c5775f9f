import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import type { Place, PageDirection } from './place.js';

/** A place in a conversation, and which way to go on from it. */
export interface Cursor extends Place {
  /** The next page starts beyond the message at this place, the last one of the page before. */
  walk: PageDirection;
}

/** What a cursor is bound to: it is worth nothing anywhere else. */
export interface CursorScope {
  userId: string;
  conversationId: string;
  /** What the list is restricted to, where it is. */
  filter?: string;
  direction: 'forward' | 'backward';
}

const Seq = z.int().nonnegative();
const WalkName = z.enum(['older', 'newer']);
/** Version 1, which the release before understands too, has the seq alone; version 2 adds that of the reply. */
const Payload = z.union([z.tuple([z.literal(1), Seq, WalkName]), z.tuple([z.literal(2), Seq, WalkName, Seq])]);

export interface CursorCodec {
  encode(cursor: Cursor, scope: CursorScope): string;
  /** @throws ApiError `cursor_invalid` for anything that this codec did not make for this scope. */
  decode(text: string, scope: CursorScope): Cursor;
}

/**
 * Encodes a payload as an opaque signed text that is bound to a scope.
 *
 * @param key signs
 * @param previous keys whose text is accepted besides
 */
export function createSeal(key: string, previous: readonly string[] = []) {
  const mac = (payload: string, scope: readonly unknown[], secret: string = key): Buffer =>
    createHmac('sha256', secret)
      .update(JSON.stringify([...scope, payload]))
      .digest()
      .subarray(0, 16);
  return {
    close(content: string, scope: readonly unknown[]): string {
      const payload = Buffer.from(content).toString('base64url');
      return `${payload}.${mac(payload, scope).toString('base64url')}`;
    },
    /** @throws ApiError `cursor_invalid` for anything that was not made with this key for this scope */
    open(text: string, scope: readonly unknown[]): string {
      const [payload = '', signature = '', ...rest] = text.split('.');
      const sent = Buffer.from(signature, 'base64url');
      const matches = [key, ...previous].map((secret) => {
        const expected = mac(payload, scope, secret);
        return sent.length === expected.length && timingSafeEqual(sent, expected);
      });
      if (rest.length > 0 || !matches.includes(true)) {
        throw new ApiError('cursor_invalid');
      }
      return Buffer.from(payload, 'base64url').toString();
    },
  };
}

/**
 * Opaque, signed cursors. spec: orchestrator §2.10
 *
 * @param key signs
 * @param previous keys whose cursors are accepted besides
 */
export function createCursorCodec(key: string, previous: readonly string[] = []): CursorCodec {
  const seal = createSeal(key, previous);
  const boundTo = ({ userId, conversationId, direction, filter = '' }: CursorScope): string[] => [
    userId,
    conversationId,
    direction,
    filter,
  ];
  return {
    encode({ seq, before_seq, walk }, scope) {
      const place = before_seq === null ? [1, seq, walk] : [2, seq, walk, before_seq];
      return seal.close(JSON.stringify(place), boundTo(scope));
    },
    decode(text, scope) {
      // Made here, but maybe by another version.
      const parsed = Payload.safeParse(parseJson(seal.open(text, boundTo(scope))));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, seq, walk, before_seq = null] = parsed.data;
      return { seq, before_seq, walk };
    },
  };
}
