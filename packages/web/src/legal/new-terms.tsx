import type { ReactNode } from 'react';
import { Button } from '../ui/button.js';
import { ui } from '../ui/ui.js';
import { useTerms } from './use-terms.js';

/** Asks the user to accept new documents. Shows the page while it loads which documents are new. */
export function NewTerms({ children }: { children: ReactNode }) {
  const { isNeeded, isBusy, accept } = useTerms();
  if (!isNeeded) return children;
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
      <Button look="primary" disabled={isBusy} onClick={accept}>
        I accept both
      </Button>
    </main>
  );
}
