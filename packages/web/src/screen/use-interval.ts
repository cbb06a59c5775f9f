import { useEffect } from 'react';

/** Calls again and again while something is active, and once when it has ended. */
export function useInterval(isActive: boolean, call: () => void, ms: number): void {
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(call, ms);
    return () => (clearInterval(timer), call());
  }, [isActive, call, ms]);
}
