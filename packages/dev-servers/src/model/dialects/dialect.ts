import type { ModelProtocol, ModelStep, ReceivedRequest } from '../model-script.js';

export interface DialectCall {
  name: string;
  /** Undefined if the arguments are not a JSON object. */
  input: Record<string, unknown> | undefined;
}

/** What a client must make of the responses. */
export interface DialectResult {
  /** The text of the first step, without retracted text. */
  text: string;
  /** How the first step ends; undefined if it fails. */
  finish?: 'answered' | 'calls' | 'length' | 'refused' | 'unknown';
  /** The calls of all steps. */
  calls?: readonly DialectCall[];
  /** The code of the error. */
  error?: string;
  /** The error is about the size of the request. */
  contextOverflow?: true;
  /** Tokens that the error names as the limit of the request. */
  contextLimit?: number;
  /** A part of the sentence that users read. */
  says?: string;
  /** Requests of the first step. */
  requests: number;
  /** Where the usage of each counted attempt of the first step comes from. */
  usage: readonly ('reported' | 'estimated')[];
  /** The reported tokens. */
  tokens?: { prompt: number; completion: number; cached?: number };
  /** Milliseconds that the server asks to wait. */
  waits?: readonly number[];
  /** Milliseconds by which the waits may differ, because dates have whole seconds; default 0. */
  waitsWithinMs?: number;
}

/** A behaviour of a real server that differs from what clients expect. */
export interface Dialect {
  /** A sentence. */
  name: string;
  protocol: ModelProtocol | 'both';
  /** Where it was seen. */
  server: string;
  /** The address of an issue, a page of documentation or a source file that shows it. */
  source: string;
  /** The responses; a request with tool results is answered with a text if there are no steps for it. */
  script: (index: number, received: ReceivedRequest) => readonly ModelStep[] | undefined;
  expected: DialectResult;
  /** The user messages of the request, in a row. */
  questions?: readonly string[];
  /** The system prompt of the request, with a mark for the cache. */
  system?: string;
  /** The last user message has an image. */
  image?: true;
  /** Milliseconds without a byte after which the client gives up; for servers that hang. */
  silenceMs?: number;
}
