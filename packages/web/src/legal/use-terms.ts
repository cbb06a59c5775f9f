import { useState } from 'react';
import { useClient, useLoaded } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';

export function useTerms() {
  const client = useClient();
  const { data, reload } = useLoaded('legal', async ({ api }) => (await api.get('/v1/users/legal')).data);
  const [isBusy, setBusy] = useState(false);
  const isNeeded = data !== undefined && !(data.has_agreed_with_terms && data.has_agreed_with_privacy_policy);
  async function accept(): Promise<void> {
    if (data === undefined) return;
    setBusy(true);
    const { terms_of_service_version, privacy_policy_version } = data;
    const body = { terms_of_service_version, privacy_policy_version };
    await client.api.post('/v1/users/legal/accept', { body }).then(reload, notifyError('This was not accepted'));
    setBusy(false);
  }
  return { isNeeded, isBusy, accept: (): void => void accept() };
}
