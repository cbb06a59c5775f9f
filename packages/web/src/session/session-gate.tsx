import { useConnection } from '@uswarm/client/react';
import { Suspense, useEffect, useRef, useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Spinner } from '../ui/parts.js';
import { begin, type SessionState } from './begin.js';
import type { Session } from './session.js';
import { SignInScreen } from './sign-in-screen.js';
import { SessionContext } from './use-client.js';
import styles from './sign-in.module.css';

/** Shows its children to a signed-in user. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [state, setState] = useState<SessionState>({ step: 'loading' });
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
  <main className={styles['screen']}>
    <Spinner label="Loading" />
  </main>
);

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
