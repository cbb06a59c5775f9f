import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@uswarm/service-kit';

/** Links to files of one kind, valid for any holder and for a limited time. */
export interface FileLinks {
  /** The URL of the file with a signature that expires after 15 minutes. */
  url(id: string): string;
  /** Whether the signature belongs to this file and has not expired. */
  valid(id: string, signature: string): boolean;
}

export type UploadLinks = FileLinks;

export interface FileLinksOptions {
  /** The server secret from which the signing key is derived. */
  secret: string;
  /** Additional secrets whose links are accepted. */
  previousSecrets?: readonly string[];
  /** Separates the links of different kinds of files: it is part of the key derivation. */
  purpose: string;
  /** The URL without its signature. */
  urlOf: (id: string) => string;
  clock: Clock;
}

export interface UploadLinksOptions extends Omit<FileLinksOptions, 'purpose' | 'urlOf'> {
  /** The prefix of links; empty makes them relative to the API. */
  baseUrl: string;
}

const LIFETIME_S = 15 * 60;
const SIGNATURE = /^(\d{1,12})\.([\w-]{43})$/;

/** A signature consists of its expiry in Unix seconds and an HMAC of file id and expiry. */
export function createFileLinks({ secret, previousSecrets = [], purpose, urlOf, clock }: FileLinksOptions): FileLinks {
  const keys = [secret, ...previousSecrets].map((each) => Buffer.from(hkdfSync('sha256', each, '', purpose, 32)));
  const nowS = (): number => Math.floor(clock.now().getTime() / 1_000);
  /** One MAC per key; the first key signs. */
  const macs = (id: string, expires: string): Buffer[] =>
    keys.map((key) => createHmac('sha256', key).update(`${id}\n${expires}`).digest());

  return {
    url(id) {
      const expires = String(nowS() + LIFETIME_S);
      return `${urlOf(id)}?sig=${expires}.${macs(id, expires)[0]?.toString('base64url')}`;
    },
    valid(id, signature) {
      const [, expires, sent] = SIGNATURE.exec(signature) ?? [];
      if (expires === undefined || sent === undefined) return false;
      const actual = Buffer.from(sent, 'base64url');
      const matches = macs(id, expires).map((expected) => timingSafeEqual(actual, expected));
      return matches.includes(true) && Number(expires) > nowS();
    },
  };
}

/** Links to uploads: `<base>/v1/uploads/<id>?sig=…`. */
export function createUploadLinks({ baseUrl, ...options }: UploadLinksOptions): UploadLinks {
  const base = baseUrl.replace(/\/+$/, '');
  return createFileLinks({ ...options, purpose: 'uswarm upload links', urlOf: (id) => `${base}/v1/uploads/${id}` });
}
