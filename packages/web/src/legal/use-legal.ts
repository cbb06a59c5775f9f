import type { components } from '@uswarm/client';
import { useEffect, useState } from 'react';

export type Legal = components['schemas']['LegalStatus'];

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
