import { createPublicKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';

/**
 * A public key in PEM form, or a certificate that holds one, as an SPKI PEM: pods get the key alone,
 * so that renewing the certificate restarts none of them.
 */
export const callPublicKey = z.string().transform((text, context): string => {
  const pem = text.replaceAll('\\n', '\n');
  try {
    const key = pem.includes('BEGIN CERTIFICATE') ? new X509Certificate(pem).publicKey : createPublicKey(pem);
    // Of a private key Node would quietly derive the public one; such a key has no business here.
    const isPrivate = pem.includes('PRIVATE KEY');
    if (key.asymmetricKeyType === 'ed25519' && !isPrivate)
      return key.export({ type: 'spki', format: 'pem' }).toString();
  } catch {
    // Reported below: the reason may quote the value.
  }
  context.addIssue({ code: 'custom', message: 'is no Ed25519 public key or certificate in PEM form' });
  return z.NEVER;
});
