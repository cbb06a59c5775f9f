import { useConnection } from '@uswarm/client/react';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Boundary } from '../ui/boundary.js';
import { Spinner } from '../ui/parts.js';
import { begin, type SessionState } from './begin.js';
import type { Session } from './session.js';
import { SignInScreen } from './sign-in-screen.js';
import { SessionContext } from './use-client.js';
import styles from './sign-in.module.css';

/** Shows its children only to a signed-in user. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [state, setState] = useState<SessionState>({ step: 'loading' });
  const [, go] = useLocation();
  const isBegun = useRef(false);
  useEffect(() => {
    // React calls effects twice in development, but the issuer's code can be used only once.
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

/** After a session ends, the sign-in covers the page, so that unsent text stays. */
function SignedIn({ session, children }: { session: Session; children: ReactNode }) {
  const { state, code } = useConnection(session.client);
  const hasEnded = state === 'signed_out' && code !== null;
  return (
    <SessionContext value={session}>
      <div inert={hasEnded}>
        <Boundary waiting={<Loading />}>{children}</Boundary>
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
