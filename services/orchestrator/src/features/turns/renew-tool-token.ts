import { Code, ConnectError } from '@connectrpc/connect';

export interface ToolTokenRenewalOptions {
  /** Whether the turn may still use tools: it exists, and neither a stop nor a ban is pending. */
  allowed: () => Promise<boolean>;
  /** Creates a token and sends it to the runtime. */
  renew: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

/**
 * Renews the tool token of a running turn until the returned function is called. A failed renewal is tried again after
 * `everyMs`; a runtime of release 0.2 does not implement the call and is not called again.
 */
export function renewToolToken({ allowed, renew, everyMs, onError }: ToolTokenRenewalOptions): () => void {
  let renewing = false;
  async function attempt(): Promise<void> {
    if (await allowed()) await renew();
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
