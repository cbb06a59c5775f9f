import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';

export type KeyIssuerAlgorithm = 'RS256' | 'ES256';

export interface KeyIssuerToken {
  /** Override the defaults of `iss`, `iat` and `exp`. */
  claims: JWTPayload;
  header?: Partial<JWTHeaderParameters>;
}

export interface KeyIssuer {
  issuer: string;
  issueToken(token: KeyIssuerToken): Promise<string>;
  close(): Promise<void>;
}

/** An issuer that publishes a key and signs any header and claims. */
export async function startKeyIssuer(algorithm: KeyIssuerAlgorithm = 'RS256'): Promise<KeyIssuer> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm);
  const kid = crypto.randomUUID();
  const keys = [{ ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' }];
  let issuer = '';
  const server = createServer((request, response) => {
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/jwks` },
      '/jwks': { keys },
    };
    const document = documents[request.url ?? ''];
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    issueToken({ claims, header = {} }) {
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({ iss: issuer, iat: now, exp: now + 3600, ...claims })
        .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT', ...header })
        .sign(privateKey);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The group order of P-256. */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * Other encodings of the same token. `respelled`: another last character for the same signature bytes. `blank`: a space
 * in the signature. `negated` (ES256): the second valid signature, with `n - s` instead of `s`.
 */
export function tokenVariants(token: string, algorithm: KeyIssuerAlgorithm): Record<string, string> {
  const end = token.lastIndexOf('.') + 1;
  const [input, signature] = [token.slice(0, end), token.slice(end)];
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const respelled = signature.slice(0, -1) + alphabet[alphabet.indexOf(signature.slice(-1)) + 1];
  const variants = { respelled: input + respelled, blank: `${input}${signature.slice(0, 9)} ${signature.slice(9)}` };
  return algorithm === 'ES256' ? { ...variants, negated: input + negated(signature) } : variants;
}

function negated(signature: string): string {
  const bytes = Buffer.from(signature, 'base64url');
  const s = P256_ORDER - BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  return Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]).toString(
    'base64url',
  );
}
