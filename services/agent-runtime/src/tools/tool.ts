import type { ToolResult } from '@uswarm/mcp-client';
import type { FunctionTool } from '../models/port.js';

/** Lists and calls tools. */
export interface ToolSource {
  /** @throws Error with a message for users; the reason of `signal` if it aborts. */
  list(signal: AbortSignal): Promise<readonly FunctionTool[]>;
  /**
   * Returns failures as results.
   *
   * @param token for this call. Default: the turn's token
   * @throws only the reason of `signal`, if it aborts.
   */
  call(name: string, input: Record<string, unknown>, signal: AbortSignal, token?: string): Promise<ToolResult>;
}

/** A turn's bearer token at the time of the call; undefined if the orchestrator sent none. */
export type TokenOfTurn = () => string | undefined;

/** A tool server that authenticates each turn with its own token. */
export interface ToolServer {
  /** The token is read before each request, because it is renewed while the turn runs. */
  forTurn(token: TokenOfTurn): ToolSource;
}

/** For runtimes without a tool server. */
export const noTools: ToolSource = {
  list: () => Promise.resolve([]),
  call: (name) => Promise.resolve({ text: `${name}: unknown tool.`, failed: true }),
};
