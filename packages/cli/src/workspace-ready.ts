import type { Workspace } from '@uswarm/contract';
import { unlessAborted } from '@uswarm/service-kit';
import { Failure } from './failure.js';
import type { Realtime } from './realtime.js';
import type { Renderer } from './renderer.js';
import type { Session } from './session.js';

export interface ReadyDeps {
  session: Pick<Session, 'workspace'>;
  realtime: Pick<Realtime, 'onEvent' | 'rejected' | 'subscribed'>;
  renderer: Pick<Renderer, 'workspace'>;
  /** Interval of REST requests in milliseconds, in case an event was missed. */
  pollMs?: number;
}

/**
 * Waits until the socket is subscribed and the workspace's runtime is ready, or suspended: a message resumes it.
 * Renders each change of status or phase.
 *
 * @throws Failure when the runtime failed or the connection is rejected; the signal's reason when it is aborted
 */
export async function waitUntilReady(deps: ReadyDeps, workspace: Workspace, signal: AbortSignal): Promise<void> {
  const { session, realtime, renderer, pollMs = 2_000 } = deps;
  const ready = Promise.withResolvers<void>();
  let known: Workspace | undefined;
  function update(latest: Workspace): void {
    if (latest.id !== workspace.id || (known !== undefined && isOlder(latest, known))) return;
    const { status, phase } = latest.runtime;
    if (known?.runtime.status !== status || known.runtime.phase !== phase) renderer.workspace(latest);
    known = latest;
    if (status === 'ready' || status === 'offline') ready.resolve();
    if (status === 'failed')
      ready.reject(new Failure('The runtime of the workspace failed. See the output of npm start.'));
  }
  const unsubscribe = realtime.onEvent((event) => {
    if (event.name === 'workspace.updated') update(event.payload.workspace);
  });
  // Errors are ignored: the next poll, the socket or the signal ends the wait.
  const polling = setInterval(() => void session.workspace(workspace.id).then(update, () => {}), pollMs);
  try {
    update(workspace);
    const isReady = Promise.all([ready.promise, realtime.subscribed]);
    await unlessAborted(Promise.race([isReady, realtime.rejected]), signal);
  } finally {
    clearInterval(polling);
    unsubscribe();
  }
}

function isOlder(latest: Workspace, known: Workspace): boolean {
  return (latest.rev ?? 0) < (known.rev ?? 0);
}
