import type { Workspace } from '@uswarm/contract';
import { Failure } from './failure.js';
import { aborted, type Realtime } from './realtime.js';
import type { Renderer } from './renderer.js';
import type { Session } from './session.js';

export interface ReadyDeps {
  session: Pick<Session, 'workspace'>;
  realtime: Pick<Realtime, 'onEvent' | 'refused' | 'subscribed'>;
  renderer: Pick<Renderer, 'workspace'>;
  /** Milliseconds between two looks by REST, in case an event was missed. */
  pollMs?: number;
}

/**
 * Waits until the socket is subscribed and the runtime of the workspace is ready, and shows each change of its status or phase.
 * @throws Failure when the runtime failed or the connection is refused; the signal's reason when that ends the wait.
 */
export async function waitUntilReady(deps: ReadyDeps, workspace: Workspace, signal: AbortSignal): Promise<void> {
  const { session, realtime, renderer, pollMs = 2_000 } = deps;
  const ready = Promise.withResolvers<void>();
  let known: Workspace | undefined;
  function see(seen: Workspace): void {
    if (seen.id !== workspace.id || (known !== undefined && isOlder(seen, known))) return;
    const { status, phase } = seen.runtime;
    if (known?.runtime.status !== status || known.runtime.phase !== phase) renderer.workspace(seen);
    known = seen;
    if (status === 'ready') ready.resolve();
    if (status === 'failed')
      ready.reject(new Failure('The runtime of the workspace failed; the output of npm start says why.'));
  }
  const stopListening = realtime.onEvent((event) => {
    if (event.name === 'workspace.updated') see(event.payload.workspace);
  });
  // A look that fails is followed by another; a server that is gone for good ends the wait by the socket or the signal.
  const polling = setInterval(() => void session.workspace(workspace.id).then(see, () => {}), pollMs);
  try {
    see(workspace);
    await Promise.race([Promise.all([ready.promise, realtime.subscribed]), realtime.refused, aborted(signal)]);
  } finally {
    clearInterval(polling);
    stopListening();
  }
}

function isOlder(seen: Workspace, known: Workspace): boolean {
  return Date.parse(seen.updated_at) < Date.parse(known.updated_at);
}
