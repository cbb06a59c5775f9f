import { type SigningKey, signMcpToken } from '@uswarm/service-kit';

export type TokenSource = (workspaceId: string) => Promise<string>;

const MAX_TOKENS = 20_000;

/** Signs the token of each workspace once: with one key it is the same bytes for ever. */
export function createTokenSource(key: SigningKey, capacity = MAX_TOKENS): TokenSource {
  const tokens = new Map<string, string>();
  return async (workspaceId) => {
    const known = tokens.get(workspaceId);
    if (known !== undefined) return known;
    const token = await signMcpToken(key, workspaceId);
    const [oldest] = tokens.keys();
    if (tokens.size >= capacity && oldest !== undefined) tokens.delete(oldest);
    tokens.set(workspaceId, token);
    return token;
  };
}
