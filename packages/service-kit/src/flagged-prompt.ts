import { parseJson } from './parse-json.js';

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/**
 * True if a provider's error response reports that a moderation flagged the prompt: OpenRouter describes it in the
 * metadata of a 403.
 */
export function isPromptFlagged(body: string): boolean {
  const parsed = parseJson(body);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  const metadata = isObject(error) ? error['metadata'] : undefined;
  return isObject(metadata) && (Array.isArray(metadata['reasons']) || typeof metadata['flagged_input'] === 'string');
}
