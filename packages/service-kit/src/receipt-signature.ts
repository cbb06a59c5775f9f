import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';
import { compactVerify, CompactSign, decodeProtectedHeader, errors, importJWK, type JWK } from 'jose';
import { canonicalJson } from './canonical-json.js';
import { isCanonicalToken } from './id-token.js';
import { parseJson } from './parse-json.js';

/** `typ` of each signature with the key: one is never accepted as another. */
const RECEIPT_TYPE = 'uswarm-receipt+jws';
const MANIFEST_TYPE = 'uswarm-manifest+jws';
const ALGORITHM = 'EdDSA';
const PURPOSE = 'uswarm receipt signing key';
/** PKCS #8 prefix of an Ed25519 key, before its 32 bytes (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Public part of a receipt signing key. */
export interface ReceiptKey {
  /** Key thumbprint (RFC 7638). */
  kid: string;
  /** 32 bytes as base64url. */
  x: string;
}

export interface ReceiptSigner extends ReceiptKey {
  /** @returns a compact JWS with this payload */
  sign(payload: object): Promise<string>;
  /** @returns a compact JWS without its payload, which is a workspace file's manifest (RFC 7515, Appendix F) */
  signManifest(manifest: Uint8Array): Promise<string>;
}

/** A signature is invalid, or its key is unknown. */
export class ReceiptSignatureError extends Error {
  override name = 'ReceiptSignatureError';
}

const jwkOf = ({ x }: Pick<ReceiptKey, 'x'>) => ({ crv: 'Ed25519', kty: 'OKP', x });

/** The thumbprint of a public key (RFC 7638). */
export const receiptKeyId = (x: string): string =>
  createHash('sha256')
    .update(canonicalJson(jwkOf({ x })))
    .digest('base64url');

function receiptKeyOf(callPrivateKeyPem: string): KeyObject {
  const { d } = createPrivateKey(callPrivateKeyPem).export({ format: 'jwk' });
  const seed = hkdfSync('sha256', Buffer.from(String(d), 'base64url'), '', PURPOSE, 32);
  const key = Buffer.concat([PKCS8_PREFIX, Buffer.from(seed)]);
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

/** Signs receipts with a key that is derived from the Ed25519 key for calls to runtimes. */
export function createReceiptSigner(callPrivateKeyPem: string): ReceiptSigner {
  const privateKey = receiptKeyOf(callPrivateKeyPem);
  const x = String(createPublicKey(privateKey).export({ format: 'jwk' }).x);
  const kid = receiptKeyId(x);
  const sign = (payload: Uint8Array, typ: string): Promise<string> =>
    new CompactSign(payload).setProtectedHeader({ alg: ALGORITHM, kid, typ }).sign(privateKey);
  return {
    kid,
    x,
    sign: (payload) => sign(Buffer.from(canonicalJson(payload)), RECEIPT_TYPE),
    signManifest: async (manifest) => (await sign(manifest, MANIFEST_TYPE)).replace(/\..*\./, '..'),
  };
}

/** The public key as a JSON Web Key (RFC 7517). */
export const receiptJwk = ({ kid, x }: ReceiptKey) =>
  ({ kty: 'OKP', crv: 'Ed25519', x, kid, alg: ALGORITHM, use: 'sig' }) as const satisfies JWK;

/** Decodes the payload without verifying anything. */
export const receiptPayload = (jws: string): unknown =>
  parseJson(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString());

function kidOf(jws: string): string | undefined {
  try {
    return decodeProtectedHeader(jws).kid;
  } catch {
    return undefined;
  }
}

/** @throws ReceiptSignatureError */
async function verify(
  jws: string,
  keys: readonly ReceiptKey[],
  typ: string,
): Promise<{ kid: string; payload: Uint8Array }> {
  const kid = kidOf(jws);
  if (kid === undefined || !isCanonicalToken(jws)) throw new ReceiptSignatureError('the signature is malformed');
  const key = keys.find((one) => one.kid === kid);
  if (key === undefined) throw new ReceiptSignatureError(`the key ${kid} is unknown`);
  try {
    const publicKey = await importJWK(jwkOf(key), ALGORITHM);
    const { payload, protectedHeader } = await compactVerify(jws, publicKey, { algorithms: [ALGORITHM] });
    if (protectedHeader.typ !== typ) throw new ReceiptSignatureError('the signature is one of something else');
    return { kid, payload };
  } catch (error) {
    if (error instanceof errors.JOSEError)
      throw new ReceiptSignatureError('the signature is invalid', { cause: error });
    throw error;
  }
}

/**
 * Verifies a receipt signature without a connection.
 *
 * @returns what was signed
 * @throws ReceiptSignatureError
 */
export async function verifyReceiptSignature(
  jws: string,
  keys: readonly ReceiptKey[],
): Promise<{ kid: string; payload: unknown }> {
  const { kid, payload } = await verify(jws, keys, RECEIPT_TYPE);
  return { kid, payload: parseJson(Buffer.from(payload).toString()) };
}

/**
 * Verifies a workspace file's manifest.
 *
 * @returns the key's id
 * @throws ReceiptSignatureError
 */
export async function verifyManifestSignature(
  jws: string,
  manifest: Uint8Array,
  keys: readonly ReceiptKey[],
): Promise<string> {
  const [header = '', payload, signature = ''] = jws.split('.');
  if (payload !== '') throw new ReceiptSignatureError('the signature is malformed');
  const attached = [header, Buffer.from(manifest).toString('base64url'), signature].join('.');
  return (await verify(attached, keys, MANIFEST_TYPE)).kid;
}
