import { createDecipheriv, type ECDH, hkdfSync } from 'node:crypto';

const SALT_BYTES = 16;
const HEADER_BYTES = SALT_BYTES + 4 + 1;
const TAG_BYTES = 16;
/** Delimiter in the last record; the rest is padding. */
const LAST = 2;

const derive = (secret: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

/**
 * Decrypts a payload as a browser does: `aes128gcm` (RFC 8188) with a subscription's keys (RFC 8291). A payload is one
 * record.
 *
 * @throws Error if it was not encrypted for the subscription
 */
export function decryptPayload(body: Buffer, subscription: ECDH, auth: Buffer): string {
  const salt = body.subarray(0, SALT_BYTES);
  const recordSize = body.readUInt32BE(SALT_BYTES);
  const keyLength = body.readUInt8(SALT_BYTES + 4);
  const sender = body.subarray(HEADER_BYTES, HEADER_BYTES + keyLength);
  const record = body.subarray(HEADER_BYTES + keyLength);
  if (record.length > recordSize) throw new Error('the payload has more than one record');
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), subscription.getPublicKey(), sender]);
  const input = derive(subscription.computeSecret(sender), auth, info, 32);
  const key = derive(input, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = derive(input, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(record.subarray(-TAG_BYTES));
  const plain = Buffer.concat([decipher.update(record.subarray(0, -TAG_BYTES)), decipher.final()]);
  const end = plain.lastIndexOf(LAST);
  if (end < 0 || plain.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('the record has no delimiter');
  return plain.subarray(0, end).toString('utf8');
}
