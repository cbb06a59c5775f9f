import { createPublicKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';

/**
 * Parses a public key or a certificate in PEM format to an SPKI PEM. Pods get only the key, so that a renewed certificate
 * does not restart them.
 */
export const callPublicKey = z.string().transform((text, context): string => {
  const pem = text.replaceAll('\\n', '\n');
  try {
    const key = pem.includes('BEGIN CERTIFICATE') ? new X509Certificate(pem).publicKey : createPublicKey(pem);
    // Node.js would derive the public key from a private key. A private key is a misconfiguration here.
    const isPrivate = pem.includes('PRIVATE KEY');
    if (key.asymmetricKeyType === 'ed25519' && !isPrivate)
      return key.export({ type: 'spki', format: 'pem' }).toString();
  } catch {
    // Reported below without the cause, which may contain the value.
  }
  context.addIssue({ code: 'custom', message: 'is not an Ed25519 public key or certificate in PEM format' });
  return z.NEVER;
});
