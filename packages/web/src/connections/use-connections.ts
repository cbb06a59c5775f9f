import { useState } from 'react';
import { UswarmError, type components } from '@uswarm/client';
import { useClient, useLoaded } from '../session/use-client.js';
import { notify, notifyError } from '../ui/notify.js';
import type { Configuration, Target } from './connect.js';

export type App = components['schemas']['IntegrationItem'];
export type Step =
  | { kind: 'asking'; item: App; target: Target; configuration: Configuration }
  | { kind: 'not-configured'; item: App }
  | { kind: 'disconnecting'; item: App; target: Target };

export function useConnections() {
  const { api } = useClient();
  const [step, setStep] = useState<Step>();
  const loaded = useLoaded('integrations', ({ api: load }, signal) =>
    load.get('/v1/integrations', { signal }).then(({ data }) => data),
  );
  const close = (): void => setStep(undefined);
  const configurationOf = async (target: Target): Promise<Configuration> =>
    'server' in target
      ? (await api.post('/v1/tool-servers/{server}/connect', { path: target })).data
      : api.post('/v1/integrations/connect', { body: target });
  async function connect(item: App, target: Target): Promise<void> {
    try {
      const configuration = await configurationOf(target);
      setStep({ kind: 'asking', item, target, configuration });
    } catch (error) {
      if (error instanceof UswarmError && error.code === 'integration_not_configured')
        setStep({ kind: 'not-configured', item });
      else notifyError(`${item.name} could not be connected`)(error);
    }
  }
  async function disconnect({ name }: App, target: Target): Promise<void> {
    if ('server' in target) await api.delete('/v1/tool-servers/{server}', { path: target });
    else await api.delete('/v1/integrations/{provider}', { path: target });
    notify({ title: `${name} is disconnected`, description: 'Its access was also revoked there.' });
    close();
    loaded.reload();
  }
  return { loaded, step, setStep, close, connect, disconnect };
}
