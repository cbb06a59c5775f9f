import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';

const WINDOW_MS = 300_000;

/**
 * Parses Unix seconds (up to 11 digits), Unix milliseconds, or ISO 8601 with an offset.
 *
 * @returns Unix milliseconds; undefined for any other text
 */
export function parseTimestamp(text: string): number | undefined {
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1000;
  if (/^\d{12,14}$/.test(text)) return Number(text);
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** Hexadecimal HMAC-SHA256 of `<token>:<timestamp as sent>`. AUTH-004 */
export function sign(secret: string, token: string, timestamp: string): string {
  return createHmac('sha256', secret).update(`${token}:${timestamp}`).digest('hex');
}

const equal = (expected: Buffer, actual: Buffer): boolean =>
  expected.length === actual.length && timingSafeEqual(expected, actual);

export interface SignatureCheck {
  /** @throws ApiError if the signature is required and is missing, wrong or too old */
  check(sent: { token: string; signature: string | undefined; timestamp: string | undefined }): void;
}

/**
 * An app check, not authentication: one pair is valid for several requests within the window.
 *
 * @param secrets one per app version in use
 */
export function createSignatureCheck(secrets: readonly string[], clock: Clock): SignatureCheck {
  return {
    check({ token, signature, timestamp }) {
      if (signature === undefined || timestamp === undefined) throw new ApiError('signature_missing');
      const time = parseTimestamp(timestamp);
      if (time === undefined) throw new ApiError('timestamp_invalid');
      if (Math.abs(clock.now().getTime() - time) > WINDOW_MS) throw new ApiError('timestamp_out_of_window');
      const actual = Buffer.from(signature.toLowerCase());
      const matches = secrets.map((secret) => equal(Buffer.from(sign(secret, token, timestamp)), actual));
      if (!matches.includes(true)) throw new ApiError('signature_invalid');
    },
  };
}

/** For local mode, which requires no signature. */
export const noSignatureCheck: SignatureCheck = { check: () => undefined };
