import type { components } from '@uswarm/client';
import { useState, type ReactNode } from 'react';
import { useClient, useLoaded } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { notifyError } from '../ui/notify.js';
import { ui } from '../ui/ui.js';

type Legal = components['schemas']['LegalStatus'];

/** Asks for the acceptance of documents that are new to the user. Until their state is known, the page is shown. */
export function NewTerms({ children }: { children: ReactNode }) {
  const client = useClient();
  const { data, reload } = useLoaded('legal', async ({ api }) => (await api.get('/v1/users/legal')).data);
  const [isBusy, setBusy] = useState(false);
  if (data === undefined || (data.has_agreed_with_terms && data.has_agreed_with_privacy_policy)) return children;
  async function accept({ terms_of_service_version, privacy_policy_version }: Legal): Promise<void> {
    setBusy(true);
    const body = { terms_of_service_version, privacy_policy_version };
    await client.api.post('/v1/users/legal/accept', { body }).then(reload, notifyError('This was not accepted'));
    setBusy(false);
  }
  return (
    <main className={ui('center')}>
      <h1>Before you go on</h1>
      <p>
        Please read and accept the{' '}
        <a href="/legal/terms" target="_blank">
          terms of service
        </a>{' '}
        and the{' '}
        <a href="/legal/privacy" target="_blank">
          privacy policy
        </a>
        . You have not accepted their present versions.
      </p>
      <Button look="primary" disabled={isBusy} onClick={() => void accept(data)}>
        I accept both
      </Button>
    </main>
  );
}
