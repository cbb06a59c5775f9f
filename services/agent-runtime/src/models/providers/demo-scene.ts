import type { ReadResult, Situation } from './demo-situation.js';

export const LABEL = '[demo]';

export interface DemoCall {
  tool: string;
  input: Record<string, unknown>;
}

/** The demo model's next step: tool calls, after a text if any, or an answer. */
export type DemoMove =
  | { calls: readonly DemoCall[]; text?: string }
  | {
      answer: string;
      /** `refused`: the model declines. `length`: the answer reaches the length limit. Default: it is complete. */
      end?: 'refused' | 'length';
    };

/** Something that the demo model shows on request. */
export interface Scene {
  /** A request that shows it. */
  request: string;
  /** What the request shows, for the list of all scenes. */
  shows: string;
  /** Matches the user's words. */
  words: RegExp;
  /** The tools without which it cannot be shown. */
  tools?: readonly string[];
  /** The next step. It depends only on the situation, which has the results of earlier steps. */
  play(situation: Situation, match: RegExpExecArray): DemoMove;
  /** The next step without the tools. Default: a sentence that names them. */
  without?(situation: Situation, match: RegExpExecArray): DemoMove | undefined;
}

export const answer = (text: string): DemoMove => ({ answer: `${LABEL} ${text}` });

export const call = (tool: string, input: Record<string, unknown>): DemoMove => ({ calls: [{ tool, input }] });

export const failure = ({ tool, text }: ReadResult): DemoMove => answer(`${tool} failed: ${text}`);

/**
 * One call after the other, each with the results before it; then the answer. A failed call ends the scene.
 */
export function inTurn(
  results: readonly ReadResult[],
  calls: readonly ((results: readonly ReadResult[]) => DemoCall)[],
  end: (results: readonly ReadResult[]) => DemoMove,
): DemoMove {
  const last = results.at(-1);
  if (last?.failed === true) return failure(last);
  const next = calls[results.length];
  return next === undefined ? end(results) : { calls: [next(results)] };
}
