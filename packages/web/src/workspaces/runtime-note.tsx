import { useWorkspaces } from '@uswarm/client/react';
import { useSeconds } from '../screen/use-seconds.js';
import { useClient } from '../session/use-client.js';
import { Spinner } from '../ui/parts.js';
import { describeRuntime } from './runtime.js';

/** Explains why agents do not answer yet, and for how many seconds they have been starting. Empty when ready. */
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
