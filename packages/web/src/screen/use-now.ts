import { useState } from 'react';
import { useInterval } from './use-interval.js';

/** Time in ms since 1970, updated each second while `holds`. */
export function useNow(holds: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  const [update] = useState(() => () => setNow(Date.now()));
  useInterval(holds, update, 1_000);
  return now;
}
