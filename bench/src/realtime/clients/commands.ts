/** Connection settings for a benchmark client. */
export interface ClientSpec {
  /** `uswarm`: the socket API; the others: a bare server of `peers-main.ts`. */
  kind: 'uswarm' | 'socket.io' | 'ws';
  url: string;
  /** For the handshake. */
  auth: Record<string, string>;
  workspaceIds: readonly string[];
}

/** Time without connection, in monotonic milliseconds. */
export interface Outage {
  from: number;
  /** Time at which it subscribed again; null until then. */
  to: number | null;
}

/** The state of one client. */
export interface ClientState {
  outages: readonly Outage[];
  /** The last sequence by workspace id. */
  applied: Record<string, number>;
}

/** Commands for a process with clients. */
export type Command =
  | { do: 'connect'; clients: readonly ClientSpec[]; concurrent: number }
  /** Connects a client again that misses the last events in its first workspace. */
  | { do: 'resume'; client: number; missing: number }
  /** The state of all clients. */
  | { do: 'states' }
  /** Probe latencies in milliseconds since the last call. */
  | { do: 'probes' }
  | { do: 'close' };

/** Command results. */
export interface Results {
  connect: number;
  resume: number;
  states: ClientState[];
  probes: number[];
  close: number;
}

/** An event with the time when it was published, in `query`. */
export const PROBE = 'agent.tool';
