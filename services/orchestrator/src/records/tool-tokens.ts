import {
  type McpGrant,
  type SigningKey,
  signMcpToken,
  TOOL_TOKEN_TTL_S,
  type ToolTokenTurn,
} from '@uswarm/service-kit';

/** Renewal interval for a running turn; the second attempt still comes before the first token expires. */
export const RENEW_TOOL_TOKEN_MS = (TOOL_TOKEN_TTL_S * 1_000 * 3) / 8;

/**
 * Creates a tool token for a turn; empty if this orchestrator has no key, which leaves the turn without tools.
 *
 * @param grant the only call for which it is valid. Default: it is only valid for the tool list
 */
export type ToolTokens = (turn: ToolTokenTurn, grant?: McpGrant) => Promise<string>;

export function createToolTokens(key: SigningKey | undefined): ToolTokens {
  return async (turn, grant) => (key === undefined ? '' : signMcpToken(key, turn, grant));
}
