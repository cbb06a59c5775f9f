import { useState } from 'react';
import type { Configuration } from './configuration.js';
import { beginSignIn, type LocalUser } from './sign-in.js';

/** Leaves for the issuer. @param problem why the session ended, or the last sign-in failed */
export function useSignIn(configuration: Configuration | undefined, problem: string | undefined, returnTo: string) {
  const [state, setState] = useState<{ busy: boolean; error?: string }>({ busy: false });
  async function signIn(user?: LocalUser): Promise<void> {
    if (configuration === undefined) return location.reload();
    setState({ busy: true });
    await beginSignIn(configuration, {
      returnTo,
      again: problem !== undefined,
      accepts: user !== undefined,
      user,
    }).catch((error: Error) => setState({ busy: false, error: error.message }));
  }
  const shown = state.error ?? problem;
  return { isBusy: state.busy, shown, signIn };
}
