import type { components } from '@uswarm/client';
import { useEffect, useState } from 'react';

type Legal = components['schemas']['LegalStatus'];

/** By the document's name in addresses. */
export const TITLES: Readonly<Record<string, [title: string, text: (legal: Legal) => string]>> = {
  terms: ['Terms of service', ({ terms_of_service: text }) => text],
  privacy: ['Privacy policy', ({ privacy_policy: text }) => text],
};

/** The documents are public, so that people can read them before they sign up. */
export function useLegal(): { legal?: Legal; error?: string } {
  const [state, setState] = useState<{ legal?: Legal; error?: string }>({});
  useEffect(() => {
    loadLegal().then(
      (legal) => setState({ legal }),
      (error: Error) => setState({ error: `The document could not be loaded: ${error.message}` }),
    );
  }, []);
  return state;
}

async function loadLegal(): Promise<Legal> {
  const response = await fetch('/v1/legal');
  if (!response.ok) throw new Error(`status ${response.status}`);
  return ((await response.json()) as { data: Legal }).data;
}
