import { useEffect, useState } from 'react';

/** Seconds for which a condition has held. */
export function useSeconds(holds: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    setSeconds(0);
    if (!holds) return undefined;
    const timer = setInterval(() => setSeconds((known) => known + 1), 1_000);
    return () => clearInterval(timer);
  }, [holds]);
  return seconds;
}
