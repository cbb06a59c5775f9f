import { useEffect } from 'react';

/** Calls repeatedly while active, and once more at the end. */
export function useInterval(isActive: boolean, call: () => void, ms: number): void {
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(call, ms);
    return () => (clearInterval(timer), call());
  }, [isActive, call, ms]);
}
