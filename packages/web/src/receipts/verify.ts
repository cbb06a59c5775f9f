export interface ReceiptKey {
  kid: string;
  x: string;
}
export type Verdict =
  | { state: 'verified'; payload: Record<string, unknown> }
  | { state: 'invalid' | 'unsigned' | 'unsupported' };

const TYPE = 'uswarm-receipt+jws';

function decode(part: string): Uint8Array<ArrayBuffer> {
  const text = atob(part.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
const parse = (part: string): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(decode(part))) as Record<string, unknown>;

/**
 * Verifies the signature in the browser, so that a faulty service cannot claim it. Show the payload, not the fields
 * beside it.
 */
export async function verify(jws: string | null, keys: readonly ReceiptKey[]): Promise<Verdict> {
  if (jws === null) return { state: 'unsigned' };
  try {
    const [head = '', body = '', signature = '', ...more] = jws.split('.');
    const { alg, typ, kid } = parse(head);
    const key = keys.find((one) => one.kid === kid);
    if (alg !== 'EdDSA' || typ !== TYPE || key === undefined || more.length > 0) return { state: 'invalid' };
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.x };
    const publicKey = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['verify']);
    const signed = new TextEncoder().encode(`${head}.${body}`);
    const isValid = await crypto.subtle.verify('Ed25519', publicKey, decode(signature), signed);
    return isValid ? { state: 'verified', payload: parse(body) } : { state: 'invalid' };
  } catch (error) {
    // Older browsers lack the algorithm, and pages in insecure contexts lack cryptography.
    const isUnsupported = !globalThis.crypto?.subtle || (error as Error).name === 'NotSupportedError';
    return { state: isUnsupported ? 'unsupported' : 'invalid' };
  }
}
