import { useState } from 'react';
import { useInterval } from './use-interval.js';

/** The time in milliseconds since 1970, each second while a condition holds. */
export function useNow(holds: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  const [update] = useState(() => () => setNow(Date.now()));
  useInterval(holds, update, 1_000);
  return now;
}
