import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { Screen } from '../screen/screen.js';
import { useClient } from '../session/use-client.js';
import { ButtonLink } from '../ui/button.js';
import { finish, returned } from './connect.js';

/** Where a provider returns to. */
export function ConnectedScreen() {
  const client = useClient();
  const [, go] = useLocation();
  const [problem, setProblem] = useState<string>();
  const isBegun = useRef(false);
  useEffect(() => {
    // The code can be redeemed once, and effects run twice in development.
    if (isBegun.current) return;
    isBegun.current = true;
    const answer = returned();
    if (answer === undefined) return setProblem('This connection was begun in another tab, or has ended.');
    finish(client, answer).then(
      () => go(answer.pending.returnTo, { replace: true }),
      (error: Error) => setProblem(error.message),
    );
  }, [client, go]);
  return (
    <Screen title={problem === undefined ? 'Connecting…' : 'It is not connected'}>
      {problem !== undefined && (
        <>
          <p role="alert">{problem}</p>
          <div>
            <ButtonLink href="/">Back</ButtonLink>
          </div>
        </>
      )}
    </Screen>
  );
}
