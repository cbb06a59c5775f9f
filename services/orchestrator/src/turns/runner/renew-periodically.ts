import { Code, ConnectError } from '@connectrpc/connect';

export interface RenewalOptions {
  /** Checked before each renewal. Default: always. */
  allowed?: () => Promise<boolean>;
  renew: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

/**
 * Repeats until the returned function is called. A failed renewal is tried again after `everyMs`; a release 0.2 runtime
 * that does not implement the call is not called again.
 */
export function renewPeriodically({ allowed, renew, everyMs, onError }: RenewalOptions): () => void {
  let renewing = false;
  async function attempt(): Promise<void> {
    if ((await allowed?.()) ?? true) await renew();
  }
  const timer = setInterval(() => {
    if (renewing) return;
    renewing = true;
    attempt()
      .catch((error: unknown) => {
        if (error instanceof ConnectError && error.code === Code.Unimplemented) clearInterval(timer);
        onError(error);
      })
      .finally(() => (renewing = false));
  }, everyMs);
  return () => clearInterval(timer);
}
