import type { FunctionTool } from '../models/port.js';

/** Part of a tool result. Image data is base64. */
export type ToolPart =
  | { type: 'text'; text: string }
  | { type: 'image'; mediaType: string; data: string }
  | { type: 'link'; uri: string; name: string };

/** Tool result. Text, names and addresses are untrusted data, whichever tool returned them. */
export interface ToolResult {
  /** The whole result in words; images and links are described. */
  text: string;
  failed: boolean;
  /** The same with its images and links; absent if it has none. */
  parts?: readonly ToolPart[];
}

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
