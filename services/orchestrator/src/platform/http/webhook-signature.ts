import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const PREFIX = 'whsec_';
const SECRET_BYTES = 24;
/** As Standard Webhooks advises. */
const TOLERANCE_S = 5 * 60;

export const newWebhookSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

/** Other systems' secrets can have another format, and are used as they are. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);

const standardSignature = (id: string, timestamp: string, body: string | Buffer, secret: string): string =>
  `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;

/** Standard Webhooks 1.0.0. @param secrets sign each, the current one first */
export function signedHeaders(
  { id, at, body }: { id: string; at: Date; body: string },
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) => standardSignature(id, timestamp, body, secret));
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The first value of a header that may be absent. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined =>
  [headers[name]].flat()[0] || undefined;

/**
 * Verifies a request that is signed as Standard Webhooks describes, or as GitHub signs.
 *
 * @returns a value that the signature covers, and that differs between deliveries; undefined if no signature is valid
 */
export function verifiedDelivery(
  headers: IncomingHttpHeaders,
  body: Buffer,
  secret: string,
  now: Date,
): string | undefined {
  const [id, timestamp] = [headerOf(headers, 'webhook-id'), headerOf(headers, 'webhook-timestamp')];
  const signatures = headerOf(headers, 'webhook-signature');
  if (id !== undefined && timestamp !== undefined && signatures !== undefined) {
    const isNow = /^\d{1,12}$/.test(timestamp) && Math.abs(now.getTime() / 1_000 - Number(timestamp)) <= TOLERANCE_S;
    const expected = standardSignature(id, timestamp, body, secret);
    return isNow && signatures.split(' ').some((one) => isEqual(one, expected)) ? id : undefined;
  }
  const signed = headerOf(headers, 'x-hub-signature-256');
  // GitHub signs neither an id nor a time. The whole secret is its key.
  const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  return signed !== undefined && isEqual(signed, expected) ? signed : undefined;
}
