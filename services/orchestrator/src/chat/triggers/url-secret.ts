import { createHash, randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;
const FORM = /^[\w-]{43}$/;

export const TRIGGER_PATH = '/v1/hooks';

export const newUrlSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** A plain hash suffices: a secret of 256 bits cannot be guessed, and is found by its hash. */
export const hashOfSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** False for a text that was never a secret. */
export const isUrlSecret = (text: string): boolean => FORM.test(text);
