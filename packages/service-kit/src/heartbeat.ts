export interface HeartbeatOptions {
  connected: () => boolean;
  /** Sends a command that the server answers immediately; rejects if the connection breaks. */
  ping: () => Promise<unknown>;
  /** Closes the connection and opens a new one. */
  replace: () => void;
  /** Milliseconds between two checks. */
  intervalMs: number;
  /** Milliseconds without a response after which the connection is replaced. */
  deadlineMs: number;
}

export interface Heartbeat {
  stop(): void;
}

/**
 * Replaces a connection whose server does not respond. The socket's idle timeout does not detect this, because writes
 * reset it. The deadline counts checks instead of time, so that a pause of this process is not mistaken for an
 * unresponsive server.
 */
export function startHeartbeat({ connected, ping, replace, intervalMs, deadlineMs }: HeartbeatOptions): Heartbeat {
  let pending: object | undefined;
  let silentMs = 0;

  const sendPing = (): void => {
    const current = {};
    pending = current;
    const settled = (): void => {
      if (pending === current) pending = undefined;
    };
    // A failed ping means that the connection broke; the client reconnects.
    ping().then(settled, settled);
  };
  const check = (): void => {
    if (!connected()) {
      pending = undefined;
      silentMs = 0;
    } else if (pending === undefined) {
      silentMs = 0;
      sendPing();
    } else {
      silentMs += intervalMs;
      if (silentMs < deadlineMs) return;
      pending = undefined;
      silentMs = 0;
      replace();
    }
  };
  const timer = setInterval(check, intervalMs).unref();
  return { stop: () => clearInterval(timer) };
}
