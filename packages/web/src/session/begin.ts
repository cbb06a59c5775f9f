import { loadConfiguration, type Configuration } from './configuration.js';
import { pages } from './pages.js';
import { problemOf } from './problem.js';
import { createSession, type Session } from './session.js';
import { beginSignIn, finishSignIn, lastUser } from './sign-in.js';

export type SessionState =
  | { step: 'loading' }
  | { step: 'signed out'; configuration?: Configuration; problem?: string }
  | { step: 'signed in'; session: Session };

/** Signs the user in, or finds that the user has to do it. @param go shows a path within the page */
export async function begin(go: (path: string) => void): Promise<SessionState> {
  let configuration: Configuration | undefined;
  try {
    configuration = await loadConfiguration();
    if (location.pathname === '/signed-in') {
      const { tokens, returnTo, accepts } = await finishSignIn(configuration);
      const session = createSession(configuration, tokens);
      await signUp(session, accepts);
      await session.client.start();
      go(await landing(session, returnTo));
      return { step: 'signed in', session };
    }
    const user = lastUser();
    if (!user) return { step: 'signed out', configuration };
    const path = location.pathname + location.search;
    const returnTo = path === '/' && !isNewVisit() ? LIST : path;
    await beginSignIn(configuration, { returnTo, user: configuration.local ? user : undefined });
    // The browser leaves.
    return { step: 'loading' };
  } catch (error) {
    return { step: 'signed out', problem: problemOf(error), ...(configuration && { configuration }) };
  }
}

/** True after an address or link, not after a reload or a step in the history, which show the same page again. */
const isNewVisit = (): boolean =>
  performance
    .getEntriesByType('navigation')
    .every((entry) => (entry as PerformanceNavigationTiming).type === 'navigate');

/** Shows the workspace list even to users with one workspace. */
const LIST = '/?';

/** Users with one workspace skip the list. */
async function landing({ client }: Session, returnTo: string): Promise<string> {
  if (returnTo !== '/') return returnTo;
  const { data } = await client.api.get('/v1/workspaces').catch(() => ({ data: [] }));
  const [first, ...others] = data;
  return first && others.length === 0 ? pages.workspace(first.id) : returnTo;
}

/** @param hasAccepted the user accepted the present documents with the sign-in; other users are asked later */
async function signUp({ client }: Session, hasAccepted: boolean): Promise<void> {
  // The client may repeat calls with a key; here, repeating changes nothing.
  const repeated = { idempotencyKey: crypto.randomUUID() };
  await client.api.post('/v1/auth/sign-up', repeated);
  if (!hasAccepted) return;
  const { terms_of_service_version, privacy_policy_version } = (await client.api.get('/v1/legal')).data;
  const body = { terms_of_service_version, privacy_policy_version };
  await client.api.post('/v1/users/legal/accept', { ...repeated, body });
}
