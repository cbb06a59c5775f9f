import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Prompt } from '../port.js';
import type { PassOptions } from '../wire-body.js';

export type Fetch = typeof globalThis.fetch;

export interface AttemptOptions {
  /** Name of the model at the provider. */
  model: string;
  /** All requests of the attempt use it. */
  fetch: Fetch;
  /** Optional parameters that this provider rejected before; they are left out. */
  rejected: ReadonlySet<string>;
  /** The bearer token for the model gateway; undefined without a gateway. */
  token: string | undefined;
}

/** What differs between providers. */
export interface ProviderAdapter {
  readonly slug: string;
  /** Optional parameters that some servers of this protocol reject. */
  readonly optionalParameters: readonly string[];
  /** @throws ModelError if no model is configured */
  modelName(requested: string): string;
  /** The model for one attempt. */
  languageModel(options: AttemptOptions): Pick<LanguageModelV4, 'doStream'>;
  /** Adapts a prompt to what servers of this protocol accept. */
  prepare(prompt: Prompt): Prompt;
  /**
   * Repairs what some servers of this protocol do differently.
   *
   * @param offered names of the tools of the request
   */
  repair(response: Response, offered: ReadonlySet<string>, options: PassOptions): Promise<Response>;
}
