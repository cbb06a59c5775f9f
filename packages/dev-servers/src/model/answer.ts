import type { ServerResponse } from 'node:http';
import { countTokens } from './count-tokens.js';
import type { ModelServerRequest, ScriptedCall, ScriptedError, ScriptedFinish, ScriptedUsage } from './model-script.js';

/** Writes an answer in one protocol. */
export interface ProtocolWriter {
  open(): void;
  text(text: string): void;
  thinking(text: string, signature: string | undefined): void;
  redactedThinking(data: string): void;
  calls(calls: readonly ScriptedCall[]): void;
  ping(): void;
  error(error: ScriptedError): void;
  /** @returns whether the connection accepted the reported usage */
  close(): Promise<boolean>;
}

/** An answer in progress. */
export interface Answer {
  request: ModelServerRequest;
  id: string;
  response: ServerResponse;
  finish: ScriptedFinish;
  /** What the server charges for: the prompt, and the tokens that it has sent so far. */
  counted: ScriptedUsage;
  /** The usage to report, or undefined to report what was counted. */
  scripted: ScriptedUsage | undefined;
}

export const usageOf = ({ scripted, counted }: Answer): ScriptedUsage => scripted ?? counted;

/** Counts what is about to be sent. */
export function count(answer: Answer, text: string): void {
  answer.counted.completion += countTokens(text);
}

export const argumentsOf = (call: ScriptedCall): string =>
  typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);

/** The two parts in which arguments are streamed. */
export function halves(text: string): readonly [string, string] {
  const half = Math.ceil(text.length / 2);
  return [text.slice(0, half), text.slice(half)];
}
