import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { SigningKey } from '@uswarm/service-kit';

/**
 * engine.io session ids that contain the address of the gateway with the session. They are encrypted, because clients
 * must neither learn pod addresses nor choose where a gateway sends requests.
 */
export interface SessionIds {
  generate(): string;
  /** The address of another gateway that has the session; undefined for our own sessions, and for unknown ids. */
  ownerOf(sessionId: string): string | undefined;
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Longer than any id, with an address of IPv6. */
const MAX_LENGTH = 160;

/** A separate key, so that a session id can never be used as another token. */
const derivedKey = ({ secret }: SigningKey): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'uswarm session id', 32));

/**
 * @param keys the first one encrypts; all are accepted
 * @param address this gateway's address for its peers: `<host>:<port>`
 */
export function createSessionIds(keys: readonly SigningKey[], address: string): SessionIds {
  const derived = keys.map(derivedKey);
  const [current] = derived;
  if (current === undefined) throw new Error('session ids need a key');

  function decrypt(key: Buffer, bytes: Buffer): string | undefined {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    try {
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      return undefined;
    }
  }

  return {
    generate() {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, current, iv, { authTagLength: TAG_BYTES });
      const text = Buffer.concat([cipher.update(address), cipher.final()]);
      return Buffer.concat([iv, text, cipher.getAuthTag()]).toString('base64url');
    },
    ownerOf(sessionId) {
      if (sessionId.length > MAX_LENGTH) return undefined;
      const bytes = Buffer.from(sessionId, 'base64url');
      if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
      for (const key of derived) {
        const owner = decrypt(key, bytes);
        if (owner !== undefined) return owner === address ? undefined : owner;
      }
      return undefined;
    },
  };
}
