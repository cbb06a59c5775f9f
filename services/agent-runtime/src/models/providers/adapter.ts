import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Prompt } from '../port.js';
import type { PassOptions } from '../wire-body.js';

export type Fetch = typeof globalThis.fetch;

export interface AttemptOptions {
  /** Name of the model at the provider. */
  model: string;
  /** All requests of the attempt use it. */
  fetch: Fetch;
  /** The bearer token for the model gateway; undefined without a gateway. */
  token: string | undefined;
}

/** What differs between providers. */
export interface ProviderAdapter {
  readonly slug: string;
  /** @throws ModelError if no model is configured */
  modelName(requested: string): string;
  /** The model for one attempt. */
  languageModel(options: AttemptOptions): Pick<LanguageModelV4, 'doStream'>;
  /** This protocol requires these fields, which other protocols make optional. */
  readonly required?: readonly string[];
  /** The body of a request without fields that the server refuses, or with other ones. */
  reduce?(body: Record<string, unknown>, refused: ReadonlySet<string>): Record<string, unknown>;
  /** Adapts a prompt to what servers of this protocol accept. */
  prepare(prompt: Prompt): Prompt;
  /**
   * Repairs what some servers of this protocol do differently.
   *
   * @param offered names of the tools of the request
   */
  repair(response: Response, offered: ReadonlySet<string>, options: PassOptions): Promise<Response>;
}
