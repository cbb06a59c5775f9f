import { WebSearchError } from './errors.js';
import { plainQuery } from './plain-query.js';

export const MAX_RESULTS_DEFAULT = 5;
export const MAX_RESULTS_CEILING = 15;
/** Code points in a query. A longer query is an error, because truncation would change its meaning. */
export const MAX_QUERY_LENGTH = 400;

/** Unchecked arguments from a model. */
export interface SearchArguments {
  query?: unknown;
  max_results?: unknown;
}

export interface CheckedArguments {
  /** Plain text, without SearXNG's command language. */
  query: string;
  maxResults: number;
  notes: string[];
}

/** A null means the same as an absent argument. @throws WebSearchError `invalid_argument` (TOOL-020, TOOL-021) */
export function checkArguments({ query, max_results }: SearchArguments): CheckedArguments {
  const notes: string[] = [];
  const maxResults = checkMaxResults(max_results);
  if (maxResults > MAX_RESULTS_CEILING) {
    notes.push(`max_results was lowered to the maximum, ${MAX_RESULTS_CEILING}.`);
  }
  return { query: checkQuery(query), maxResults: Math.min(maxResults, MAX_RESULTS_CEILING), notes };
}

function checkQuery(query: unknown): string {
  if (typeof query !== 'string' || query.trim() === '') {
    throw new WebSearchError('invalid_argument', 'query must be a non-empty text');
  }
  if ([...query].length > MAX_QUERY_LENGTH) {
    throw new WebSearchError('invalid_argument', `query is longer than ${MAX_QUERY_LENGTH} characters; shorten it`);
  }
  const plain = plainQuery(query);
  if (plain === '') {
    throw new WebSearchError('invalid_argument', 'query has no words to search for, only search commands');
  }
  return plain;
}

function checkMaxResults(value: unknown): number {
  if (value === undefined || value === null) return MAX_RESULTS_DEFAULT;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw new WebSearchError('invalid_argument', `max_results must be a whole number from 1 to ${MAX_RESULTS_CEILING}`);
  }
  return value;
}
