import OpenAI from 'openai';
import { ModelError } from './model.js';

/**
 * Maps a failed call to a stable code. The message excludes the provider's text, which may quote the key or the prompt.
 */
export function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  const options = { cause: error };
  if (error instanceof OpenAI.APIConnectionTimeoutError) {
    return new ModelError('model_timeout', 'The model provider did not respond in time.', options);
  }
  const status = error instanceof OpenAI.APIError ? error.status : undefined;
  if (status === 429) {
    return new ModelError('model_rate_limited', 'The model provider is limiting requests; try again later.', options);
  }
  if (status !== undefined && status >= 400 && status < 500 && status !== 408) {
    return new ModelError('model_rejected', `The model provider rejected the request${hint(status)}.`, options);
  }
  if (status !== undefined) {
    return new ModelError('model_unavailable', `The model provider failed (status ${status}).`, options);
  }
  return new ModelError('model_unavailable', 'The connection to the model provider failed.', options);
}

function hint(status: number): string {
  if (status === 401 || status === 403) return ` (status ${status}: check its API key)`;
  if (status === 404) return ' (status 404: check its URL and the name of the model)';
  return ` (status ${status})`;
}

/** Whether a retry can succeed: not for rejected or limited requests. */
export function isTransient(error: unknown): boolean {
  return toModelError(error).code === 'model_unavailable';
}
