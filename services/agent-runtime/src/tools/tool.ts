import type { JsonObject } from '@bufbuild/protobuf';
import type { ToolDefinition } from '../models/model.js';

/** What came of a tool call. The text is untrusted data, whoever wrote the tool. */
export interface ToolResult {
  text: string;
  failed: boolean;
}

/** A tool of the runtime itself. It calls nobody, and what it does is what is shown. */
export interface BuiltInTool {
  definition: ToolDefinition;
  /** `message` is shown as a message of the agent's own, as a MessageContent of the REST contract. */
  run(input: Record<string, unknown>): ToolResult & { message?: JsonObject };
}

/** Somewhere tools come from. */
export interface ToolSource {
  /** @throws Error with a sentence for people; when `signal` aborts, its reason. */
  list(signal: AbortSignal): Promise<readonly ToolDefinition[]>;
  /** Failures are results. @throws only the reason of `signal`, when it aborts. */
  call(name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult>;
}

/** The bearer token of a turn at the time of the call; undefined if the orchestrator sent none. */
export type TokenOfTurn = () => string | undefined;

/** A server that offers tools, with a token per turn. */
export interface ToolServer {
  /** The tools as one turn calls them. The token is read before each request: it is renewed while the turn runs. */
  forTurn(token: TokenOfTurn): ToolSource;
}

/** The source of a runtime that has no tools. */
export const noTools: ToolSource = {
  list: () => Promise.resolve([]),
  call: (name) => Promise.resolve({ text: `${name}: there is no such tool.`, failed: true }),
};
