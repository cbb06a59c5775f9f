import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useClient } from '../session/use-client.js';
import { finish, returned } from './connect.js';

/** Finishes the connection, and goes back to the screen that began it. @returns the reason if it failed */
export function useReturn(): string | undefined {
  const client = useClient();
  const [, go] = useLocation();
  const [problem, setProblem] = useState<string>();
  const isBegun = useRef(false);
  useEffect(() => {
    // Effects run twice in development, but the code can be redeemed only once.
    if (isBegun.current) return;
    isBegun.current = true;
    const answer = returned();
    if (answer === undefined) return setProblem('This connection was begun in another tab, or has ended.');
    finish(client, answer).then(
      () => go(answer.pending.returnTo, { replace: true }),
      (error: Error) => setProblem(error.message),
    );
  }, [client, go]);
  return problem;
}
