import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Secret scanners find tokens by it. Never change it. */
const PREFIX = 'uswarm_pat_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 238 bits. */
const SECRET_CHARACTERS = 40;
/** As many as 32 bits need. */
const CHECKSUM_CHARACTERS = 6;
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_CHARACTERS + CHECKSUM_CHARACTERS}}$`);

/** True for a text that is meant as an API token: anything else is an ID token. */
export const isApiToken = (text: string): boolean => text.startsWith(PREFIX);

export function createTokenText(): string {
  const secret = Array.from({ length: SECRET_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `${PREFIX}${secret}${checksum(secret)}`;
}

/** False for a text that was never issued: it has another form, or a typing error. */
export function isWellFormed(text: string): boolean {
  if (!FORM.test(text)) return false;
  const end = PREFIX.length + SECRET_CHARACTERS;
  return text.slice(end) === checksum(text.slice(PREFIX.length, end));
}

/** A plain hash suffices: a secret of 238 bits cannot be guessed. */
export const hashOfToken = (text: string): Buffer => createHash('sha256').update(text).digest();

/** CRC-32 in base 62, so that a scanner can tell a token from similar text without asking the service. */
function checksum(secret: string): string {
  let rest = crc32(secret);
  let text = '';
  for (let n = 0; n < CHECKSUM_CHARACTERS; n += 1) {
    text = `${ALPHABET[rest % ALPHABET.length]}${text}`;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
