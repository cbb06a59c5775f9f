import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useClient } from '../session/use-client.js';
import { finish, returned } from './connect.js';

/** Finishes the connection, and goes back to where it was begun. @returns why it failed */
export function useReturn(): string | undefined {
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
  return problem;
}
