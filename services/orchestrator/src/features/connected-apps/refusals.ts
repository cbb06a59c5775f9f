import { failed } from '../tools/outcomes.js';
import type { ToolOutcome } from '../tools/platform-tool.js';
import { RequestRefused } from './provider-api.js';

/** Statuses that a user can do something about. */
const REASONS: Record<number, (app: string) => string> = {
  0: (app) => `${app} cannot be reached at the moment.`,
  401: (app) =>
    `The user has not connected ${app}, or the connection has expired. The user can connect it in the settings.`,
  403: (app) => `The user has not allowed this in ${app}, or it has received too many requests.`,
  404: (app) => `${app} has no such entry.`,
  410: (app) => `The entry was deleted in ${app}.`,
  412: (app) => `The entry was changed in ${app} in the meantime. Read it again.`,
  429: (app) => `${app} has received too many requests. Try again later.`,
};

/** The outcome of a request that the provider refused. @throws other errors */
export function refusedBy(app: string, error: unknown): ToolOutcome {
  if (!(error instanceof RequestRefused)) throw error;
  const reason = REASONS[error.status]?.(app) ?? `${app} refused the request: ${error.message}.`;
  return failed(`${reason} Nothing was changed.`);
}
