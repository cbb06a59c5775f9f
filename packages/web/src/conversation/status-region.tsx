import { useEffect, useState } from 'react';

/** Milliseconds between two reports about long work. */
const STILL_MS = 7_000;

/** Tells screen readers when work begins, goes on and ends. */
export function StatusRegion({ text, isWorking }: { text: string; isWorking: boolean }) {
  const [count, setCount] = useState(0);
  useEffect(() => {
    setCount(0);
    if (!isWorking) return undefined;
    const timer = setInterval(() => setCount((known) => known + 1), STILL_MS);
    return () => clearInterval(timer);
  }, [text, isWorking]);
  return (
    <p className="hidden" role="status">
      {count === 0 ? text : `${text}, ${count * (STILL_MS / 1000)} seconds`}
    </p>
  );
}
