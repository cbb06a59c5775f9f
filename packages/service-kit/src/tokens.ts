import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { isPlaceholder } from './secret-text.js';

/** The token is missing, malformed, expired, or issued for another audience. */
export class TokenError extends Error {
  override name = 'TokenError';

  /** Whether the token was valid once: if it was just signed, the clocks differ. */
  get isExpired(): boolean {
    return this.cause instanceof errors.JWTExpired;
  }
}

/** A symmetric key with its key id (`kid`), so that two keys can be active during a rotation. */
export interface SigningKey {
  id: string;
  secret: Uint8Array;
}

/**
 * Reads `<id>:<secret>` (or a bare secret, whose id is then `default`). The secret's UTF-8 bytes are the key; at least
 * 32 bytes are required.
 */
export function parseSigningKey(text: string): SigningKey {
  const colon = text.indexOf(':');
  const id = colon > 0 ? text.slice(0, colon) : 'default';
  const secret = new TextEncoder().encode(colon > 0 ? text.slice(colon + 1) : text);
  if (isPlaceholder(text)) throw new TokenError('the signing key is a placeholder: generate a key');
  if (secret.byteLength < 32) throw new TokenError('a signing key must have at least 32 bytes');
  return { id, secret };
}

/**
 * Parses the current key, which signs, followed by the previous keys, which are only accepted.
 *
 * @throws TokenError for a malformed key, and for two keys with the same id
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
  return (await verifiedClaims(verify)).sub;
}

async function verifiedClaims(verify: () => ReturnType<typeof jwtVerify>): Promise<JWTPayload & { sub: string }> {
  try {
    const { payload } = await verify();
    const { sub } = payload;
    // A key holder can sign any JSON.
    if (typeof sub !== 'string') throw new TokenError('the token has no subject');
    return { ...payload, sub };
  } catch (error) {
    throw error instanceof TokenError ? error : new TokenError('the token is not valid', { cause: error });
  }
}

const TOOL_AUDIENCE = 'mcp';

/**
 * Tool token lifetime in seconds. It is short because a tool token cannot be revoked: see
 * docs/adr/0018-issue-a-short-lived-tool-token-per-turn.md.
 */
export const TOOL_TOKEN_TTL_S = 240;

/** The turn for which a tool token is issued. */
export interface ToolTokenTurn {
  workspaceId: string;
  agentId: string;
  turnId: string;
}

/** Scope of a tool token that may only list the tools. */
const LIST_SCOPE = 'list';

const hashOf = (text: string): string => hash('sha256', text, 'base64url');

/** The only call for which a tool token is valid: a search with this query, or a page with this address. */
export type McpGrant = { query: string } | { page: string };

function scopeOf(grant: McpGrant | undefined): Record<string, string> {
  if (grant === undefined) return { scope: LIST_SCOPE };
  return 'query' in grant ? { query: hashOf(grant.query) } : { page: hashOf(grant.page) };
}

/**
 * An HS256 token with which a workspace's runtime calls the tool server during one turn; valid for `TOOL_TOKEN_TTL_S`.
 *
 * @param grant undefined: it is valid for the tool list only
 */
