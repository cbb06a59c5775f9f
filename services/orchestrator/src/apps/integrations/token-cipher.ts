import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';

/** Rows refer to the key by its id. */
export interface TokenKey {
  id: string;
  /** 32 bytes. */
  key: Buffer;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';

/** Comma-separated `<id>:<32 bytes as base64>`. The first key encrypts, all keys decrypt. */
export const TokenKeys = z.string().transform((text, context): TokenKey[] => {
  const keys = text.split(',').map((part) => {
    const [, id = '', encoded = ''] = /^\s*([\w.-]{1,64}):([\w+/-]+=*)\s*$/.exec(part) ?? [];
    return { id, key: Buffer.from(encoded, 'base64') };
  });
  const unique = new Set(keys.map(({ id }) => id)).size === keys.length;
  if (unique && keys.every(({ id, key }) => id !== '' && key.length === KEY_BYTES)) return keys;
  context.addIssue({ code: 'custom', message: `needs <id>:<${KEY_BYTES} bytes as base64>, several by commas` });
  return z.NEVER;
});

export interface Tokens {
  accessToken: string;
  refreshToken?: string;
}

/** Bound to the ciphertext: tokens copied to another row cannot be decrypted. */
export interface TokenOwner {
  userId: string;
  provider: string;
}

export interface SealedTokens {
  keyId: string;
  /** Nonce, ciphertext and authentication tag. */
  sealed: Buffer;
}

export interface TokenCipher {
  /** This key encrypts. */
  keyId: string;
  seal(tokens: Tokens, owner: TokenOwner): SealedTokens;
  /** @throws DecryptionError */
  open(sealed: SealedTokens, owner: TokenOwner): Tokens;
}

/** The key is unknown, or the ciphertext was not encrypted for this owner. */
export class DecryptionError extends Error {
  override name = 'DecryptionError';
}

const StoredTokens = z.strictObject({ accessToken: z.string(), refreshToken: z.string().optional() });

export function createTokenCipher(keys: readonly [TokenKey, ...TokenKey[]]): TokenCipher {
  const [current] = keys;
  const boundTo = ({ userId, provider }: TokenOwner): Buffer => Buffer.from(`${userId}\n${provider}`);
  return {
    keyId: current.id,

    seal({ accessToken, refreshToken }, owner) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, current.key, nonce).setAAD(boundTo(owner));
      const text = Buffer.concat([
        cipher.update(JSON.stringify({ accessToken, refreshToken }), 'utf8'),
        cipher.final(),
      ]);
      return { keyId: current.id, sealed: Buffer.concat([nonce, text, cipher.getAuthTag()]) };
    },

    open({ keyId, sealed }, owner) {
      const key = keys.find(({ id }) => id === keyId);
      if (key === undefined) throw new DecryptionError(`there is no key ${keyId}`);
      try {
        const [nonce, tag] = [sealed.subarray(0, NONCE_BYTES), sealed.subarray(-TAG_BYTES)];
        const decipher = createDecipheriv(ALGORITHM, key.key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(boundTo(owner)).setAuthTag(tag);
        const text =
          decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
        const { accessToken, refreshToken } = StoredTokens.parse(JSON.parse(text));
        return { accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) };
      } catch {
        // No cause: it could quote decrypted content.
        throw new DecryptionError('the tokens are not what was sealed for this user and provider');
      }
    },
  };
}
