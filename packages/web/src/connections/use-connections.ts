import { useState } from 'react';
import { UswarmError, type components } from '@uswarm/client';
import { useClient, useLoaded } from '../session/use-client.js';
import { notify, notifyError } from '../ui/notify.js';
import type { Configuration, Provider } from './connect.js';

export type App = components['schemas']['IntegrationItem'];
export type Step =
  | { kind: 'asking'; item: App; provider: Provider; configuration: Configuration }
  | { kind: 'not-configured'; item: App }
  | { kind: 'disconnecting'; item: App; provider: Provider };

export function useConnections() {
  const { api } = useClient();
  const [step, setStep] = useState<Step>();
  const loaded = useLoaded('integrations', ({ api: load }, signal) =>
    load.get('/v1/integrations', { signal }).then(({ data }) => data),
  );
  const close = (): void => setStep(undefined);
  async function connect(item: App, provider: Provider): Promise<void> {
    try {
      const configuration = await api.post('/v1/integrations/connect', { body: { provider } });
      setStep({ kind: 'asking', item, provider, configuration });
    } catch (error) {
      if (error instanceof UswarmError && error.code === 'integration_not_configured')
        setStep({ kind: 'not-configured', item });
      else notifyError(`${item.name} could not be connected`)(error);
    }
  }
  async function disconnect({ name }: App, provider: Provider): Promise<void> {
    await api.delete('/v1/integrations/{provider}', { path: { provider } });
    notify({ title: `${name} is disconnected`, description: 'Its access was also revoked there.' });
    close();
    loaded.reload();
  }
  return { loaded, step, setStep, close, connect, disconnect };
}
