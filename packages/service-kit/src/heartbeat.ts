export interface HeartbeatOptions {
  /** Whether a connection is established. */
  connected: () => boolean;
  /** Sends a command that the server answers immediately; rejects when the connection breaks. */
  ping: () => Promise<unknown>;
  /** Closes the connection and opens a new one. */
  replace: () => void;
  /** Milliseconds between two checks. */
  intervalMs: number;
  /** Milliseconds without any answer after which the connection is replaced. */
  deadlineMs: number;
}

export interface Heartbeat {
  stop(): void;
}

/**
 * Replaces a connection whose server does not answer. Idle timeouts of sockets do not find such a server:
 * our own writes reset them. Checks are counted instead of time, so that a pause of this process does not
 * look like a silent server.
 */
export function startHeartbeat({ connected, ping, replace, intervalMs, deadlineMs }: HeartbeatOptions): Heartbeat {
  let pending: object | undefined;
  let silentMs = 0;

  const ask = (): void => {
    const question = {};
    pending = question;
    const settled = (): void => {
      if (pending === question) pending = undefined;
    };
    // A ping that fails says that the connection broke; the client itself reconnects then.
    ping().then(settled, settled);
  };
  const check = (): void => {
    if (!connected()) {
      pending = undefined;
      silentMs = 0;
    } else if (pending === undefined) {
      silentMs = 0;
      ask();
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
