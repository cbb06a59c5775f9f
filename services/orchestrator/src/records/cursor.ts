import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import type { Position, PageDirection } from './position.js';

export interface Cursor extends Position {
  /** The next page starts after this position. */
  pageDirection: PageDirection;
}

/** A cursor is invalid for any other list. */
export interface CursorScope {
  userId: string;
  conversationId: string;
  filter?: string;
  direction: 'forward' | 'backward';
}

const Seq = z.int().nonnegative();
const PageDirectionName = z.enum(['older', 'newer']);
/** Version 1 has only the seq and is readable by the previous release. Version 2 adds the reply's seq. */
const Payload = z.union([
  z.tuple([z.literal(1), Seq, PageDirectionName]),
  z.tuple([z.literal(2), Seq, PageDirectionName, Seq]),
]);

export interface CursorCodec {
  encode(cursor: Cursor, scope: CursorScope): string;
  /** @throws ApiError `cursor_invalid` if the text was not encoded by this codec for this scope */
  decode(text: string, scope: CursorScope): Cursor;
}

/**
 * Signs payloads as opaque text that is bound to a scope.
 *
 * @param previous older keys whose signatures are still accepted
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
    /** @throws ApiError `cursor_invalid` if no accepted key signed the text for this scope */
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
 * Opaque, signed cursors.
 *
 * @param previous older keys whose cursors are still accepted
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
    encode({ seq, before_seq, pageDirection }, scope) {
      const payload = before_seq === null ? [1, seq, pageDirection] : [2, seq, pageDirection, before_seq];
      return seal.close(JSON.stringify(payload), boundTo(scope));
    },
    decode(text, scope) {
      // The signature is valid, but another version may have encoded the payload.
      const parsed = Payload.safeParse(parseJson(seal.open(text, boundTo(scope))));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, seq, pageDirection, before_seq = null] = parsed.data;
      return { seq, before_seq, pageDirection };
    },
  };
}
