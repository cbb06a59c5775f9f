import type { ToolDefinition } from '../models/model.js';

/** The result of a tool call. The text is untrusted data, whichever tool returned it. */
export interface ToolResult {
  text: string;
  failed: boolean;
}

/** Lists and calls tools. */
export interface ToolSource {
  /** @throws Error with a message for users; the reason of `signal` if it aborts. */
  list(signal: AbortSignal): Promise<readonly ToolDefinition[]>;
  /** Returns failures as results. @throws only the reason of `signal`, if it aborts. */
  call(name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult>;
}

/** The bearer token of a turn at the time of the call; undefined if the orchestrator sent none. */
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
