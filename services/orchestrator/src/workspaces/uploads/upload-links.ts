import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@uswarm/service-kit';

/** Makes links that any holder can use for a limited time. */
export interface FileLinks {
  /** Adds a signature that is valid for 15 to 30 minutes. The URL stays the same for up to 15 minutes. */
  url(id: string): string;
  /** @returns undefined if the signature is invalid or has expired */
  secondsLeft(id: string, signature: string): number | undefined;
}

export type UploadLinks = FileLinks;

export interface FileLinksOptions {
  /** The signing key is derived from it. */
  secret: string;
  /** Links signed with these are accepted too. */
  previousSecrets?: readonly string[];
  /** Part of the key derivation, so that a link for one kind of file is invalid for another. */
  purpose: string;
  urlOf: (id: string) => string;
  clock: Clock;
}

export interface UploadLinksOptions extends Omit<FileLinksOptions, 'purpose' | 'urlOf'> {
  /** Empty makes links relative to the API. */
  baseUrl: string;
}

/** Minimum validity. Expiries are multiples of it, so that a client that lists a file again can use its cached copy. */
const LIFETIME_S = 15 * 60;
const SIGNATURE = /^(\d{1,12})\.([\w-]{43})$/;

/** Signature: expiry in Unix seconds, and an HMAC over file id and expiry. */
export function createFileLinks({ secret, previousSecrets = [], purpose, urlOf, clock }: FileLinksOptions): FileLinks {
  const keys = [secret, ...previousSecrets].map((each) => Buffer.from(hkdfSync('sha256', each, '', purpose, 32)));
  const nowS = (): number => Math.floor(clock.now().getTime() / 1_000);
  /** One MAC per key; the first key signs. */
  const macs = (id: string, expires: string): Buffer[] =>
    keys.map((key) => createHmac('sha256', key).update(`${id}\n${expires}`).digest());

  return {
    url(id) {
      const expires = String((Math.floor(nowS() / LIFETIME_S) + 2) * LIFETIME_S);
      return `${urlOf(id)}?sig=${expires}.${macs(id, expires)[0]?.toString('base64url')}`;
    },
    secondsLeft(id, signature) {
      const [, expires, sent] = SIGNATURE.exec(signature) ?? [];
      if (expires === undefined || sent === undefined) return undefined;
      const actual = Buffer.from(sent, 'base64url');
      const matches = macs(id, expires).map((expected) => timingSafeEqual(actual, expected));
      const left = Number(expires) - nowS();
      return matches.includes(true) && left > 0 ? left : undefined;
    },
  };
}

/** `<base>/v1/uploads/<id>?sig=…` */
export function createUploadLinks({ baseUrl, ...options }: UploadLinksOptions): UploadLinks {
  const base = baseUrl.replace(/\/+$/, '');
  return createFileLinks({ ...options, purpose: 'uswarm upload links', urlOf: (id) => `${base}/v1/uploads/${id}` });
}
