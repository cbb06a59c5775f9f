import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { exportJWK, generateKeyPair, importJWK } from 'jose';
import { z } from 'zod';
import { LocalError } from '../local-error.js';
import { writePrivateFile } from '../private-file.js';

export const SIGNING_ALGORITHM = 'RS256';

const privateKey = z.looseObject({ kty: z.literal('RSA'), kid: z.string(), d: z.string() });
const keyFile = z.object({ keys: z.array(privateKey).min(1) });

/** A private JWK. The first key in a list signs; the others are only published. */
export type PrivateKey = z.infer<typeof privateKey>;

export async function generateKey(): Promise<PrivateKey> {
  const pair = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const jwk = await exportJWK(pair.privateKey);
  return privateKey.parse({ ...jwk, kid: crypto.randomUUID(), alg: SIGNING_ALGORITHM, use: 'sig' });
}

/** Loads the keys from a file, or creates it with a new key. @throws LocalError */
export async function loadKeys(file: string | undefined): Promise<PrivateKey[]> {
  if (file === undefined || !existsSync(file)) {
    const keys = [await generateKey()];
    saveKeys(file, keys);
    return keys;
  }
  try {
    return keyFile.parse(JSON.parse(readFileSync(file, 'utf8'))).keys;
  } catch (error) {
    throw new LocalError(`The key file ${file} of the development issuer cannot be read; remove it to get new keys.`, {
      cause: error,
    });
  }
}

export function saveKeys(file: string | undefined, keys: readonly PrivateKey[]): void {
  if (file === undefined) return;
  mkdirSync(dirname(file), { recursive: true });
  writePrivateFile(file, `${JSON.stringify({ keys })}\n`);
}

export function signingKey(key: PrivateKey): ReturnType<typeof importJWK> {
  return importJWK(key, SIGNING_ALGORITHM);
}
