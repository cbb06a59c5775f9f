import type { components } from '@uswarm/client';
import { useInterval } from '../screen/use-interval.js';
import { useClient, useLoaded } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';

export type Export = components['schemas']['Export'];
export const isRunning = ({ status }: Export): boolean => status === 'pending' || status === 'running';

/** Polls while an export is being made. */
export function useExports() {
  const { api } = useClient();
  const loaded = useLoaded('exports', (client, signal) =>
    client.api.get('/v1/users/exports', { signal }).then(({ data }) => data),
  );
  const running = loaded.data?.some(isRunning) ?? false;
  const { reload } = loaded;
  useInterval(running, reload, 3_000);
  const start = (): void =>
    void api.post('/v1/users/export').then(reload, notifyError('The export could not be started'));
  return { loaded, running, start };
}
