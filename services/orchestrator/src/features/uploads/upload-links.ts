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
  /** What links begin with; empty makes them relative to where the API is. */
  baseUrl: string;
  clock: Clock;
}

const LIFETIME_S = 15 * 60;
const SIGNATURE = /^(\d{1,12})\.([\w-]{43})$/;

/** A signature is when it ends, in Unix seconds, and an HMAC over that and the upload. */
export function createUploadLinks({ secret, baseUrl, clock }: UploadLinksOptions): UploadLinks {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'uswarm upload links', 32));
  const base = baseUrl.replace(/\/+$/, '');
  const nowS = (): number => Math.floor(clock.now().getTime() / 1_000);
  const mac = (uploadId: string, expires: string): Buffer =>
    createHmac('sha256', key).update(`${uploadId}\n${expires}`).digest();

  return {
    url(uploadId) {
      const expires = String(nowS() + LIFETIME_S);
      return `${base}/v1/uploads/${uploadId}?sig=${expires}.${mac(uploadId, expires).toString('base64url')}`;
    },
    valid(uploadId, signature) {
      const [, expires, sent] = SIGNATURE.exec(signature) ?? [];
      if (expires === undefined || sent === undefined) return false;
      return timingSafeEqual(Buffer.from(sent, 'base64url'), mac(uploadId, expires)) && Number(expires) > nowS();
    },
  };
}
