import { useConnection } from '@uswarm/client/react';
import { Suspense, useEffect, useRef, useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Spinner } from '../ui/parts.js';
import { loadConfiguration, type Configuration } from './configuration.js';
import { createSession, type Session } from './session.js';
import { SignInScreen } from './sign-in-screen.js';
import { beginSignIn, finishSignIn, lastUser } from './sign-in.js';
import { SessionContext } from './use-client.js';
import styles from './sign-in.module.css';

type State =
  | { step: 'loading' }
  | { step: 'signed out'; configuration?: Configuration; problem?: string }
  | { step: 'signed in'; session: Session };

/** Shows its children to a signed-in user. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [state, setState] = useState<State>({ step: 'loading' });
  const [, go] = useLocation();
  const isBegun = useRef(false);
  useEffect(() => {
    // The code of the issuer can be used once, and React calls effects twice in development.
    if (isBegun.current) return;
    isBegun.current = true;
    void begin((path) => go(path, { replace: true })).then(setState);
  }, [go]);
  if (state.step === 'signed in') return <SignedIn session={state.session}>{children}</SignedIn>;
  if (state.step === 'signed out')
    return (
      <SignInScreen
        configuration={state.configuration}
        problem={state.problem}
        returnTo={location.pathname + location.search}
      />
    );
  return <Loading />;
}

const Loading = () => (
  <main className={styles['center']}>
    <Spinner label="Loading" />
  </main>
);

async function begin(go: (path: string) => void): Promise<State> {
  let configuration: Configuration | undefined;
  try {
    configuration = await loadConfiguration();
    if (location.pathname === '/signed-in') {
      const { tokens, returnTo, accepts } = await finishSignIn(configuration);
      const session = createSession(configuration, tokens);
      await signUp(session, accepts);
      await session.client.start();
      go(returnTo);
      return { step: 'signed in', session };
    }
    const user = lastUser();
    if (!user) return { step: 'signed out', configuration };
    const returnTo = location.pathname + location.search;
    await beginSignIn(configuration, { returnTo, user: configuration.local ? user : undefined });
    // The browser leaves.
    return { step: 'loading' };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { step: 'signed out', problem, ...(configuration && { configuration }) };
  }
}

/** @param hasAccepted the user accepted the present documents with the sign-in; others are asked afterwards, if they have to */
async function signUp({ client }: Session, hasAccepted: boolean): Promise<void> {
  // Both calls change nothing the second time, so that the client may repeat them: a key allows it.
  const repeated = { idempotencyKey: crypto.randomUUID() };
  await client.api.post('/v1/auth/sign-up', repeated);
  if (!hasAccepted) return;
  const { terms_of_service_version, privacy_policy_version } = (await client.api.get('/v1/legal')).data;
  const body = { terms_of_service_version, privacy_policy_version };
  await client.api.post('/v1/users/legal/accept', { ...repeated, body });
}

/** After the end of a session, the sign-in covers everything, so that what the user wrote stays. */
function SignedIn({ session, children }: { session: Session; children: ReactNode }) {
  const { state, code } = useConnection(session.client);
  const hasEnded = state === 'signed_out' && code !== null;
  return (
    <SessionContext value={session}>
      <div inert={hasEnded}>
        <Suspense fallback={<Loading />}>{children}</Suspense>
      </div>
      {hasEnded && (
        <div className={styles['ended']} role="alertdialog" aria-modal aria-label="Your session has ended">
          <SignInScreen
            isOver
            configuration={session.configuration}
            problem={`Your session has ended (${code}). What you wrote is kept.`}
            returnTo={location.pathname + location.search}
          />
        </div>
      )}
    </SessionContext>
  );
}
