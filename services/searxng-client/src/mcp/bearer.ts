import type { IncomingMessage, ServerResponse } from 'node:http';
import { type McpCaller, type SigningKey, verifyMcpToken } from '@uswarm/service-kit';

/**
 * The caller that the request's bearer token names. Without a valid token, it responds with 401 and returns `undefined`.
 */
export async function authenticate(
  keys: readonly SigningKey[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<McpCaller | undefined> {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const caller = token === undefined ? undefined : await verifyMcpToken(keys, token).catch(() => undefined);
  if (caller !== undefined) return caller;
  const challenge = token === undefined ? 'Bearer realm="mcp"' : 'Bearer realm="mcp", error="invalid_token"';
  response
    .writeHead(401, { 'www-authenticate': challenge, 'content-type': 'application/json' })
    .end('{"error":"a valid tool token is required"}\n');
  return undefined;
}
