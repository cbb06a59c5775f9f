import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { isPlaceholder } from './secret-text.js';

/** The token is missing, malformed, expired, or meant for somebody else. */
export class TokenError extends Error {
  override name = 'TokenError';
}

/** A symmetric key with the id that tokens name it by, so that two can be live during a rotation. */
export interface SigningKey {
  id: string;
  secret: Uint8Array;
}

/**
 * Reads `<id>:<secret>` (or a bare secret, whose id is then `default`).
 * The secret is used as its UTF-8 bytes and must have at least 32 of them.
 */
export function parseSigningKey(text: string): SigningKey {
  const colon = text.indexOf(':');
  const id = colon > 0 ? text.slice(0, colon) : 'default';
  const secret = new TextEncoder().encode(colon > 0 ? text.slice(colon + 1) : text);
  if (isPlaceholder(text)) throw new TokenError('a signing key is needed, and not a placeholder for one');
  if (secret.byteLength < 32) throw new TokenError('a signing key needs at least 32 bytes');
  return { id, secret };
}

/**
 * The key that signs, followed by those that are accepted besides.
 *
 * @throws TokenError for a malformed key, and for two keys with one id, of which only the first could ever match
 */
export function parseSigningKeys(current: string, previous: readonly string[] = []): SigningKey[] {
  const keys = [current, ...previous].map(parseSigningKey);
  const ids = new Set(keys.map(({ id }) => id));
  if (ids.size < keys.length) throw new TokenError('two signing keys have the same key id');
  return keys;
}

interface Claims {
  subject: string;
  audience: string;
}

async function verified(verify: () => ReturnType<typeof jwtVerify>): Promise<string> {
  try {
    const { payload } = await verify();
    if (payload.sub === undefined) throw new TokenError('the token names no subject');
    return payload.sub;
  } catch (error) {
    throw error instanceof TokenError ? error : new TokenError('the token is not valid', { cause: error });
  }
}

const TOOL_AUDIENCE = 'mcp';

/** Seconds that a tool token is valid. Short, because nothing revokes it: see docs/adr/0018-issue-a-short-lived-tool-token-per-turn.md. */
export const TOOL_TOKEN_TTL_S = 240;

/** The turn that a tool token is for. */
export interface ToolTokenTurn {
  workspaceId: string;
  agentId: string;
  turnId: string;
}

/** An HS256 token with which the runtime of a workspace calls the tool server during one turn; valid for `TOOL_TOKEN_TTL_S`. */
export function signMcpToken(key: SigningKey, { workspaceId, agentId, turnId }: ToolTokenTurn): Promise<string> {
  return new SignJWT({ agent: agentId, turn: turnId })
    .setProtectedHeader({ alg: 'HS256', kid: key.id })
    .setSubject(workspaceId)
    .setAudience(TOOL_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(`${TOOL_TOKEN_TTL_S}s`)
    .sign(key.secret);
}

export interface McpTokenRules {
  /** Also accept tokens without an expiry, which pods made by release 0.2 have in their environment. */
  allowUnlimited?: boolean;
}

/** @returns the workspace id. @throws TokenError */
export function verifyMcpToken(
  keys: readonly SigningKey[],
  token: string,
  { allowUnlimited = false }: McpTokenRules = {},
): Promise<string> {
  return verifySharedKeyToken(keys, token, TOOL_AUDIENCE, allowUnlimited ? [] : ['exp']);
}

const INTERNAL_AUDIENCE = 'orchestrator-internal';

/** A service token of 60 s for the internal API, in the name of `subject` (a user id, or the service). */
export function signInternalToken(key: SigningKey, subject: string): Promise<string> {
  return signShortLivedToken(key, subject, INTERNAL_AUDIENCE);
}

const ADMIN_AUDIENCE = 'orchestrator-admin';

/** A token of 60 s for what operators do, in the name of the one who does it. */
export function signAdminToken(key: SigningKey, operator: string): Promise<string> {
  return signShortLivedToken(key, operator, ADMIN_AUDIENCE);
}

/** @returns the operator. @throws TokenError */
export function verifyAdminToken(keys: readonly SigningKey[], token: string): Promise<string> {
  return verifySharedKeyToken(keys, token, ADMIN_AUDIENCE, ['exp']);
}

function signShortLivedToken(key: SigningKey, subject: string, audience: string): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: 'HS256', kid: key.id })
    .setSubject(subject)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('60s')
    .sign(key.secret);
}

/** @returns the subject the token speaks for. @throws TokenError */
export function verifyInternalToken(keys: readonly SigningKey[], token: string): Promise<string> {
  return verifySharedKeyToken(keys, token, INTERNAL_AUDIENCE, ['exp']);
}

function verifySharedKeyToken(
  keys: readonly SigningKey[],
  token: string,
  audience: string,
  requiredClaims: string[] = [],
): Promise<string> {
  return verified(() =>
    jwtVerify(
      token,
      (header) => {
        const key = keys.find(({ id }) => id === header.kid);
        if (key === undefined) throw new TokenError('the token names no key of ours');
        return key.secret;
      },
      { algorithms: ['HS256'], audience, requiredClaims },
    ),
  );
}

/** PEM texts of a fresh Ed25519 pair, for call tokens. */
export function generateCallKeys(): { privateKey: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** The public half, as runtimes get it. */
export function callPublicKey(privateKeyPem: string): string {
  return createPublicKey(createPrivateKey(privateKeyPem)).export({ type: 'spki', format: 'pem' }).toString();
}

/** An Ed25519 token of 60 s that lets the orchestrator call the runtime of one workspace. */
export function signCallToken(privateKey: KeyObject, { subject, audience }: Claims): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: 'EdDSA' })
    .setSubject(subject)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('60s')
    .sign(privateKey);
}

/** @returns the caller. @throws TokenError */
export function verifyCallToken(publicKey: KeyObject, token: string, workspaceId: string): Promise<string> {
  return verified(() =>
    jwtVerify(token, publicKey, { algorithms: ['EdDSA'], audience: workspaceId, requiredClaims: ['exp'] }),
  );
}
