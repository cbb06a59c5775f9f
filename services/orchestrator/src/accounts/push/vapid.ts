import { createECDH } from 'node:crypto';
import { z } from 'zod';

const PRIVATE_KEY_BYTES = 32;

/**
 * The key pair that identifies the application server to push services (RFC 8292), from its private key as base64url.
 */
export const VapidKeys = z.string().transform((privateKey, context): VapidKeys => {
  const publicKey = publicKeyOf(privateKey);
  if (publicKey !== undefined) return { publicKey, privateKey };
  context.addIssue({ code: 'custom', message: 'must be a private key of P-256: 32 bytes as base64url' });
  return z.NEVER;
});

/** Both as base64url. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

export interface Vapid extends VapidKeys {
  /** A mailto: or https: URL, by which a push service can reach the operator. */
  contact: string;
}

function publicKeyOf(privateKey: string): string | undefined {
  const bytes = Buffer.from(privateKey, 'base64url');
  if (bytes.length !== PRIVATE_KEY_BYTES) return undefined;
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(bytes);
  } catch {
    // Zero, or above the curve's order.
    return undefined;
  }
  return pair.getPublicKey('base64url');
}
