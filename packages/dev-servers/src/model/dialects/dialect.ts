import type { ModelProtocol, ModelStep, ReceivedRequest } from '../model-script.js';

export interface DialectCall {
  name: string;
  /** Undefined if the arguments are not a JSON object. */
  input: Record<string, unknown> | undefined;
}

/** The client's expected result. */
export interface DialectResult {
  /** Text of the first step, without retracted text. */
  text: string;
  /** How the first step ends; undefined if it fails. */
  finish?: 'answered' | 'calls' | 'length' | 'refused' | 'unknown';
  /** Calls in all steps. */
  calls?: readonly DialectCall[];
  /** Error code. */
  error?: string;
  /** The error is about the request's size. */
  contextOverflow?: true;
  /** Tokens that the error names as the request's limit. */
  contextLimit?: number;
  /** A part of the sentence that users read. */
  says?: string;
  /** Requests in the first step. */
  requests: number;
  /** Usage source for each counted attempt in the first step. */
  usage: readonly ('reported' | 'estimated')[];
  /** The reported tokens. */
  tokens?: { prompt: number; completion: number; cached?: number };
  /** Milliseconds that the server asks to wait. */
  waits?: readonly number[];
  /** Milliseconds by which the waits may differ, because dates have whole seconds; default 0. */
  waitsWithinMs?: number;
}

/** A real server's behaviour that differs from what clients expect. */
export interface Dialect {
  /** A sentence. */
  name: string;
  protocol: ModelProtocol | 'both';
  /** Where it was seen. */
  server: string;
  /** Address of an issue, a documentation page or a source file that shows it. */
  source: string;
  /** The responses; a request with tool results is answered with a text if there are no steps for it. */
  script: (index: number, received: ReceivedRequest) => readonly ModelStep[] | undefined;
  expected: DialectResult;
  /** The request's user messages, in a row. */
  questions?: readonly string[];
  /** The request's system prompt, with a mark for the cache. */
  system?: string;
  /** The last user message has an image. */
  image?: true;
  /** Milliseconds without a byte after which the client gives up; for servers that hang. */
  silenceMs?: number;
}
