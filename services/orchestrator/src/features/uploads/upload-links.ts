import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@uswarm/service-kit';

/** Links to files, for whoever holds one, for a while. */
export interface UploadLinks {
  /** `<base>/v1/uploads/<id>?sig=…`, good for 15 minutes from now. */
  url(uploadId: string): string;
  /** Whether the signature was made for this upload and is still good. */
  valid(uploadId: string, signature: string): boolean;
}

export interface UploadLinksOptions {
  /** Any secret of ours; the key of links is derived from it. */
  secret: string;
  /** Secrets whose links are accepted besides. */
  previousSecrets?: readonly string[];
  /** What links begin with; empty makes them relative to where the API is. */
  baseUrl: string;
  clock: Clock;
}

const LIFETIME_S = 15 * 60;
const SIGNATURE = /^(\d{1,12})\.([\w-]{43})$/;

/** A signature is when it ends, in Unix seconds, and an HMAC over that and the upload. */
export function createUploadLinks({ secret, previousSecrets = [], baseUrl, clock }: UploadLinksOptions): UploadLinks {
  const keys = [secret, ...previousSecrets].map((each) =>
    Buffer.from(hkdfSync('sha256', each, '', 'uswarm upload links', 32)),
  );
  const base = baseUrl.replace(/\/+$/, '');
  const nowS = (): number => Math.floor(clock.now().getTime() / 1_000);
  /** One for each key; the first one signs. */
  const macs = (uploadId: string, expires: string): Buffer[] =>
    keys.map((key) => createHmac('sha256', key).update(`${uploadId}\n${expires}`).digest());

  return {
    url(uploadId) {
      const expires = String(nowS() + LIFETIME_S);
      const mac = macs(uploadId, expires)[0]?.toString('base64url');
      return `${base}/v1/uploads/${uploadId}?sig=${expires}.${mac}`;
    },
    valid(uploadId, signature) {
      const [, expires, sent] = SIGNATURE.exec(signature) ?? [];
      if (expires === undefined || sent === undefined) return false;
      const actual = Buffer.from(sent, 'base64url');
      const matches = macs(uploadId, expires).map((expected) => timingSafeEqual(actual, expected));
      return matches.includes(true) && Number(expires) > nowS();
    },
  };
}
