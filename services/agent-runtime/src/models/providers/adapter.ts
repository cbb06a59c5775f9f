import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ModelNames } from '../model-names.js';
import type { Prompt } from '../port.js';
import type { PassOptions } from '../wire-body.js';

export type Fetch = typeof globalThis.fetch;

/** A provider's account or server. */
export interface AdapterOptions {
  slug: string;
  baseUrl: string;
  apiKey?: string | undefined;
  names: ModelNames;
}

export interface AttemptOptions {
  /** The provider's model name. */
  model: string;
  /** All requests in the attempt use it. */
  fetch: Fetch;
  /** The bearer token for the model gateway; undefined without a gateway. */
  token: string | undefined;
}

/** Differences between providers. */
export interface ProviderAdapter {
  readonly slug: string;
  /** @throws ModelError if no model is configured */
  modelName(requested: string): string;
  /** The model for one attempt. */
  languageModel(options: AttemptOptions): Pick<LanguageModelV4, 'doStream'>;
  /** This protocol requires these fields, which other protocols make optional. */
  readonly required?: readonly string[];
  /** The request body without fields that the server refuses, or with other ones. */
  reduce?(body: Record<string, unknown>, refused: ReadonlySet<string>): Record<string, unknown>;
  /** Adapts a prompt to what servers of this protocol accept. */
  prepare(prompt: Prompt): Prompt;
  /**
   * Repairs deviations of this protocol's servers.
   *
   * @param offered the request's tool names
   */
  repair(response: Response, offered: ReadonlySet<string>, options: PassOptions): Promise<Response>;
}
