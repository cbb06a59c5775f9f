import { useWorkspaces } from '@uswarm/client/react';
import { useEffect, useState } from 'react';
import { useClient } from '../session/use-client.js';
import { Spinner } from '../ui/parts.js';
import { describeRuntime } from './runtime.js';

/** Says why agents do not answer yet, and for how many seconds they have been starting. Nothing when they are ready. */
export function RuntimeNote({ workspaceId }: { workspaceId: string }) {
  const runtime = useWorkspaces(useClient()).find(({ id }) => id === workspaceId)?.runtime;
  const isStarting = runtime?.phase === 'Progressing';
  const seconds = useSeconds(isStarting);
  if (runtime === undefined || runtime.status === 'ready') return null;
  return (
    <span>
      {isStarting && <Spinner label="" />} {describeRuntime(runtime).detail}
      {seconds > 0 && ` (${seconds} s)`}
    </span>
  );
}

/** How long a condition has held. */
function useSeconds(holds: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    setSeconds(0);
    if (!holds) return undefined;
    const timer = setInterval(() => setSeconds((known) => known + 1), 1_000);
    return () => clearInterval(timer);
  }, [holds]);
  return seconds;
}