export function signMcpToken(
  key: SigningKey,
  { workspaceId, agentId, turnId }: ToolTokenTurn,
  grant?: McpGrant,
): Promise<string> {
  return new SignJWT({ agent: agentId, turn: turnId, ...scopeOf(grant) })
    .setProtectedHeader({ alg: 'HS256', kid: key.id })
    .setSubject(workspaceId)
    .setAudience(TOOL_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(`${TOOL_TOKEN_TTL_S}s`)
    .sign(key.secret);
}

/** Caller of a tool server. */
export interface McpCaller {
  workspaceId: string;
  /** The hash of the only query that it may send. */
  query: 'none' | { hash: string };
  /** The hash of the only page address that it may read. */
  page: 'none' | { hash: string };
}

/** True if a token is valid for this query. */
export const allowsQuery = ({ query: allowed }: McpCaller, query: string): boolean =>
  allowed !== 'none' && allowed.hash === hashOf(query);

/** True if a token is valid for this page address. */
export const allowsPage = ({ page: allowed }: McpCaller, page: string): boolean =>
  allowed !== 'none' && allowed.hash === hashOf(page);

/** @throws TokenError */
export async function verifyMcpToken(keys: readonly SigningKey[], token: string): Promise<McpCaller> {
  const { sub, query, page } = await verifiedClaims(() => verifySharedKey(keys, token, TOOL_AUDIENCE, ['exp']));
  if (typeof query === 'string') return { workspaceId: sub, query: { hash: query }, page: 'none' };
  if (typeof page === 'string') return { workspaceId: sub, query: 'none', page: { hash: page } };
  return { workspaceId: sub, query: 'none', page: 'none' };
}

const MODEL_AUDIENCE = 'model-gateway';

/** Model token lifetime in seconds; short for the same reason as a tool token's. */
const MODEL_TOKEN_TTL_S = 240;

/** The model calls for which a model token is issued. */
export interface ModelTokenTurn {
  workspaceId: string;
  agentId: string;
  turnId: string;
  /**
   * `turn`: calls in the running turn. `summary`: calls for a summary or a title after the turn. `transcription`: a
   * recording, which the orchestrator sends itself; no runtime has such a token.
   */
  purpose: ModelTokenPurpose;
  /** The turn's span. Signed, so that a runtime cannot choose another trace. */
  traceparent?: string | undefined;
}

export const MODEL_TOKEN_PURPOSES = ['turn', 'summary', 'transcription'] as const;
export type ModelTokenPurpose = (typeof MODEL_TOKEN_PURPOSES)[number];

/** An HS256 token with which a workspace's runtime calls the model gateway; valid for 240 s. */
export function signModelToken(
  key: SigningKey,
  { workspaceId, agentId, turnId, purpose, traceparent }: ModelTokenTurn,
): Promise<string> {
  return new SignJWT({ agent: agentId, turn: turnId, purpose, ...(traceparent === undefined ? {} : { traceparent }) })
    .setProtectedHeader({ alg: 'HS256', kid: key.id })
    .setSubject(workspaceId)
    .setAudience(MODEL_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(`${MODEL_TOKEN_TTL_S}s`)
    .sign(key.secret);
}

const modelClaims = z.object({
  agent: z.string(),
  turn: z.string(),
  purpose: z.enum(MODEL_TOKEN_PURPOSES),
  traceparent: z.string().optional(),
});

/** @param keys the current key and, during a rotation, the previous one. @throws TokenError */
export async function verifyModelToken(keys: readonly SigningKey[], token: string): Promise<ModelTokenTurn> {
  const payload = await verifiedClaims(() => verifySharedKey(keys, token, MODEL_AUDIENCE, ['exp']));
  const claims = modelClaims.safeParse(payload);
  if (!claims.success) throw new TokenError('the token names no turn');
  const { agent, turn, purpose, traceparent } = claims.data;
  const trace = traceparent === undefined ? {} : { traceparent };
  return { workspaceId: payload.sub, agentId: agent, turnId: turn, purpose, ...trace };
}

const INTERNAL_AUDIENCE = 'orchestrator-internal';

/**
 * Signs a realtime gateway's service token for the internal API, valid for 60 s. `subject` is a user id or the service.
 */
export function signInternalToken(key: SigningKey, subject: string): Promise<string> {
  return signShortLivedToken(key, subject, INTERNAL_AUDIENCE);
}

const MODEL_CALLS_AUDIENCE = 'orchestrator-model-calls';

/**
 * Signs the model gateway's token for `/internal/v1/model-calls`, valid for 60 s. It has a separate key and audience,
 * because the model gateway is the only service that untrusted pods call: a leak must not open the rest of the internal
 * API.
 */
export function signModelCallsToken(key: SigningKey, subject: string): Promise<string> {
  return signShortLivedToken(key, subject, MODEL_CALLS_AUDIENCE);
}

/** @returns the token's subject. @throws TokenError */
export function verifyModelCallsToken(keys: readonly SigningKey[], token: string): Promise<string> {
  return verifySharedKeyToken(keys, token, MODEL_CALLS_AUDIENCE, ['exp']);
}

const ADMIN_AUDIENCE = 'orchestrator-admin';

/** Signs an operator token for the admin API that is valid for 60 s. */
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

/** @returns the token's subject. @throws TokenError */
export function verifyInternalToken(keys: readonly SigningKey[], token: string): Promise<string> {
  return verifySharedKeyToken(keys, token, INTERNAL_AUDIENCE, ['exp']);
}

/**
 * Tolerated clock difference between two services, beside the token's lifetime. These tokens never leave the cluster,
 * and a call with one is not repeated for its token: it may live half a minute longer.
 */
const SERVICE_CLOCK_TOLERANCE_S = 30;

function verifySharedKeyToken(
  keys: readonly SigningKey[],
  token: string,
  audience: string,
  requiredClaims: string[] = [],
): Promise<string> {
  return verified(() => verifySharedKey(keys, token, audience, requiredClaims, SERVICE_CLOCK_TOLERANCE_S));
}

function verifySharedKey(
  keys: readonly SigningKey[],
  token: string,
  audience: string,
  requiredClaims: string[],
  clockTolerance = 0,
) {
  return jwtVerify(
    token,
    (header) => {
      const key = keys.find(({ id }) => id === header.kid);
      if (key === undefined) throw new TokenError('the key id of the token is unknown');
      return key.secret;
    },
    { algorithms: ['HS256'], audience, requiredClaims, clockTolerance },
  );
}

/** Generates an Ed25519 key pair for call tokens, as PEM. */
export function generateCallKeys(): { privateKey: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** Public key for runtimes, from a PEM private key. */
export function callPublicKey(privateKeyPem: string): string {
  return createPublicKey(createPrivateKey(privateKeyPem)).export({ type: 'spki', format: 'pem' }).toString();
}

/** Signs an Ed25519 token, valid for 60 s, with which the orchestrator calls the runtime of one workspace. */
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
export type VerifyCallToken = (token: string) => Promise<string>;

/** Verifies tokens for calls to one workspace's runtime. A token that is used again is verified once. */
export function createCallTokenVerifier(publicKey: KeyObject, workspaceId: string): VerifyCallToken {
  let known: { digest: string; caller: string; expiresAt: number } | undefined;
  return async (token) => {
    // The time to compare digests tells nothing about the token.
    const digest = hash('sha256', token);
    if (known?.digest === digest && Date.now() < known.expiresAt) return known.caller;
    const { sub, exp = 0 } = await verifiedClaims(() =>
      jwtVerify(token, publicKey, {
        algorithms: ['EdDSA'],
        audience: workspaceId,
        requiredClaims: ['exp'],
        clockTolerance: SERVICE_CLOCK_TOLERANCE_S,
      }),
    );
    known = { digest, caller: sub, expiresAt: (exp + SERVICE_CLOCK_TOLERANCE_S) * 1_000 };
    return sub;
  };
}
