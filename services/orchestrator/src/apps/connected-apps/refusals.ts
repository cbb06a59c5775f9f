import { failed } from '../../turns/tools/outcomes.js';
import type { ToolOutcome } from '../../turns/tools/platform-tool.js';
import { type RefusalReason, RequestRefused } from './provider-api.js';

const busy = (app: string): string => `${app} has received too many requests. Try again later.`;

/** Statuses that a user can do something about. */
const REASONS: Record<number, (app: string) => string> = {
  0: (app) => `${app} cannot be reached at the moment.`,
  401: (app) =>
    `The user has not connected ${app}, or the connection has expired or was revoked. The user can connect it in the settings.`,
  403: (app) => `The user has not allowed this in ${app}, or it has received too many requests.`,
  404: (app) => `${app} has no such entry.`,
  410: (app) => `The entry was deleted in ${app}.`,
  412: (app) => `The entry was changed in ${app} in the meantime. Read it again.`,
  429: busy,
};
const MEANINGS: Record<RefusalReason, (app: string) => string> = {
  scope: (app) =>
    `The user has not allowed this in ${app}: the connection lacks the permission. The user can connect ${app} again in the settings and ` +
    'allow everything that is asked.',
  limit: busy,
};

/** Tells the user that an app must be connected again. Its action asks the agent to continue. */
const reconnectCard = (app: string): ToolOutcome['message'] => ({
  key: `reconnect:${app}`,
  content: {
    type: 'action_card',
    title: `${app} is not connected`,
    description: `The connection has expired or was revoked. Connect ${app} in the settings, and then continue here.`,
    actions: [{ id: 'retry', label: `I have connected ${app}`, style: 'primary' }],
    selected_action_id: null,
  },
});

/** Describes the refusal to the agent. @throws other errors */
export function refusedBy(app: string, error: unknown): ToolOutcome {
  if (!(error instanceof RequestRefused)) throw error;
  const { status, reason } = error;
  const explain = reason === undefined ? REASONS[status] : MEANINGS[reason];
  const outcome = failed(`${explain?.(app) ?? `${app} refused the request: ${error.message}.`} Nothing was changed.`);
  const message = status === 401 ? reconnectCard(app) : undefined;
  return message === undefined ? outcome : { ...outcome, message };
}
